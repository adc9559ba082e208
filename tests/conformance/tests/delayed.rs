//! The suite over the loopback provider with completions that become visible later than they happen:
//! no case expects a completion right after the call that caused it.

use std::process::ExitCode;

mod suite;

fn main() -> ExitCode {
    let verdicts = suite::run("loopback?fault.delay=2", include_str!("../exclude/delayed.txt"));
    suite::judge(&verdicts, &[])
}
