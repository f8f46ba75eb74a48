//! Untrusted, as tests are: everything must work by SYSCALL.
#![allow(unsafe_code)]

extern crate std;

use std::path::Path;
use std::process::Command;
use std::string::String;
use std::{env, format, fs};

use super::*;

const READ: usize = 0;
const WRITE: usize = 1;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const GETPID: usize = 39;
const EBADF: isize = -9;
const ENOSYS: isize = -38;

#[test]
fn untrusted_calls_go_by_syscall() {
    let why = init().unwrap_err();
    assert!(
        [Errno::ENOENT, Errno::EPERM, Errno::EACCES].contains(&why),
        "{why}"
    );
    assert!(!is_direct());
    let mut byte = [0u8; 1];
    let buffer = byte.as_mut_ptr() as usize;
    // SAFETY: the buffer has the length given; what is mapped is only unmapped.
    unsafe {
        assert_eq!(syscall0(GETPID), std::process::id() as isize);
        assert_eq!(syscall0(100_000), ENOSYS);
        assert_eq!(syscall3(READ, usize::MAX, buffer, 1), EBADF);
        assert_eq!(syscall3(WRITE, 1, buffer, 0), 0);
        let private_anonymous = 0x22;
        let memory = syscall6(MMAP, 0, 4096, 3, private_anonymous, usize::MAX, 0);
        assert!(memory > 0, "{memory}");
        assert_eq!(syscall2(MUNMAP, memory as usize, 4096), 0);
    }
}

#[test]
fn errors_in_words() {
    assert_eq!(format!("{}", Errno::EPERM), "this program is not trusted");
    assert_eq!(format!("{}", Errno(5)), "error 5");
}

#[test]
fn the_structure_matches_the_c_header() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/include/uapi");
    let source = env::temp_dir().join(format!("kml-layout-{}.c", std::process::id()));
    let program = source.with_extension("out");
    let c = r#"
        #include <stddef.h>
        #include <stdio.h>
        #include "shimos_kml.h"
        int main(void)
        {
            printf("%zu %zu %zu %lu %d %s", sizeof(struct shimos_kml_entry),
                   offsetof(struct shimos_kml_entry, entry),
                   offsetof(struct shimos_kml_entry, entry_3), (unsigned long)SHIMOS_KML_ENTRY,
                   SHIMOS_KML_VERSION, SHIMOS_KML_DEVICE);
            return 0;
        }"#;
    fs::write(&source, c).unwrap();
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status();
    // No C compiler: nothing to compare with.
    if let Ok(status) = compiled {
        assert!(status.success());
        let said = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        let wanted = format!(
            "{} {} {} {} {} /dev/shimos-kml",
            size_of::<sys::Entry>(),
            core::mem::offset_of!(sys::Entry, entry),
            core::mem::offset_of!(sys::Entry, entry_3),
            sys::ENTRY_CALL,
            sys::VERSION
        );
        assert_eq!(said, wanted);
        fs::remove_file(&program).unwrap();
    }
    fs::remove_file(&source).unwrap();
}
