//! The suite over libdat2.so, whose adapters are loopback.

use dat_conformance_c_v2 as suite;

/// Cases that can't be run through this library, with reasons.
const EXCLUSIONS: [&str; 2] =
    [include_str!("../exclude/both.txt"), include_str!("../exclude/2.0.txt")];

#[path = "../suite.rs"]
mod run;

fn main() -> std::process::ExitCode {
    run::run(&EXCLUSIONS.concat())
}
