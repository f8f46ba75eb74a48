//! For the tests that compare Rust structures with C headers: a C program that
//! prints what it thinks, and what Rust thinks.

use std::path::PathBuf;
use std::process::Command;

pub struct Layout {
    directory: PathBuf,
    program: String,
    expected: Vec<String>,
}

/// Size and fields of one structure.
macro_rules! fields {
    ($layout:expr, $rust:ty, $c:literal, $($field:ident),* $(,)?) => {
        $layout.value(
            concat!("sizeof(struct ", $c, ")"),
            std::mem::size_of::<$rust>() as u64,
        );
        $($layout.value(
            concat!("offsetof(struct ", $c, ", ", stringify!($field), ")"),
            std::mem::offset_of!($rust, $field) as u64,
        );)*
    };
}
pub(super) use fields;

impl Layout {
    /// Compare with these headers; `None` if the project's are not there.
    pub fn of(headers: &[&str]) -> Option<Self> {
        let candidates = [
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../kernel/include/uapi"),
            PathBuf::from("/mnt/inc/include/uapi"),
        ];
        let directory = candidates
            .into_iter()
            .find(|d| d.join("shimos.h").exists())?;
        let mut program = String::from("#include <stdio.h>\n#include <stddef.h>\n");
        for header in headers {
            // Ours, or the system's.
            program.push_str(&format!("#include <{header}>\n"));
        }
        program.push_str("int main(void) {\n");
        Some(Layout {
            directory,
            program,
            expected: Vec::new(),
        })
    }

    /// Expect that the C expression `what` is `value`.
    pub fn value(&mut self, what: &str, value: u64) {
        self.program.push_str(&format!(
            "printf(\"%llu {what}\\n\", (unsigned long long)({what}));\n"
        ));
        self.expected.push(format!("{value} {what}"));
    }

    pub fn compare(mut self) {
        self.program.push_str("return 0; }\n");
        let work = tempfile::tempdir().unwrap();
        let source = work.path().join("layout.c");
        let binary = work.path().join("layout");
        std::fs::write(&source, &self.program).unwrap();
        let compiled = Command::new("cc")
            .arg("-I")
            .arg(&self.directory)
            .arg("-o")
            .arg(&binary)
            .arg(&source)
            .status();
        // No C compiler: nothing to compare with.
        let Ok(status) = compiled else { return };
        assert!(status.success());
        let output = Command::new(&binary).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), self.expected);
    }
}
