//! Many threads at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{Buffer, Entry, Event, Side, World, in_world};
use dat_core::flags::{Close, CompletionFlags};
use dat_core::provider::{Completion, Work};

mod deregistration;
mod endings;
mod posts;
mod shared_receives;

/// The number of rounds, which is smaller under Miri.
const fn rounds(count: u64) -> u64 {
    if cfg!(miri) { count / 100 + 1 } else { count }
}

/// Splits a log into completions and events.
fn split(log: Vec<Entry>) -> (Vec<Completion>, Vec<Event>) {
    let (mut completions, mut events) = (Vec::new(), Vec::new());
    for entry in log {
        match entry {
            Entry::Completion(completion) => completions.push(completion),
            Entry::Event(_, event) => events.push(event),
        }
    }
    (completions, events)
}

/// Alternates between abrupt and graceful.
fn close(number: u64) -> Close {
    if number % 2 == 0 { Close::Abrupt } else { Close::Graceful }
}
