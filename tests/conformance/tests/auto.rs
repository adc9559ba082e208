//! The suite over the provider that chooses between shared memory and TCP, at the loopback interface:
//! both sides of every connection are in this process, with two rings between them.

use std::process::ExitCode;

mod suite;

/// What the provider does not support (docs/provider-auto.md).
const LIMITS: [&str; 1] = ["the provider has no datagrams"];

fn main() -> ExitCode {
    // The limits of the addresses are those of TCP.
    let verdicts = suite::run("auto?lo", include_str!("../exclude/tcp.txt"));
    suite::judge(&verdicts, &LIMITS)
}
