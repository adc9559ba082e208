//! Sets `cfg(dat2)` for libdat2, and compiles the C parts of both libraries.

fn main() {
    if env!("CARGO_PKG_NAME") == "dat2" {
        println!("cargo::rustc-cfg=dat2");
    }
    for name in ["cancel.c", "cancel.h"] {
        println!("cargo::rerun-if-changed=../src/cancel/{name}");
    }
    cc::Build::new()
        .file("../src/cancel/cancel.c")
        .std("gnu11")
        .extra_warnings(true)
        // A cancellation may unwind these frames at any instruction.
        .flag("-fexceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("dats_cancel");
}
