//! Compile the ring: the kernel's own code, so that there is one of it.

fn main() {
    let kernel = "../../kernel";
    cc::Build::new()
        .file("src/shim.c")
        .include(format!("{kernel}/ikc"))
        .include(format!("{kernel}/include/uapi"))
        .std("gnu11")
        .opt_level(2)
        .warnings(true)
        .compile("shimos_ikc_ring");
    for source in [
        "src/shim.c",
        &format!("{kernel}/ikc/ring.h"),
        &format!("{kernel}/ikc/atomics.h"),
        // The folder: shimos_ikc.h has its parts beside it.
        &format!("{kernel}/include/uapi"),
    ] {
        cargo_directive(&format!("rerun-if-changed={source}"));
    }
}

/// How a build script talks to cargo.
#[allow(clippy::print_stdout)]
fn cargo_directive(text: &str) {
    println!("cargo:{text}");
}
