//! The bound within which each arrival is read.

use std::time::Duration;

use dat_sync::clock;

use crate::network;
use crate::world::{Outcome, World};

/// An arrival is seen within this time: the bound of the leases, the slack of the checks, what the simulated threads
/// take to wake up, and the longest step of the clock (30 us).
const BOUND: Duration = Duration::from_micros(330);

impl World {
    /// Checks that no arrival waits for too long.
    pub(crate) fn observe(&mut self) -> Outcome {
        self.count_refusals(false);
        let now = clock::now_without_pauses();
        let Self {
            unread_since,
            idle_since,
            has_stopped,
            connections,
            excuses,
            trace,
            processes,
            ..
        } = self;
        network::with(|network| {
            idle_since.resize(network.links.len(), None);
            for (since, (_, link)) in idle_since.iter_mut().zip(&network.links) {
                let idle = link.idle();
                let before = since.filter(|(read, _)| Some(*read) == idle);
                *since = before.or(idle.map(|read| (read, now)));
            }
            unread_since.resize(network.links.len(), [None; 2]);
            for (index, (since, (ends, link))) in
                unread_since.iter_mut().zip(&network.links).enumerate()
            {
                for (direction, since) in since.iter_mut().enumerate() {
                    let unread = link.unread(direction);
                    let before = since.filter(|(read, _)| Some(*read) == unread);
                    *since = before.or(unread.map(|read| (read, now)));
                    // A consumer that takes completions need not read the link before it has all of them.
                    let took_at = processes[ends[1 - direction]].took_at;
                    let waits = since.map_or(Duration::ZERO, |(_, since)| {
                        now.duration_since(since.max(took_at))
                    });
                    // A connection that has ended is not read, and a process may have been stopped.
                    let is_excused = *has_stopped
                        || *excuses > 0
                        || connections
                            .iter()
                            .any(|one| one.link == Some(index) && one.pair.may_end);
                    if waits > BOUND && !is_excused {
                        trace.line(|| format!("link {index}: {}", link.describe()));
                        return Err(format!("link {index}: bytes are not read for {waits:?}"));
                    }
                }
            }
            Ok(())
        })
    }
}
