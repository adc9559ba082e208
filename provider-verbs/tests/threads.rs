//! The threads of an RDMA adapter take no signal from the program, and do not block those that they cause
//! themselves.

use std::fs;
use std::time::{Duration, Instant};

use verbs_side::{Side, device};

/// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS, as masks have them.
const SYNCHRONOUS: u64 = 1 << 10 | 1 << 6 | 1 << 7 | 1 << 3 | 1 << 4 | 1 << 30;
/// SIGKILL, SIGSTOP and the two signals of the C library.
const NEVER_BLOCKED: u64 = 1 << 8 | 1 << 18 | 1 << 31 | 1 << 32;

const EXPECTED: u64 = !(SYNCHRONOUS | NEVER_BLOCKED);

/// The name and the mask of each thread of the library.
fn masks() -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").expect("every Linux has it").flatten() {
        // A thread of the test runner may end.
        let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.expect("a known field").trim().to_owned()
        };
        let name = field("Name:");
        if name.starts_with("dat-") || name.starts_with("soft-") {
            let mask = u64::from_str_radix(&field("SigBlk:"), 16).expect("a mask");
            found.push((name, mask));
        }
    }
    found
}

#[test]
fn the_threads_of_an_adapter_block_every_asynchronous_signal() {
    let Some(address) = device("the signal masks of an adapter's threads") else { return };
    let side = Side::open(address);
    // The thread of the monitor starts with the first endpoint.
    let _endpoint = side.ep();
    // A thread that has just started sets its mask a moment later.
    let end = Instant::now() + Duration::from_secs(10);
    while masks().iter().any(|(_, mask)| *mask != EXPECTED) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut names = Vec::new();
    for (name, mask) in masks() {
        assert_eq!(mask, EXPECTED, "{name}");
        names.push(name);
    }
    // Threads of soft-verbs, where its libraries are in front of those of the system.
    names.retain(|name| name.starts_with("dat-") && name != "dat-progress");
    names.sort();
    // The monitor of soft-verbs has the same name.
    names.dedup();
    assert_eq!(names, ["dat-cm", "dat-events", "dat-monitor"]);
}
