//! The suite over the TCP provider at the loopback interface: both sides of every connection are in
//! this process, with a socket between them.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    let totals = suite::run("tcp-lo", include_str!("../exclude/tcp.txt"));
    suite::verdict(totals.failed)
}
