//! Completions that were polled from the device together and are handed out one by one.

use super::BATCH;
use crate::verbs::{CompletionQueue, WorkCompletion};

/// The oldest completions polled from the device: plain successes, none of them of a shared receive
/// queue. Other completions are processed as soon as they are polled.
pub(super) struct Batch {
    /// The index of the oldest.
    at: usize,
    /// The index after the last.
    end: usize,
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
        if self.is_empty() { None } else { Some(&self.list[self.at % BATCH]) }
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

    /// Polls the next completions from the device, when none are left, and returns them.
    #[inline(always)]
    pub(super) fn fill(&mut self, device: &CompletionQueue) -> &[WorkCompletion] {
        let count = device.poll_raw(&mut self.list);
        self.at = 0;
        // Most polls find one completion: this branch has a constant length.
        if count == Ok(1) {
            self.end = 1;
            return &self.list[..1];
        }
        self.end = count.unwrap_or(0).min(BATCH);
        &self.list[..self.end]
    }

    /// The completions that [`fill`](Self::fill) returned last.
    pub(super) fn filled(&self) -> &[WorkCompletion] {
        &self.list[..self.end.min(BATCH)]
    }
}
