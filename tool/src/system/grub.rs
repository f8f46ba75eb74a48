//! Parameters of the host's kernel, as GRUB gives them on Debian: a file of ours beside the user's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::durable;
use crate::error::{Error, IoContext, Result};

const DIRECTORY: &str = "etc/default/grub.d";
const FILE: &str = "shimos.cfg";
const UPDATE: &str = "usr/sbin/update-grub";
const HEAD: &str = "# Written by `shimos doctor --fix`, removed with the package.\n";
const BEFORE: &str = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX";
const AFTER: &str = "\"\n";

/// GRUB's configuration below a root, with what shall be added to the kernel's command line.
#[derive(Debug)]
pub struct Grub {
    root: PathBuf,
    /// What the file has.
    old: Option<String>,
    /// What it shall have; the same if all is there already.
    new: String,
}

impl Grub {
    /// Read what has been added before, and add these parameters; nothing is written.
    ///
    /// Fails where GRUB is not what starts the kernel, and where somebody else has changed our file.
    pub fn with(root: &Path, parameters: &[&str]) -> Result<Self> {
        if !root.join(UPDATE).is_file() {
            return Err(Error::new("this system has no update-grub").hint(format!(
                "add {} to the kernel's command line where its boot loader has that",
                parameters.join(" ")
            )));
        }
        let path = root.join(DIRECTORY).join(FILE);
        let old = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e).or_fail(format!("cannot read {}", path.display())),
        };
        let Some(mut all) = old.as_deref().map_or(Some(Vec::new()), words) else {
            return Err(
                Error::new(format!("{} is not as it was written here", path.display())).hint(
                    format!("add {} to it by hand, or remove it", parameters.join(" ")),
                ),
            );
        };
        for parameter in parameters {
            if !all.contains(parameter) {
                all.push(parameter);
            }
        }
        let new = format!("{HEAD}{BEFORE} {}{AFTER}", all.join(" "));
        Ok(Grub {
            root: root.into(),
            old,
            new,
        })
    }

    /// Return where the file is.
    pub fn path(&self) -> PathBuf {
        self.root.join(DIRECTORY).join(FILE)
    }

    /// Tell whether the file has all of it already.
    pub fn is_written(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// Return the line of the file that says so.
    pub fn line(&self) -> &str {
        self.new.strip_prefix(HEAD).unwrap_or(&self.new).trim_end()
    }

    /// Write the file and have GRUB take it in; if that fails, all is as it was.
    pub fn write(&self) -> Result<()> {
        let path = self.path();
        let directory = self.root.join(DIRECTORY);
        fs::create_dir_all(&directory).or_fail(format!("cannot make {}", directory.display()))?;
        durable::replace(&path, self.new.as_bytes())?;
        self.update().inspect_err(|_| match &self.old {
            Some(old) => drop(durable::replace(&path, old.as_bytes())),
            None => drop(fs::remove_file(&path)),
        })
    }

    fn update(&self) -> Result<()> {
        let program = self.root.join(UPDATE);
        let cannot = format!("cannot run {}", program.display());
        let output = Command::new(&program).output().or_fail(cannot)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("it says nothing").to_owned();
        Err(
            Error::new(format!("update-grub failed ({}): {last}", output.status))
                .hint("run it by hand; what was to be added is taken back"),
        )
    }
}

/// Return the parameters that a file of ours has; `None`: it is not as we write it.
fn words(text: &str) -> Option<Vec<&str>> {
    let line = text.strip_prefix(HEAD)?.strip_prefix(BEFORE)?;
    let words = line.strip_suffix(AFTER)?;
    (!words.contains(['"', '\n', '$', '`', '\\'])).then(|| words.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::error::tests::told;

    /// A system whose update-grub is this program, with these words in a file of ours.
    fn system(update: &str, has: Option<&str>) -> (tempfile::TempDir, PathBuf) {
        let work = tempfile::tempdir().unwrap();
        let file = work.path().join(DIRECTORY).join(FILE);
        fs::create_dir_all(work.path().join("usr/sbin")).unwrap();
        symlink(update, work.path().join(UPDATE)).unwrap();
        if let Some(text) = has {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        }
        (work, file)
    }

    fn saying(line: &str) -> String {
        format!("{HEAD}{line}\n")
    }

    #[test]
    fn what_is_missing_is_added_to_what_is_there() {
        let (work, file) = system("/bin/true", None);
        let first = Grub::with(work.path(), &["a=1", "b"]).unwrap();
        assert!(!first.is_written());
        first.write().unwrap();
        let line = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX a=1 b\"";
        assert_eq!(first.line(), line);
        assert_eq!(fs::read_to_string(&file).unwrap(), saying(line));
        assert!(Grub::with(work.path(), &["b"]).unwrap().is_written());
        let more = Grub::with(work.path(), &["c", "a=1"]).unwrap();
        assert!(!more.is_written());
        assert!(more.line().ends_with(" a=1 b c\""));
    }

    #[test]
    fn nothing_is_left_where_grub_fails() {
        let old = saying("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX a\"");
        for had in [None, Some(old.as_str())] {
            let (work, file) = system("/bin/false", had);
            let error = Grub::with(work.path(), &["b"]).unwrap().write();
            assert!(told(&error.unwrap_err()).contains("update-grub failed (exit status: 1)"));
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), had);
        }
    }

    #[test]
    fn what_others_wrote_is_left_alone() {
        for text in [
            "GRUB_CMDLINE_LINUX=mine\n",
            &saying("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $(reboot)\""),
            &saying("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX a\"\nmore"),
        ] {
            let (work, _) = system("/bin/true", Some(text));
            let error = Grub::with(work.path(), &["b"]).unwrap_err();
            assert!(told(&error).contains("shimos.cfg is not as it was written here"));
        }
    }

    #[test]
    fn another_boot_loader() {
        let work = tempfile::tempdir().unwrap();
        let error = Grub::with(work.path(), &["a=1", "b"]).unwrap_err();
        insta::assert_snapshot!(told(&error), @r"
        this system has no update-grub
            add a=1 b to the kernel's command line where its boot loader has that
        ");
    }
}
