//! The suite over the loopback provider at an address that is not an IP address, as a fabric has
//! them. Cases that connect to a common service point skip themselves: those have IP addresses.

use std::process::ExitCode;

mod suite;

/// What an adapter with such an address does not support (docs/provider-guide.md).
const LIMITS: [&str; 1] = ["the adapter has no IP address"];

fn main() -> ExitCode {
    let verdicts = suite::run("loopback?address=65:00c0ffee", "");
    suite::judge(&verdicts, &LIMITS)
}
