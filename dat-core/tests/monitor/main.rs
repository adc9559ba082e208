//! What `dat top` sees of this process, and what pages do that are not what they should be.

#![cfg(not(miri))]
#![allow(unsafe_code, reason = "fork")]

mod child;
mod connections;
mod counters;
mod metrics;
mod page;
mod pair;
mod strangers;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dat_core::monitor::{ProcessView, Watch};
use dat_core::{Ia, Registry};

/// Tests of one process see each other's adapters.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(name: &str) -> Ia {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    registry.open(name).expect("it opens")
}

/// A process in a view.
fn find(watch: &mut Watch, process: u32) -> Option<ProcessView> {
    let (processes, _) = watch.sample();
    processes.into_iter().find(|view| view.process == process)
}

fn own(watch: &mut Watch) -> ProcessView {
    find(watch, std::process::id()).expect("this process has an adapter")
}

/// The descriptors of pages in a process.
fn pages(process: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
    let is_page = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("dat-monitor"))
    };
    all.map(|entry| entry.expect("it runs").path()).filter(is_page).collect()
}
