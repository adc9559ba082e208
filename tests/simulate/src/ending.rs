//! The end of a seed: everything comes to rest, and nothing may be left.

use std::time::Duration;

use dat_core::EpProvision;
use dat_sync::clock;

use crate::model;
use crate::network;
use crate::threads;
use crate::world::{Outcome, Retired, WAKE_UP, World};

/// Most times that everything moves before the world comes to rest: longer than a closing link waits for its peer (2 s).
pub(crate) const SETTLING: u64 = 2_200_000_000 / WAKE_UP;

/// Consumers abandon the waits that nothing ends this many rounds after nothing new has begun.
const WAITS_END: u64 = 40;

impl World {
    /// Lets everything that was begun come to its end, with consumers that poll.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.trace.line(|| "nothing new begins".to_owned());
        self.is_settling = true;
        self.count_refusals(true);
        for process in self.processes.iter().filter(|one| one.is_broken && !one.is_killed) {
            // The adapter need not find out before its next call.
            drop(process.node.ia.psp_create_any(&process.node.requests, EpProvision::Consumer));
        }
        let latest = self.processes.iter().map(|one| one.stopped_until).max();
        if let Some(stopped) = latest.and_then(|latest| latest.checked_duration_since(clock::now()))
        {
            clock::advance(stopped);
        }
        while self.answer_late()? {}
        let mut rest = 0;
        for round in 0..SETTLING {
            // No event reports that suppressed requests move.
            let (events, read) = (self.next_event(), network::read_bytes());
            network::deliver_all();
            clock::advance(Duration::from_nanos(WAKE_UP));
            network::map_memory();
            self.run_threads()?;
            self.run_timer()?;
            self.run_waiters()?;
            self.observe()?;
            // Waiters are judged before others make calls that wake them.
            for waits in [true, false] {
                for process in 0..self.processes.len() {
                    let state = &self.processes[process];
                    let rests = state.is_killed || state.stopped_until > clock::now();
                    if rests || state.wait.is_some() != waits {
                        continue;
                    }
                    if !waits {
                        self.poll(process)?;
                    } else if round > WAITS_END {
                        self.give_up_wait(process, round > 10 * WAITS_END)?;
                    }
                }
            }
            self.post_missing_receives();
            let is_done = self.connections.iter().all(|one| one.pair.left().is_none());
            let waits = self.processes.iter().any(|one| one.wait.is_some() && !one.is_killed);
            let is_still = events == self.next_event() && read == network::read_bytes();
            let is_at_rest = is_done && !waits && is_still;
            rest = if is_at_rest { rest + 1 } else { 0 };
            if rest > 20 {
                return Ok(());
            }
        }
        self.describe_links();
        let left = self.connections.iter().enumerate().find_map(|(index, connection)| {
            connection.pair.left().map(|what| format!("connection {index}: {what}"))
        });
        Err(left.unwrap_or_else(|| "the world does not come to rest".to_owned()))
    }

    /// Ends all connections and adapters; nothing may be left.
    pub(crate) fn finish(mut self) -> Outcome {
        for index in 0..self.connections.len() {
            let pair = &self.connections[index].pair;
            let is_alive = |side: &model::Side| side.is_established && !side.is_dead;
            if self.random.bool() && pair.sides.iter().all(is_alive) {
                let side = self.random.usize(0..2);
                self.disconnect(index, side)?;
            }
        }
        self.settle()?;
        let word = self.word();
        for (index, connection) in self.connections.iter().enumerate() {
            let [Some(one), Some(two)] = &connection.ends else { continue };
            for (side, far) in [two, one].into_iter().enumerate() {
                let added = connection.pair.sides[side].added;
                let bytes = far.buffer.bytes(word, 8);
                let found = bytes.try_into().map_or(0, u64::from_ne_bytes);
                let is_right =
                    if connection.pair.may_end { found <= added } else { found == added };
                if !is_right {
                    return Err(format!("connection {index}: {found} additions, not {added}"));
                }
            }
        }
        for Retired { buffer, before, .. } in &self.retired {
            if buffer.bytes(0, before.len()) != *before {
                return Err("memory was written after it was deregistered".to_owned());
            }
        }
        self.connections.clear();
        self.retired.clear();
        self.unanswered.clear();
        dat_core::simulated_timer::clear();
        let Self { processes, trace, .. } = self;
        trace.line(|| "all adapters are closed".to_owned());
        threads::end_after(processes)
    }
}
