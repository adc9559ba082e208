//! When a process has a page, and a thread that writes it.

use std::path::Path;
use std::time::{Duration, Instant};

use dat_core::monitor::Watch;
use dat_core::{Close, EpSpec, Registry};

use crate::{alone, find, open, own, pages};

#[test]
fn values_of_the_parameters_that_mean_nothing_are_errors_of_the_open() {
    let _alone = alone();
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    for (name, valid) in [("loopback?monitor=of", "off"), ("loopback?counters=some", "yes")] {
        let error = registry.open(name).expect_err("no such value").to_string();
        assert!(error.contains("is neither yes") && error.contains(valid), "{error}");
    }
    let off = registry.open("loopback?monitor=off,counters=off").expect("both are words");
    assert_eq!((pages("self").len(), off.name()), (0, "loopback"));
    assert!(!Path::new("off").exists());
}

/// Returns true if the thread of the monitor runs in this process.
fn has_thread() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").expect("it runs");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks.flatten().filter_map(|task| name(task).ok()).any(|name| name == "dat-monitor\n")
}

#[test]
fn a_program_without_endpoints_is_shown_without_a_thread() {
    let _alone = alone();
    let deadline = Instant::now() + Duration::from_secs(10);
    while has_thread() {
        assert!(Instant::now() < deadline, "that of another test ends");
        std::thread::yield_now();
    }
    let first = open("loopback");
    let second = open("loopback");
    let mut watch = Watch::new();
    let shown = |watch: &mut Watch| -> Vec<u64> {
        let view = own(watch);
        assert_eq!(view.sample_age, Duration::ZERO, "there is nothing to wait for");
        view.adapters.iter().map(|it| it.ia).collect()
    };
    assert_eq!(shown(&mut watch), [first.id(), second.id()]);
    drop(first);
    assert_eq!(shown(&mut watch), [second.id()]);
    assert!(!has_thread());
    let pz = second.pz_create().expect("a zone");
    let endpoint = second.ep_create(&EpSpec::new(&pz)).expect("an endpoint");
    assert_eq!(own(&mut watch).adapters[0].endpoints, 1);
    assert!(has_thread());
    endpoint.free().expect("it is not connected");
    assert_eq!(own(&mut watch).adapters[0].endpoints, 0);
}

#[test]
fn adapters_are_shown_from_open_to_close_unless_they_are_excluded() {
    let _alone = alone();
    let mut watch = Watch::new();
    let excluded = open("loopback?monitor=no");
    assert!(find(&mut watch, std::process::id()).is_none());
    let shown = open("loopback?max_eps=4,monitor=yes");
    let adapters = own(&mut watch).adapters;
    assert_eq!(adapters.iter().map(|it| it.ia).collect::<Vec<_>>(), [shown.id()]);
    shown.close(Close::Graceful).expect("it has no objects");
    assert!(find(&mut watch, std::process::id()).is_none());
    assert_eq!(pages("self").len(), 0, "the descriptor is closed");
    let again = open("loopback");
    assert_eq!(own(&mut watch).adapters.len(), 1);
    drop((again, excluded));
}
