//! Sets `cfg(dat2)` for the package of DAT 2.0.

fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    if env!("CARGO_PKG_NAME").ends_with('2') {
        println!("cargo::rustc-cfg=dat2");
    }
}
