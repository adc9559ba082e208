//! Completions that were taken from the device at once, and are handed out one at a time.

use super::BATCH;
use super::routes::is_shared;
use crate::sys::verbs as sys;
use crate::verbs::{CompletionQueue, WorkCompletion};

/// The oldest completions that were taken from the device: all that succeeded, and none of a
/// shared receive queue. The others have to be looked at when they come.
pub(super) struct Batch {
    list: [WorkCompletion; BATCH],
    at: usize,
    end: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { list: [WorkCompletion::default(); BATCH], at: 0, end: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// The oldest.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<&WorkCompletion> {
        let next = self.list[..self.end].get(self.at)?;
        self.at += 1;
        Some(next)
    }

    /// Takes the next ones from the device, when there are none left; whether any has to be
    /// looked at now.
    pub(super) fn fill(&mut self, device: &CompletionQueue) -> bool {
        self.end = device.poll(&mut self.list).unwrap_or(0);
        self.at = 0;
        let special =
            |entry: &WorkCompletion| entry.status != sys::IBV_WC_SUCCESS || is_shared(entry.wr_id);
        self.list[..self.end].iter().any(special)
    }
}
