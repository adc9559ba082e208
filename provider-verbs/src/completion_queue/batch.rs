//! Completions that were taken from the device at once, and are handed out one at a time.

use super::BATCH;
use super::routes::{NOTHING, Routes};
use crate::verbs::{CompletionQueue, WorkCompletion};

/// The oldest completions that were taken from the device: successes without anything extra, and
/// none of a shared receive queue. The others have to be looked at when they come.
pub(super) struct Batch {
    /// The place of the oldest.
    at: usize,
    /// Behind the last is one with the identifier of [`NOTHING`].
    list: [WorkCompletion; BATCH + 1],
}

impl Batch {
    pub(super) fn new() -> Self {
        let mut batch = Self { at: 0, list: [WorkCompletion::default(); BATCH + 1] };
        batch.end(0);
        batch
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first().is_none_or(|entry| entry.wr_id == NOTHING)
    }

    /// The oldest, or one that stands for nothing.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&WorkCompletion> {
        self.list.get(self.at)
    }

    /// The oldest is taken.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Takes the oldest.
    pub(super) fn next(&mut self) -> Option<WorkCompletion> {
        let next = *self.first().filter(|entry| entry.wr_id != NOTHING)?;
        self.pass();
        Some(next)
    }

    /// Takes the next ones from the device, when there are none left; whether any has to be
    /// looked at now.
    #[inline(always)]
    pub(super) fn fill(&mut self, device: &CompletionQueue, routes: &Routes) -> bool {
        let count = device.poll(&mut self.list[..BATCH]).unwrap_or(0).min(BATCH);
        self.at = 0;
        self.end(count);
        routes.are_special(&self.list[..count])
    }

    /// That many are there.
    fn end(&mut self, count: usize) {
        self.list[count].wr_id = NOTHING;
    }
}
