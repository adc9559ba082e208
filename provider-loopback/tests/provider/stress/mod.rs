//! Many threads at once.

use crate::common::{Entry, Event};
use dat_core::flags::Close;
use dat_core::provider::Completion;

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
