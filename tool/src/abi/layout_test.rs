//! Compare the Rust structures with the C header, by asking the C compiler.

use std::mem::{offset_of, size_of};
use std::path::PathBuf;
use std::process::Command;

use super::*;

fn header_dir() -> Option<PathBuf> {
    let candidates = [
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../kernel/include/uapi"),
        PathBuf::from("/mnt/inc/include/uapi"),
    ];
    candidates.into_iter().find(|d| d.join("shimos.h").exists())
}

#[test]
fn the_structures_match_the_c_header() {
    let Some(dir) = header_dir() else { return };
    let mut expected = Vec::new();
    let mut c = String::from(
        "#include <stdio.h>\n#include <stddef.h>\n#include \"shimos.h\"\n#include \"shimos_shared.h\"\nint main(void) {\n",
    );
    let mut check = |what: &str, value: u64| {
        c.push_str(&format!(
            "printf(\"%llu {what}\\n\", (unsigned long long)({what}));\n"
        ));
        expected.push(format!("{value} {what}"));
    };
    macro_rules! fields {
        ($rust:ty, $c:literal, $($field:ident),*) => {
            check(concat!("sizeof(struct ", $c, ")"), size_of::<$rust>() as u64);
            $(check(
                concat!("offsetof(struct ", $c, ", ", stringify!($field), ")"),
                offset_of!($rust, $field) as u64,
            );)*
        };
    }
    fields!(
        Info,
        "shimos_info",
        memory_min,
        memory_align,
        partitions,
        host_ok,
        host_problem
    );
    fields!(ErrorText, "shimos_error", text);
    fields!(
        Create,
        "shimos_create",
        name,
        memory,
        cpus,
        cpu_count,
        flags,
        id,
        reserved
    );
    fields!(
        Load,
        "shimos_load",
        id,
        kernel_fd,
        initrd_fd,
        cmdline_len,
        cmdline
    );
    fields!(Target, "shimos_target", id, flags);
    fields!(
        Status,
        "shimos_status",
        id,
        flags,
        name,
        state,
        cause,
        event,
        memory,
        cpu_count,
        range_count,
        cpus,
        ranges,
        starts,
        agent,
        uptime_ns,
        boot_ns,
        silent_ns,
        host_bytes,
        kernel_bytes,
        initrd_bytes,
        kernel_version,
        cmdline,
        message
    );
    fields!(Wait, "shimos_wait", id, timeout_ms, event, state, cause);
    check("SHIMOS_ABI_VERSION", ABI_VERSION.into());
    check("SHIMOS_NAME_LEN", NAME_LEN as u64);
    check("SHIMOS_CMDLINE_LEN", CMDLINE_LEN as u64);
    check("SHIMOS_MAX_CPUS", MAX_CPUS as u64);
    check("SHIMOS_MAX_RANGES", MAX_RANGES as u64);
    check("SHIMOS_CREATE_RESTART", CREATE_RESTART.into());
    check("SHIMOS_START_NO_AGENT", START_NO_AGENT.into());
    check("SHIMOS_STATUS_NEXT", STATUS_NEXT.into());
    check("SHIMOS_SHARED_MAGIC", SHARED_MAGIC);
    check("SHIMOS_SHARED_VERSION", SHARED_VERSION.into());
    check("SHIMOS_SHARED_SIZE", SHARED_SIZE.into());
    check("SHIMOS_LAST_LOG", LAST_LOG);
    check("SHIMOS_LAST_LOG_LEN", LAST_LOG_LEN.into());
    check("offsetof(struct shimos_last_log, text)", LAST_LOG_TEXT_AT);
    check("offsetof(struct shimos_shared, version)", SHARED_VERSION_AT);
    check("offsetof(struct shimos_shared, size)", SHARED_SIZE_AT);
    check("offsetof(struct shimos_shared, name)", SHARED_NAME_AT);
    c.push_str("return 0; }\n");

    let work = tempfile::tempdir().unwrap();
    let source = work.path().join("layout.c");
    let binary = work.path().join("layout");
    std::fs::write(&source, c).unwrap();
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(&dir)
        .arg("-o")
        .arg(&binary)
        .arg(&source)
        .status();
    // No C compiler: nothing to compare with.
    let Ok(status) = compiled else { return };
    assert!(status.success());
    let output = Command::new(&binary).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
