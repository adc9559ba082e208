//! Pages and other processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dat_core::monitor::Watch;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pause};

use crate::pair::Pair;
use crate::{alone, find, open, own, pages};

/// Runs a function in a child, which ends with 0 if it returns true.
pub(crate) fn in_child(run: impl FnOnce() -> bool) -> Pid {
    // SAFETY: the child ends by `_exit`; the library supports use after fork.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            // The runner of tests, which would catch a panic, is not in this process.
            let is_right = catch_unwind(AssertUnwindSafe(run)).unwrap_or(false);
            // SAFETY: `_exit` ends the process without running any destructor.
            unsafe { nix::libc::_exit(i32::from(!is_right)) }
        }
    }
}

pub(crate) fn succeeds(child: Pid) {
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
}

#[test]
fn a_child_has_neither_the_page_nor_the_memory_of_its_parent() {
    let _alone = alone();
    let pair = Pair::connect("loopback");
    assert_eq!(pages("self").len(), 1);
    succeeds(in_child(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        if !pages("self").is_empty() || maps.contains("dat-monitor") {
            return false;
        }
        // What it opens itself has a page of its own.
        let _own = open("loopback");
        let mut watch = Watch::new();
        let number_of = |process: u32, watch: &mut Watch| {
            find(watch, process).map(|view| (view.adapters.len(), view.connections.len()))
        };
        let parent = nix::unistd::getppid().as_raw() as u32;
        number_of(std::process::id(), &mut watch) == Some((1, 0))
            && number_of(parent, &mut watch) == Some((1, 2))
    }));
    assert_eq!(own(&mut Watch::new()).connections.len(), 2);
    drop(pair);
}

#[test]
fn the_page_is_gone_with_a_process_that_is_killed() {
    let _alone = alone();
    let child = in_child(|| {
        let _ia = open("loopback");
        loop {
            pause();
        }
    });
    let process = child.as_raw() as u32;
    let mut watch = Watch::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    while find(&mut watch, process).is_none() {
        assert!(Instant::now() < deadline, "it opens its adapter");
    }
    kill(child, Signal::SIGSTOP).expect("it runs");
    while !find(&mut watch, process).is_some_and(|view| view.is_stopped) {
        assert!(Instant::now() < deadline, "it stops");
    }
    kill(child, Signal::SIGKILL).expect("it exists");
    waitpid(child, None).expect("a child");
    assert!(find(&mut watch, process).is_none());
}
