//! Completions that were polled from the device together and are handed out one by one.

use crate::verbs::{CompletionQueue, WorkCompletion};

/// Maximum number of completions that one poll takes from the device.
pub(super) const BATCH: usize = 16;

/// The oldest completions polled from the device: plain successes, none of them of a shared receive
/// queue. Other completions are processed as soon as they are polled.
pub(super) struct Batch {
    /// The index of the oldest.
    at: u32,
    /// The index after the last.
    end: u32,
    list: [WorkCompletion; BATCH],
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { at: 0, end: 0, list: [WorkCompletion::default(); BATCH] }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// The oldest completion.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&WorkCompletion> {
        // The remainder does not change the index, but proves to the compiler that it is in bounds.
        if self.is_empty() { None } else { Some(&self.list[self.at as usize % BATCH]) }
    }

    /// Advances past the oldest.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Takes the oldest.
    pub(super) fn next(&mut self) -> Option<WorkCompletion> {
        let next = *self.first()?;
        self.pass();
        Some(next)
    }

    /// Polls the next completions from the device, when none are left.
    #[inline(always)]
    pub(super) fn fill(&mut self, device: &CompletionQueue) {
        // Most polls find none or one: these branches have constants.
        (self.at, self.end) = match device.poll_raw(&mut self.list).unwrap_or(0) {
            0 => (0, 0),
            1 => (0, 1),
            more => (0, more.min(BATCH) as u32),
        };
    }

    /// The completions that [`fill`](Self::fill) returned last.
    pub(super) fn filled(&self) -> &[WorkCompletion] {
        &self.list[..(self.end as usize).min(BATCH)]
    }
}
