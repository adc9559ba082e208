//! The suite over the provider that chooses between shared memory and TCP, at the loopback interface:
//! both sides of every connection are in this process, with two rings between them.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    // The limits of the addresses are those of TCP.
    let verdicts = suite::run("auto?lo", include_str!("../exclude/tcp.txt"));
    suite::judge(&verdicts, &[])
}
