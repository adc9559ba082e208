//! The suite over the loopback provider in its lenient mode: all rules hold but those that
//! docs/moving.md lists, each of which is excluded by name.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    let verdicts = suite::run("loopback?compat=ofa", include_str!("../exclude/compat-ofa.txt"));
    suite::judge(&verdicts, &[])
}
