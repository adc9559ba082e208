//! The state that the fault injector keeps for each queue pair.

use std::sync::Arc;

use dat_sync::{Mutex, ReentrantMutex};

use super::completion::HeldQueue;
use super::connection::{DeadEnd, Link};
use super::plan::{AttemptSide, ConnectFault};
use crate::hooks::Queues;
use dat_provider::{ConnectionSink, ConnectionUpcall, Peer};

/// The state of a queue pair that calls need.
pub(super) struct FaultyPair {
    pub(super) end: Arc<End>,
    /// Held during control calls, because a planned break is a control call made inside a post. A
    /// post only tries to lock it and never waits: the post may come from an upcall of the very
    /// control call that holds the lock.
    pub(super) control: ReentrantMutex<()>,
    /// The dead ends of attempts that are to fail; attempts for datagrams can have several.
    pub(super) dead_ends: Mutex<Vec<(u64, DeadEnd)>>,
}

/// The state of a queue pair that its connection events need.
pub(super) struct End {
    pub(super) tag: u64,
    pub(super) state: Mutex<EndState>,
}

pub(super) struct EndState {
    pub(super) queues: Queues<Arc<HeldQueue>>,
    /// The attempts that are to fail, by number.
    pub(super) doomed: Vec<(u64, ConnectFault)>,
    /// The most recent connection.
    pub(super) link: Option<Arc<Link>>,
    pub(super) connected: bool,
    /// Number of requests posted on the connection.
    pub(super) requests: u64,
    /// The last attempt that this side started.
    pub(super) asked: Option<u64>,
    /// The last attempt during which a receive completed before `Established` was reported.
    pub(super) communicated: Option<u64>,
    pub(super) late: Option<Late>,
}

/// The postponed `Established` event of an attempt that succeeded.
pub(super) struct Late {
    pub(super) attempt: u64,
    pub(super) private_data: Box<[u8]>,
    pub(super) peer: Peer,
    pub(super) local_port: u64,
    pub(super) sink: Arc<dyn ConnectionSink>,
}

impl FaultyPair {
    /// Records the dead end of an attempt, and drops those of attempts that have failed.
    pub(super) fn dead_end(&self, attempt: u64, fault: ConnectFault, dead_end: DeadEnd) {
        let doomed = {
            let mut state = self.end.state.lock();
            state.doomed.push((attempt, fault));
            state.doomed.clone()
        };
        let is_doomed = |attempt| doomed.iter().any(|one| one.0 == attempt);
        let mut dead_ends = self.dead_ends.lock();
        let before = std::mem::take(&mut *dead_ends);
        let (kept, over) = before.into_iter().partition(|one| is_doomed(one.0));
        *dead_ends = kept;
        dead_ends.push((attempt, dead_end));
        drop(dead_ends);
        drop::<Vec<_>>(over);
    }

    /// Drops the dead ends: every attempt and the connection are over for this side.
    pub(super) fn leave(&self) {
        let dead_ends = std::mem::take(&mut *self.dead_ends.lock());
        drop(dead_ends);
        self.end.release();
    }
}

impl End {
    /// Releases the completions that were held back.
    pub(super) fn release(&self) {
        let Queues { request, receive } = self.state.lock().queues.clone();
        for queue in [request, receive].into_iter().flatten() {
            queue.release();
        }
    }
}

impl EndState {
    pub(super) fn new(queues: Queues<Arc<HeldQueue>>) -> Self {
        Self {
            queues,
            doomed: Vec::new(),
            link: None,
            connected: false,
            requests: 0,
            asked: None,
            communicated: None,
            late: None,
        }
    }

    /// Records an established connection; returns the one before.
    pub(super) fn begin(&mut self, link: Arc<Link>) -> Option<Arc<Link>> {
        self.connected = true;
        self.requests = 0;
        self.link.replace(link)
    }

    /// Which side of the connection this is, judged by the attempt.
    pub(super) fn side_of(&self, attempt: u64) -> AttemptSide {
        match self.asked {
            Some(asked) if asked == attempt => AttemptSide::Connect,
            _ => AttemptSide::Accept,
        }
    }

    pub(super) fn forget(&mut self) -> Option<Arc<Link>> {
        self.doomed.clear();
        self.late = None;
        self.communicated = None;
        self.connected = false;
        self.link.take()
    }

    pub(super) fn is_on(&self, link: &Arc<Link>) -> bool {
        self.connected && self.link.as_ref().is_some_and(|own| Arc::ptr_eq(own, link))
    }

    /// Counts a request; returns the connection if this was the last request that the plan allows
    /// it.
    pub(super) fn count_request(&mut self, most: u64) -> Option<Arc<Link>> {
        if !self.connected {
            return None;
        }
        self.requests += 1;
        self.link.clone().filter(|_| most > 0 && self.requests >= most)
    }

    /// The event to report instead of the given one.
    pub(super) fn rewrite<'a>(
        &mut self,
        attempt: u64,
        event: ConnectionUpcall<'a>,
    ) -> ConnectionUpcall<'a> {
        match event {
            ConnectionUpcall::Established { .. } | ConnectionUpcall::Resolved { .. } => event,
            ConnectionUpcall::Disconnected | ConnectionUpcall::Broken => {
                self.connected = false;
                match &self.link {
                    Some(link) if link.is_broken() => ConnectionUpcall::Broken,
                    _ => event,
                }
            }
            _ => {
                let place = self.doomed.iter().position(|one| one.0 == attempt);
                match place.map(|place| self.doomed.swap_remove(place).1) {
                    Some(ConnectFault::Unreachable) => ConnectionUpcall::Unreachable,
                    Some(ConnectFault::Refuse) => ConnectionUpcall::REFUSED,
                    _ => event,
                }
            }
        }
    }
}
