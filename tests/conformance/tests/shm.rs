//! The suite over the shared-memory provider: both sides of every connection are in this process,
//! with two rings between them; once with direct access to the peer's memory, and once without.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    let exclusions = include_str!("../exclude/shm.txt");
    let mut verdicts = suite::run("shm", exclusions);
    verdicts.extend(suite::run("shm?direct=no", exclusions));
    suite::judge(&verdicts, &[])
}
