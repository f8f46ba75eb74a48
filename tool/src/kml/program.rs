//! Find a program and foresee why the kernel would not run it in kernel mode: as
//! `file_objection()` in kernel/kml/gate.c, which has the last word.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd;
use object::elf;

use super::{S_ISGID, S_ISUID, S_ISVTX, S_IWGRP, S_IWOTH, roots_own};
use crate::error::{Error, IoContext, Result, io_text};
use crate::ui::output::{printable, shown};
use crate::units::bytes::bytes;

const ANY_X: u32 = 0o111;
const S_IXGRP: u32 = 0o010;

/// The exit code for what has nothing to do with the program.
pub const FAILED: u8 = 125;

/// Why a program does not run, and the exit code for that: those of env and nohup.
#[derive(Debug, PartialEq, Eq)]
pub struct NotRun {
    pub code: u8,
    pub error: Error,
}

impl NotRun {
    /// Say that something failed that has nothing to do with the program.
    pub fn failed(error: Error) -> Self {
        NotRun {
            code: FAILED,
            error,
        }
    }

    /// Say that the program is there and cannot be run.
    pub fn found(error: Error) -> Self {
        NotRun { code: 126, error }
    }

    /// Say that there is no such program.
    pub fn not_found(error: Error) -> Self {
        NotRun { code: 127, error }
    }

    /// Tell what the kernel says of a file.
    pub fn from_io(file: &Path, error: io::Error) -> Self {
        let there = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NotRun::not_found,
            _ => NotRun::found,
        };
        let text = io_text(&error);
        there(Error::new(format!("cannot run {}: {text}", shown(file))))
    }
}

/// Find the file that exec would take: `name` with a slash in it is a path, else it is
/// looked for in the directories of `path`.
pub fn find(name: &OsStr, path: &OsStr) -> Result<PathBuf, NotRun> {
    let shown = shown(name.as_ref());
    if name.is_empty() {
        return Err(NotRun::not_found(Error::new("the program's name is empty")));
    }
    if name.as_bytes().contains(&b'/') {
        let file: PathBuf = name.into();
        let metadata = fs::metadata(&file).map_err(|e| NotRun::from_io(&file, e))?;
        executable(&shown, &metadata).map_err(NotRun::found)?;
        return Ok(file);
    }
    let mut useless = None;
    for directory in std::env::split_paths(path) {
        let file = directory.join(name);
        let Ok(metadata) = fs::metadata(&file) else {
            continue;
        };
        match executable(&self::shown(&file), &metadata) {
            Ok(()) => return Ok(file),
            Err(e) => useless = useless.or(Some(e)),
        }
    }
    Err(useless.map_or_else(
        || {
            let error = Error::new(format!("there is no program '{shown}' in PATH"));
            NotRun::not_found(error.hint("check the spelling, or give its whole path"))
        },
        NotRun::found,
    ))
}

fn executable(shown: &str, file: &Metadata) -> Result<()> {
    let kind = file.file_type();
    let what = match () {
        () if kind.is_dir() => "is a directory",
        () if kind.is_block_device() || kind.is_char_device() => "is a device",
        () if !kind.is_file() => "is not a regular file",
        () if file.mode() & ANY_X == 0 => {
            return Err(Error::new(format!("{shown} is not executable"))
                .hint(format!("if it is a program: chmod +x {shown}")));
        }
        () => return Ok(()),
    };
    Err(Error::new(format!("{shown} {what}")).hint("name a program"))
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub uid: u32,
    pub gid: u32,
}

impl Caller {
    /// Return who this process is.
    pub fn current() -> Self {
        Caller {
            uid: unistd::getuid().as_raw(),
            gid: unistd::getgid().as_raw(),
        }
    }
}

/// Refuse what the kernel would not run in kernel mode. `trusted`: the directory
/// whose programs are; what is above it does not matter for them.
pub fn check(file: &Path, trusted: &Path, caller: Caller) -> Result<()> {
    let real = fs::canonicalize(file).or_fail(format_args!("cannot run {}", shown(file)))?;
    let metadata = fs::metadata(&real).or_fail(format_args!("cannot run {}", shown(file)))?;
    image(&real)?;
    set_id(&real, &metadata, caller)?;
    if !roots_own(&metadata) {
        return Err(exposed(&real, &metadata, "others than root may write it"));
    }
    let flags = statvfs(&real).or_fail(format_args!("cannot look at {}", shown(&real)))?;
    if flags.flags().contains(FsFlags::ST_NOSUID) {
        return Err(not_trusted(
            &real,
            "its file system is mounted nosuid, so its programs get no rights",
        )
        .hint("use a copy on another file system, in the trusted directory for example"));
    }
    directories(&real, &metadata, trusted)
}

fn not_trusted(file: &Path, why: &str) -> Error {
    Error::new(format!("{} cannot run in kernel mode: {why}", shown(file)))
}

/// Somebody else could put something else in its place.
fn exposed(file: &Path, metadata: &Metadata, why: &str) -> Error {
    let file_shown = shown(file);
    let mut steps = Vec::new();
    if metadata.uid() != 0 {
        steps.push(format!("chown root {file_shown}"));
    }
    if metadata.mode() & (S_IWGRP | S_IWOTH) != 0 {
        steps.push(format!("chmod go-w {file_shown}"));
    }
    not_trusted(file, why).hint(format!(
        "if you trust what it is now: {}",
        steps.join(" && ")
    ))
}

/// Who can rename in a directory can replace what is in it; in a sticky one, as
/// /tmp, others cannot.
fn directories(file: &Path, metadata: &Metadata, trusted: &Path) -> Result<()> {
    let top = fs::canonicalize(trusted).ok();
    for directory in file.ancestors().skip(1) {
        let Ok(its) = fs::metadata(directory) else {
            break;
        };
        // Another file system's: a mount, whose place only root chose.
        if its.dev() != metadata.dev() {
            break;
        }
        let sticky = its.uid() == 0 && its.mode() & S_ISVTX != 0;
        if !roots_own(&its) && !sticky {
            let why = format!(
                "others than root may write the directory {}",
                shown(directory)
            );
            return Err(not_trusted(file, &why).hint(format!(
                "use a copy in a directory that is root's alone, {} for example",
                shown(trusted)
            )));
        }
        if top.as_deref() == Some(directory) {
            break;
        }
    }
    Ok(())
}

/// The set-id bits would give it other rights than its caller's.
fn set_id(file: &Path, metadata: &Metadata, caller: Caller) -> Result<()> {
    let mode = metadata.mode();
    let user = mode & S_ISUID != 0 && metadata.uid() != caller.uid;
    // Without the right to execute it means something else.
    let group = mode & S_ISGID != 0 && mode & S_IXGRP != 0 && metadata.gid() != caller.gid;
    let what = match (user, group) {
        (false, false) => return Ok(()),
        (true, _) => "setuid",
        (false, true) => "setgid",
    };
    let why = format!("it is {what}, so it gives its caller more rights");
    Err(not_trusted(file, &why).hint(format!(
        "use a copy without that: install -m 755 {} …",
        shown(file)
    )))
}

/// It must be one that the CPU runs itself, in 64-bit mode.
fn image(file: &Path) -> Result<()> {
    const CLASS: usize = 4;
    const MACHINE: usize = 18;
    // What the kernel looks at.
    const HEAD: u64 = 256;

    let mut head = Vec::new();
    File::open(file)
        .and_then(|f| f.take(HEAD).read_to_end(&mut head))
        .or_fail(format_args!("cannot read {}", shown(file)))?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return Err(script(file, line));
    }
    if !head.starts_with(b"\x7fELF") {
        return Err(not_trusted(file, "it is no ELF program").hint("name a program"));
    }
    if head.get(CLASS) != Some(&elf::ELFCLASS64) {
        return Err(not_trusted(file, "it is a 32-bit program").hint("build it for x86-64"));
    }
    if bytes(&head, MACHINE) != Some(elf::EM_X86_64.to_le_bytes()) {
        return Err(not_trusted(file, "it is for another architecture").hint("build it for x86-64"));
    }
    Ok(())
}

/// The interpreter is the program that would run; that must be meant.
fn script(file: &Path, line: &[u8]) -> Error {
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = printable(&String::from_utf8_lossy(line));
    let mut words = line.split_whitespace();
    let Some(mut interpreter) = words.next() else {
        return not_trusted(file, "it is a script that names no interpreter")
            .hint("name a program");
    };
    // env only looks for another one, and hands nothing on.
    if interpreter.ends_with("/env") {
        let named = words.find(|w| !w.starts_with('-') && !w.contains('='));
        interpreter = named.unwrap_or(interpreter);
    }
    let shown = shown(file);
    Error::new(format!(
        "{shown} is a script: what would run in kernel mode is {interpreter}"
    ))
    .hint(format!(
        "if that is what you want: shimos trust run {interpreter} {shown}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::{errors, failures, told};
    use std::os::unix::fs::{PermissionsExt, chown};

    const ROOT: Caller = Caller { uid: 0, gid: 0 };

    fn elf(class: u8, machine: u8) -> Vec<u8> {
        let mut data = b"\x7fELF".to_vec();
        data.resize(64, 0);
        data[4] = class;
        data[18] = machine;
        data
    }

    fn put(directory: &Path, name: &str, data: &[u8], mode: u32) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, data).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn parts(result: Result<()>) -> (String, String) {
        let Err(Error::Failed { message, hint }) = result else {
            panic!("was not refused")
        };
        (message, hint.unwrap_or_default())
    }

    #[test]
    fn in_path() {
        let work = tempfile::tempdir().unwrap();
        let (a, b) = (work.path().join("a"), work.path().join("b"));
        fs::create_dir_all(a.join("dir")).unwrap();
        fs::create_dir_all(&b).unwrap();
        put(&a, "tool", b"", 0o644);
        let good = put(&b, "tool", b"", 0o755);
        put(&a, "data", b"", 0o644);
        let path = std::env::join_paths([&a, &b]).unwrap();
        let find = |name: &str| {
            let found = find(name.as_ref(), &path);
            found.map_err(|e| format!("exit code {}: {}", e.code, told(&e.error)))
        };
        assert_eq!(find("tool"), Ok(good.clone()));
        assert_eq!(find(good.to_str().unwrap()), Ok(good.clone()));
        let below = good.join("x");
        let below = below.to_str().unwrap();
        let names = ["data", "dir", "none", "/no/where", below, "/dev/null", ""];
        let text = errors(&names, find);
        insta::assert_snapshot!(text.replace(work.path().to_str().unwrap(), "/usr"));
    }

    #[test]
    fn kinds_of_files() {
        let work = tempfile::tempdir().unwrap();
        let said = |data: &[u8]| image(&put(work.path(), "program", data, 0o755));
        let text = failures([
            ("i386", said(&elf(1, 3))),
            ("x32", said(&elf(1, 62))),
            ("arm", said(&elf(2, 183))),
            ("text", said(b"hello")),
            ("short", said(b"\x7fELF\x02")),
            ("empty", said(b"")),
        ]);
        insta::assert_snapshot!(text.replace(work.path().to_str().unwrap(), "/trusted"));
        assert_eq!(image(&put(work.path(), "good", &elf(2, 62), 0o755)), Ok(()));
    }

    #[test]
    fn scripts_name_what_would_run() {
        let work = tempfile::tempdir().unwrap();
        let lines = [
            "#!/bin/sh -e\nexit\n",
            "#! /usr/bin/env python3\n",
            "#!/usr/bin/env -S A=b perl -w\n",
            "#!",
        ];
        let text = errors(&lines, |line| {
            let file = put(work.path(), "script", line.as_bytes(), 0o755);
            image(&file).map_err(|error| told(&error))
        });
        insta::assert_snapshot!(text.replace(work.path().to_str().unwrap(), "/trusted"));
    }

    #[test]
    fn files_that_others_can_change() {
        // Files of somebody else's can only be made by root.
        if !unistd::geteuid().is_root() {
            return;
        }
        let work = tempfile::tempdir().unwrap();
        let file = put(work.path(), "p", &elf(2, 62), 0o755);
        let trusted = Path::new("/nowhere");
        let check = |caller| check(&file, trusted, caller);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        // /tmp may be mounted nosuid where this runs.
        let nosuid = statvfs(&file).unwrap().flags().contains(FsFlags::ST_NOSUID);
        if nosuid {
            assert!(parts(check(ROOT)).0.contains("nosuid"));
        } else {
            assert_eq!(check(ROOT), Ok(()));
        }
        let mut cases = Vec::new();
        for (case, bad) in [
            ("its group may write it", 0o775),
            ("all may write it", 0o757),
        ] {
            mode(&file, bad);
            cases.push((case, check(ROOT)));
        }
        chown(&file, Some(12345), None).unwrap();
        cases.push(("somebody's, and all may write it", check(ROOT)));
        mode(&file, 0o755);
        cases.push(("somebody's", check(ROOT)));
        chown(&file, Some(0), Some(0)).unwrap();

        let somebody = Caller {
            uid: 12345,
            gid: 12345,
        };
        for (case, bad) in [("setuid", 0o4755), ("setgid", 0o2755)] {
            mode(&file, bad);
            cases.push((case, check(somebody)));
        }
        assert!(check(ROOT).is_ok() || nosuid, "it gains nothing by that");
        mode(&file, 0o755);
        insta::assert_snapshot!(
            failures(cases).replace(work.path().to_str().unwrap(), "/programs")
        );

        if !nosuid {
            mode(work.path(), 0o777);
            assert!(parts(check(ROOT)).0.contains("the directory"));
            mode(work.path(), 0o1777);
            assert_eq!(check(ROOT), Ok(()));
            mode(work.path(), 0o777);
            let inner = work.path().join("inner");
            fs::create_dir(&inner).unwrap();
            let file = put(&inner, "p", &elf(2, 62), 0o755);
            assert!(super::check(&file, trusted, ROOT).is_err());
            assert_eq!(super::check(&file, &inner, ROOT), Ok(()));
        }
    }
}
