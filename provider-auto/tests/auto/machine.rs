//! A machine with several interfaces: a network namespace. Without the right to make one a test says that it did not
//! run.

use std::io::Write;
use std::process::Command;

use dat_two_processes::process;

/// Printed when the namespace has its interfaces: from here on, a failure is one of the providers.
const READY: &str = "the interfaces are up";

/// Runs an ignored test in a namespace of its own.
pub(crate) fn run(test: &str) {
    let test = process::command(test);
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--"])
        .arg(test.get_program())
        .args(test.get_args())
        .output();
    // Directly, so that the test runner does not capture it.
    let not_run = |why: &str| {
        let _ = writeln!(std::io::stderr(), "NOT RUN: a machine with several interfaces: {why}");
    };
    match ran {
        Err(error) => not_run(&format!("unshare: {error}")),
        Ok(ran) => {
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            if out.contains(READY) {
                assert!(ran.status.success(), "{out}{err}");
            } else {
                not_run(&format!("{out}{err}"));
            }
        }
    }
}

/// Sets the interfaces of the namespace up; false if that is impossible.
pub(crate) fn set_up() -> bool {
    let outcome = try_set_up();
    println!("\n{}", outcome.as_ref().map_or_else(|why| why.as_str(), |()| READY));
    outcome.is_ok()
}

/// Addresses of IPv6 need no verification, which takes seconds; `local` has no other address than a link-local one.
fn try_set_up() -> Result<(), String> {
    const COMMANDS: [&str; 16] = [
        "link set lo up",
        "address add 127.0.0.2/8 dev lo",
        "link add name wire0 type veth peer name peer0",
        "link add name wire1 type veth peer name peer1",
        "address add 192.0.2.1/24 dev wire0",
        "address add 192.0.2.2/24 dev wire0",
        "address add 2001:db8::1/64 dev wire0 nodad",
        "address add fe80::77/64 dev wire0 nodad",
        "address add 198.51.100.1/24 dev wire1",
        "address add 2001:db8:1::1/64 dev wire1 nodad",
        "link set wire0 up",
        "link set wire1 up",
        "link add name local type veth peer name peer2",
        "address add fe80::88/64 dev local nodad",
        "address add 169.254.0.88/16 dev local",
        "link set local up",
    ];
    for arguments in COMMANDS {
        let ran = Command::new("ip").args(arguments.split(' ')).output();
        let ran = ran.map_err(|error| format!("ip: {error}"))?;
        if !ran.status.success() {
            return Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr)));
        }
    }
    Ok(())
}
