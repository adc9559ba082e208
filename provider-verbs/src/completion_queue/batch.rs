//! Completions that were taken from the device at once, and are handed out one at a time.

use super::BATCH;
use crate::verbs::{CompletionQueue, WorkCompletion};

/// The oldest completions that were taken from the device: successes without anything extra, and
/// none of a shared receive queue. The others have to be looked at when they come.
pub(super) struct Batch {
    /// The place of the oldest.
    at: usize,
    /// The place behind the last.
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

    /// The oldest.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&WorkCompletion> {
        // The remainder is the place itself, and tells the compiler that it is one.
        if self.is_empty() { None } else { Some(&self.list[self.at % BATCH]) }
    }

    /// The oldest is taken.
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

    /// Takes the next ones from the device, when there are none left, and returns them.
    #[inline(always)]
    pub(super) fn fill(&mut self, device: &CompletionQueue) -> &[WorkCompletion] {
        let count = device.poll_raw(&mut self.list);
        self.at = 0;
        // One, which is what most polls find, in a known number of steps.
        if count == Ok(1) {
            self.end = 1;
            return &self.list[..1];
        }
        self.end = count.unwrap_or(0).min(BATCH);
        &self.list[..self.end]
    }

    /// What [`fill`](Self::fill) returned last.
    pub(super) fn filled(&self) -> &[WorkCompletion] {
        &self.list[..self.end.min(BATCH)]
    }
}
