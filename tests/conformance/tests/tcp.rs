//! The suite over the TCP provider at the loopback interface: both sides of every connection are in
//! this process, with a socket between them.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    let verdicts = suite::run("tcp-lo", include_str!("../exclude/tcp.txt"));
    suite::judge(&verdicts, &[])
}
