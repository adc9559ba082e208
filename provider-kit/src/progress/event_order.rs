//! The order of events between the links of an adapter.
//!
//! A peer that establishes one connection, ends another and requests a third writes in that order,
//! but on three links, which the driver reads in any order. The driver reports the events in the
//! order of the peer:
//!
//! - The establishment of a connection is reported at once.
//! - The end of a connection waits for one more pass over the links, which reads the establishments
//!   that the peer wrote before.
//! - A connection request waits for two, which read and report the ends that the peer wrote before.
//!
//! Links that pollers read, and frames behind more data than a link reads in one pass, are not
//! ordered.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::driven::Driven;
use super::incoming::{Incoming, ListenerState};

/// The events that the driver holds back.
#[derive(Default)]
pub(crate) struct EventOrder {
    /// Number of passes that have read every ready link.
    passes: u64,
    ends: Delayed<Weak<dyn Driven>>,
    requests: Delayed<(Arc<ListenerState>, Incoming)>,
}

/// Events in the order in which they were read, each with the number of the pass that it awaits.
struct Delayed<T>(VecDeque<(u64, T)>);

impl<T> Default for Delayed<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Delayed<T> {
    fn pop_due(&mut self, passes: u64) -> Option<T> {
        let is_due = self.0.front().is_some_and(|(due, _)| *due <= passes);
        if is_due { self.0.pop_front().map(|(_, event)| event) } else { None }
    }
}

impl EventOrder {
    /// Adds the end of a queue pair's link; its last events wait.
    pub(crate) fn add_end(&mut self, queue_pair: Weak<dyn Driven>) {
        self.ends.0.push_back((self.passes + 2, queue_pair));
    }

    /// Adds a connection request that has arrived.
    pub(super) fn add_request(&mut self, listener: Arc<ListenerState>, incoming: Incoming) {
        self.requests.0.push_back((self.passes + 3, (listener, incoming)));
    }

    /// A pass has read every link that was ready when it began.
    pub(super) fn note_pass(&mut self) {
        self.passes += 1;
    }

    /// Returns the next queue pair whose last events are due.
    pub(super) fn due_end(&mut self) -> Option<Weak<dyn Driven>> {
        self.ends.pop_due(self.passes)
    }

    /// Returns the next request that is due.
    pub(super) fn due_request(&mut self) -> Option<(Arc<ListenerState>, Incoming)> {
        self.requests.pop_due(self.passes)
    }

    /// Returns true if events wait for another pass.
    pub(super) fn is_pending(&self) -> bool {
        !self.ends.0.is_empty() || !self.requests.0.is_empty()
    }
}
