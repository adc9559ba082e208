//! The suite over the TCP provider at the loopback interface: both sides of every connection are in
//! this process, with a socket between them.

use std::process::ExitCode;

mod suite;

/// What the provider does not support (docs/provider-tcp.md).
const LIMITS: [&str; 1] = ["the provider has no datagrams"];

fn main() -> ExitCode {
    let verdicts = suite::run("tcp-lo", include_str!("../exclude/tcp.txt"));
    suite::judge(&verdicts, &LIMITS)
}
