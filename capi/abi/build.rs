//! Sets `cfg(dat2)` for the package of DAT 2.0; of `tests/core-over-c`, too.

fn main() {
    if env!("CARGO_PKG_NAME").ends_with('2') {
        println!("cargo::rustc-cfg=dat2");
    }
}
