//! The threads of a case: how many there are, and how long they run.

use std::sync::Arc;
use std::time::Duration;

use crate::prelude::*;

pub(super) const THREADS: u64 = 6;
/// The time after which threads stop even if they have work left.
pub(super) const ENOUGH: Duration = Duration::from_millis(1_500);

/// Runs a function in `threads` threads, with the index of each, and waits for all of them.
pub(super) fn in_threads<T: Send + 'static>(
    threads: u64,
    work: impl Fn(u64) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let work = Arc::new(work);
    let run = |number| {
        let work = Arc::clone(&work);
        Background::run(move || work(number))
    };
    let running: Vec<_> = (0..threads).map(run).collect();
    running.into_iter().map(Background::join).collect()
}
