//! Compiles the C parts of both libraries.

fn main() {
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
