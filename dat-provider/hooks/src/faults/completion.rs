//! Completion queues that deliver their completions late and in another order.

use std::collections::VecDeque;
use std::sync::Arc;

use dat_sync::Mutex;

use super::handle::Faults;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{Completion, CompletionDescriptor, CompletionPoller, Notify, SleepTarget};

/// Number of the oldest completions among which reordering picks.
const WINDOW: usize = 64;

/// A completion queue and the completions that it holds back.
///
/// Polls take its lock while they hold that of an event dispatcher, connection events while they
/// hold none. The holder calls nothing but the queue below.
pub(super) struct HeldQueue {
    faults: Arc<Faults>,
    state: Mutex<State>,
}

struct State {
    /// `None` once the poller was dropped.
    inner: Option<Box<dyn CompletionPoller>>,
    held: VecDeque<Held>,
    /// Number of polls so far.
    polls: u64,
    depth: usize,
    mode: Notify,
    chance: Chance,
}

#[derive(Clone, Copy)]
struct Held {
    completion: Completion,
    /// Number of the poll that found it; `None` once it was released.
    found: Option<u64>,
}

impl Held {
    fn is_due(&self, polls: u64, delay: u64) -> bool {
        self.found.is_none_or(|found| polls.saturating_sub(found) >= delay)
    }

    /// Completions of one stream keep their order.
    fn stream(&self) -> (u64, bool) {
        (self.completion.tag, self.completion.operation.is_request())
    }
}

/// The polling half.
struct Poller(Arc<HeldQueue>);

/// Creates both halves of a queue.
pub(super) fn hold(
    faults: &Arc<Faults>,
    inner: Box<dyn CompletionPoller>,
    depth: usize,
) -> (Arc<HeldQueue>, Box<dyn CompletionPoller>) {
    let state = State {
        inner: Some(inner),
        held: VecDeque::new(),
        polls: 0,
        depth,
        mode: Notify::Off,
        chance: Chance::default(),
    };
    let queue = Arc::new(HeldQueue { faults: Arc::clone(faults), state: Mutex::new(state) });
    (Arc::clone(&queue), Box::new(Poller(queue)))
}

impl HeldQueue {
    /// Releases everything that has completed by now.
    pub(super) fn release(&self) {
        let (delay, seed) = self.faults.holding();
        let mut state = self.state.lock();
        if state.held.is_empty() && delay == 0 && seed.is_none() {
            return;
        }
        state.draw(usize::MAX);
        state.held.iter_mut().for_each(|held| held.found = None);
    }
}

impl State {
    /// Takes completions from the queue below until `most` are held back.
    fn draw(&mut self, most: usize) {
        let Some(inner) = &mut self.inner else { return };
        let mut batch = [Completion::default(); 16];
        while self.held.len() < most {
            let room = (most - self.held.len()).min(batch.len());
            let count = inner.poll(&mut batch[..room]);
            let found = Some(self.polls);
            let drawn = batch[..count].iter().map(|&completion| Held { completion, found });
            self.held.extend(drawn);
            if count < room {
                return;
            }
        }
    }

    /// Takes the next completion to deliver.
    fn next(&mut self, delay: u64, reorder: bool) -> Option<Completion> {
        let index = if reorder { self.pick(delay)? } else { 0 };
        if !self.held.get(index)?.is_due(self.polls, delay) {
            return None;
        }
        self.held.remove(index).map(|held| held.completion)
    }

    /// Picks one of the streams that have a due completion in the window, and its oldest.
    fn pick(&mut self, delay: u64) -> Option<usize> {
        let mut firsts: Vec<(usize, (u64, bool))> = Vec::new();
        for (index, held) in self.held.iter().enumerate().take(WINDOW) {
            if firsts.iter().all(|(_, stream)| *stream != held.stream()) {
                firsts.push((index, held.stream()));
            }
        }
        firsts.retain(|&(index, _)| self.held[index].is_due(self.polls, delay));
        if firsts.is_empty() {
            return None;
        }
        Some(firsts[self.chance.below(firsts.len())].0)
    }
}

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let (mut delay, seed) = self.0.faults.holding();
        let mut state = self.0.state.lock();
        let state = &mut *state;
        state.polls += 1;
        if state.held.is_empty() && delay == 0 && seed.is_none() {
            return state.inner.as_mut().map_or(0, |inner| inner.poll(into));
        }
        if state.mode != Notify::Off {
            // A sleeping waiter does not poll, so a completion must not wait for polls.
            delay = 0;
        }
        if let Some(seed) = seed {
            state.chance.start(seed);
        }
        state.draw(state.depth.max(into.len()));
        for (count, place) in into.iter_mut().enumerate() {
            match state.next(delay, seed.is_some()) {
                Some(completion) => *place = completion,
                None => return count,
            }
        }
        into.len()
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut state = self.0.state.lock();
        state.mode = mode;
        let waiting = state.inner.as_mut().is_some_and(|inner| inner.notify(mode));
        waiting || !state.held.is_empty()
    }

    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        self.0.state.lock().inner.as_mut()?.descriptor()
    }

    fn arm_descriptor(&mut self) {
        let mut state = self.0.state.lock();
        state.mode = Notify::Signalled;
        if let Some(inner) = &mut state.inner {
            inner.arm_descriptor();
        }
    }

    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        self.0.state.lock().inner.as_mut()?.begin_sleep()
    }

    fn end_sleep(&mut self) {
        if let Some(inner) = &mut self.0.state.lock().inner {
            inner.end_sleep();
        }
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let mut state = self.0.state.lock();
        let held = state.held.len();
        if held > depth {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!(
                    "{held} completions are delayed, more than the new length of \
                     {depth}"
                ))
                .advise("dequeue completions first, or request a longer queue"));
        }
        if let Some(inner) = &mut state.inner {
            inner.resize(depth)?;
        }
        state.depth = depth;
        Ok(())
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        let gone = (state.inner.take(), std::mem::take(&mut state.held));
        drop(state);
        drop(gone);
    }
}

/// A pseudorandom sequence that is the same for each seed (xorshift).
#[derive(Default)]
struct Chance {
    seed: Option<u64>,
    state: u64,
}

impl Chance {
    /// Seeds the generator, unless it has been seeded already.
    fn start(&mut self, seed: u64) {
        if self.seed != Some(seed) {
            self.seed = Some(seed);
            // Any state is valid except 0, which the generator would never leave.
            self.state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d | 1;
        }
    }

    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 32) % most as u64) as usize
    }
}
