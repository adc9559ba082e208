//! The suite over the shared-memory provider: both sides of every connection are in this process,
//! with two rings between them.

use std::process::ExitCode;

mod suite;

/// What the provider does not support (docs/provider-shm.md).
const LIMITS: [&str; 1] = ["the provider has no datagrams"];

fn main() -> ExitCode {
    let verdicts = suite::run("shm", include_str!("../exclude/shm.txt"));
    suite::judge(&verdicts, &LIMITS)
}
