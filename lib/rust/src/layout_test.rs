//! Compare the Rust structures with the C header, by asking the C compiler.

use std::mem::{offset_of, size_of};
use std::path::PathBuf;
use std::process::Command;

use super::*;

#[test]
fn the_structures_match_the_c_header() {
    let kernel = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    let mut expected = Vec::new();
    let mut c = String::from(
        "#include <stdio.h>\n#include <stddef.h>\n#include \"ring.h\"\nint main(void) {\n",
    );
    let mut check = |what: &str, value: u64| {
        c.push_str(&format!(
            "printf(\"%llu {what}\\n\", (unsigned long long)({what}));\n"
        ));
        expected.push(format!("{value} {what}"));
    };
    // Fields are `rust` or `rust = c` where the names differ.
    macro_rules! c_name {
        ($field:ident) => {
            stringify!($field)
        };
        ($field:ident, $c:literal) => {
            $c
        };
    }
    macro_rules! fields {
        ($rust:ty, $c:literal, $($field:ident $(= $name:literal)?),*) => {
            check(concat!("sizeof(struct ", $c, ")"), size_of::<$rust>() as u64);
            $(check(
                concat!("offsetof(struct ", $c, ", ", c_name!($field $(, $name)?), ")"),
                offset_of!($rust, $field) as u64,
            );)*
        };
    }
    fields!(Header, "ikc_header", size, version);
    fields!(
        Open,
        "ikc_open",
        peer,
        channel,
        peer_channel,
        slots,
        slot_size
    );
    fields!(Connect, "ikc_connect", timeout_ms, slots, slot_size);
    fields!(
        KernelInfo,
        "ikc_kernel_info",
        number,
        flags,
        name,
        state,
        life,
        ready,
        is_self = "self"
    );
    fields!(
        QueueInfo,
        "ikc_queue_info",
        receiver,
        sender,
        queue,
        slots,
        slot_size,
        attached,
        broken,
        packets,
        rung,
        saved,
        full
    );
    fields!(
        AreaInfo,
        "ikc_area_info",
        bytes,
        used,
        blocks,
        failed,
        too_large,
        double_free,
        foreign_free,
        reclaimed
    );
    for (what, value) in [
        ("IKC_VERSION", VERSION.into()),
        ("IKC_MAX_KERNELS", MAX_KERNELS.into()),
        ("IKC_QUEUES", QUEUES.into()),
        ("IKC_CHANNELS", CHANNELS.into()),
        ("IKC_FIRST_CHANNEL", FIRST_CHANNEL.into()),
        ("IKC_NAME_LEN", NAME_LEN as u64),
        ("IKC_ANY_CHANNEL", ANY_CHANNEL.into()),
        ("IKC_ECHO_CHANNEL", ECHO_CHANNEL.into()),
        ("IKC_RING_HEADER", RING_HEADER as u64),
        ("IKC_SLOT_HEADER", SLOT_HEADER as u64),
        ("IKC_SLOT_ALIGN", SLOT_ALIGN as u64),
        ("IKC_MIN_SLOT_SIZE", MIN_SLOT_SIZE as u64),
        ("IKC_MAX_SLOT_SIZE", MAX_SLOT_SIZE as u64),
        ("IKC_MIN_SLOTS", MIN_SLOTS.into()),
        ("IKC_ALLOC_MAX", ALLOC_MAX as u64),
        ("IKC_MMAP_RECEIVE", MAP_RECEIVE as u64),
        ("IKC_MMAP_SEND", MAP_SEND as u64),
        ("IKC_KERNEL_NEXT", KERNEL_NEXT.into()),
        ("IKC_IOC_MAGIC", IOC_MAGIC.into()),
        ("IKC_ABSENT", 0),
        ("IKC_DOWN", 1),
        ("IKC_UP", 2),
        ("IKC_ECHO", crate::Op::Echo as u64),
        ("IKC_SINK", crate::Op::Sink as u64),
        ("IKC_COUNT", crate::Op::Count as u64),
        (
            "sizeof(struct ikc_echo_message)",
            crate::EchoMessage::BYTES as u64,
        ),
        ("offsetof(struct ikc_echo_message, op)", 0),
        ("offsetof(struct ikc_echo_message, channel)", 2),
        ("offsetof(struct ikc_echo_message, cookie)", 8),
        ("offsetof(struct ikc_echo_message, bytes)", 16),
    ] {
        check(what, value);
    }
    for (name, call) in crate::sys::CALLS {
        check(name, *call);
    }
    c.push_str("return 0; }\n");

    let work = tempfile::tempdir().unwrap();
    let source = work.path().join("layout.c");
    let binary = work.path().join("layout");
    std::fs::write(&source, c).unwrap();
    // The crate needs a C compiler, so there is one.
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(kernel.join("ikc"))
        .arg("-I")
        .arg(kernel.join("include/uapi"))
        .arg("-o")
        .arg(&binary)
        .arg(&source)
        .status()
        .unwrap();
    assert!(compiled.success());
    let output = Command::new(&binary).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
