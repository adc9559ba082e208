//! The completion queues that polls of dispatchers for connection events read for the consumer.
//!
//! MPI libraries await a message by polling memory and a dispatcher for connection events, and rarely poll a dispatcher
//! for completions. While such polls do the work of the thread, each of them also reads the links of the completion
//! queues, as a poll for completions does. The links are then lent to polls, and the peer neither wakes a thread nor
//! rings.

use std::sync::{Arc, Weak};

use arrayvec::ArrayVec;

use crate::completion_queue::Cq;

/// Maximum number of completion queues that a poll reads. The links of others are read as they become ready.
const MAX_QUEUES: usize = 4;

/// The completion queues whose links polls read.
#[derive(Default)]
pub(super) struct PolledQueues(ArrayVec<Weak<Cq>, MAX_QUEUES>);

impl PolledQueues {
    /// Adds a completion queue that has a link, if it is not there and there is space.
    pub(super) fn add(&mut self, queue: Weak<Cq>) {
        self.0.retain(|one| one.strong_count() > 0);
        if !self.0.iter().any(|one| Weak::ptr_eq(one, &queue)) {
            let _ = self.0.try_push(queue);
        }
    }

    /// The completion queues that still exist. The caller drops them without a lock, because the last reference owns objects of
    /// the consumer.
    pub(super) fn get(&self) -> ArrayVec<Arc<Cq>, MAX_QUEUES> {
        self.0.iter().filter_map(Weak::upgrade).collect()
    }
}
