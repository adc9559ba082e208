//! The side of a completion queue that takes completions.

use std::collections::VecDeque;

use dat_provider::plain_success::{PlainSuccess, TakeResult};
use dat_provider::{Completion, CompletionPoller};

use super::move_into;
use crate::engine::Engine;
use crate::translate;
use crate::work_completion::WorkCompletion;

/// Number of completions that are taken from the engine at once.
pub(super) const BATCH: usize = 16;

/// The side that takes completions.
pub(super) struct Poller {
    pub(super) kit: Box<dyn CompletionPoller>,
    pub(super) depth: u32,
    /// The engine makes upcalls.
    pub(super) is_notifying: bool,
    pub(super) batch: [Completion; BATCH],
    /// Completions that are older than all of the engine.
    pub(super) parked: VecDeque<WorkCompletion>,
}

impl Poller {
    #[inline]
    pub(super) fn take_parked(&mut self, into: &mut [WorkCompletion]) -> usize {
        if self.parked.is_empty() { 0 } else { move_into(&mut self.parked, into) }
    }

    /// Takes completions of the engine, except those that are not reported to the program.
    #[inline]
    pub(super) fn take_arrived(&mut self, engine: &Engine, into: &mut [WorkCompletion]) -> usize {
        if let [one] = into {
            return self.take_one(engine, one);
        }
        let mut count = 0;
        while count < into.len() {
            let wanted = (into.len() - count).min(BATCH);
            let found = self.kit.poll(&mut self.batch[..wanted]);
            for completion in &self.batch[..found] {
                let is_reported = translate::completion(engine, completion, &mut into[count]);
                count += usize::from(is_reported);
            }
            if found < wanted {
                break;
            }
        }
        count
    }

    #[inline]
    fn take_one(&mut self, engine: &Engine, into: &mut WorkCompletion) -> usize {
        loop {
            let mut plain = PlainSuccess::default();
            match self.kit.take_success(&mut plain) {
                TakeResult::Success => {
                    translate::success(&plain.into(), into);
                    translate::note_arrival(engine, into);
                    return 1;
                }
                TakeResult::Nothing => return 0,
                TakeResult::Other => {}
            }
            let one = &mut self.batch[..1];
            if self.kit.poll(one) == 0 {
                return 0;
            }
            if translate::completion(engine, &one[0], into) {
                return 1;
            }
        }
    }
}
