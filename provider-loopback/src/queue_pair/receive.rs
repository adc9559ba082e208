//! The receive side: posted receives, and the inbound direction of the connection.

use std::sync::{Arc, Weak};

use dat_core::error::{Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionFeatures, ReceiveRequest, Segment};
use dat_core::{DtoStatus, Operation};

use super::execute::{Step, execute};
use super::send::Pending;
use super::state::{End, Endpoint, Requester};
use super::teardown::Finish;
use crate::errors::{no_room, wrong_state};
use crate::outlet::{Outlet, Room, Upcall, Upcalls};
use crate::ring::Ring;
use crate::shared_receive::Shared;

/// A posted receive; its segments are in the ring beside it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Posted {
    pub(super) cookie: u64,
    /// The bytes of all segments together.
    pub(super) length: u64,
    pub(super) unsignalled: bool,
}

impl Posted {
    pub(crate) fn new(receive: &ReceiveRequest<'_>) -> Self {
        Self {
            cookie: receive.cookie,
            length: receive.segments.iter().fold(0, |sum, one| sum.saturating_add(one.length)),
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
        }
    }
}

/// The receive side of a queue pair.
pub(crate) struct Rq {
    pub(crate) inbound: Inbound,
    pub(crate) receives: Receives,
}

/// The direction from the peer.
pub(crate) enum Inbound {
    /// Unconnected: receives stay.
    Idle,
    /// The connection of that number is being made.
    Expecting(u64),
    /// The peer's requests execute here.
    Open(Source),
    /// Disconnected: receives complete as flushed.
    Shut,
}

/// The peer, as the origin of requests.
pub(crate) struct Source {
    pub(crate) link: u64,
    pub(super) peer: Arc<Endpoint>,
    pub(super) requester: Requester,
    /// Requests that wait for a receive, or behind one that does.
    pub(super) waiting: Ring<Pending>,
    /// The peer disconnects when nothing waits any more.
    pub(super) closing: bool,
}

impl Inbound {
    pub(crate) fn is(&self, link: u64) -> bool {
        match self {
            Self::Expecting(number) => *number == link,
            Self::Open(source) => source.link == link,
            Self::Idle | Self::Shut => false,
        }
    }
}

/// Posted receives and where they complete.
pub(crate) struct Receives {
    pub(super) ring: Ring<Posted>,
    pub(super) room: Room,
    pub(super) outlet: Arc<Outlet>,
    pub(super) domain: u64,
    /// The number of the queue pair.
    pub(super) number: u32,
    pub(super) shared: Option<SharedReceives>,
    /// The queue pair itself, for shared receive queues to find it again.
    pub(super) me: Weak<Endpoint>,
}

/// What a receive is told of the request that completed it.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) operation: Operation,
    pub(super) extra: u64,
    pub(super) solicited: bool,
}

impl Arrival {
    /// Nothing arrived.
    pub(super) const NONE: Self =
        Self { operation: Operation::Receive, extra: 0, solicited: false };
}

/// The shared receive queue that receives are taken from.
pub(super) struct SharedReceives {
    pub(super) queue: Arc<Shared>,
    /// Place for the segments of the buffer in hand.
    pub(super) segments: Box<[Segment]>,
    /// Whether the queue knows that the peer waits for a buffer.
    pub(super) stalled: bool,
}

impl Receives {
    /// Whether there is a receive; if not, a shared queue remembers who wants one.
    #[inline]
    pub(super) fn has_receive(&mut self) -> bool {
        match &mut self.shared {
            None => !self.ring.is_empty(),
            Some(shared) => shared.queue.has_buffer(&mut shared.stalled, &self.me),
        }
    }

    /// Takes the next receive; the segments of one from a shared queue are then at hand.
    #[inline]
    pub(super) fn take(&mut self, upcalls: &mut Upcalls) -> Option<(Posted, usize)> {
        match &mut self.shared {
            None => self.ring.pop().map(|posted| (posted, 0)),
            Some(shared) => {
                shared.queue.take(&mut shared.segments, &mut shared.stalled, &self.me, upcalls)
            }
        }
    }

    /// How many receives are posted here; those of a shared queue are not.
    pub(super) fn posted(&self) -> u32 {
        self.ring.count()
    }

    /// Reports a receive that ended.
    pub(super) fn finish(
        &self,
        posted: Posted,
        (length, status): (u64, DtoStatus),
        arrival: Arrival,
        upcall: &mut Upcall,
    ) {
        let Arrival { operation, extra, solicited } = arrival;
        let completion =
            Completion { tag: 0, cookie: posted.cookie, length, extra, operation, status };
        let failed = status != DtoStatus::Success;
        let features = CompletionFeatures { unsignalled: posted.unsignalled, solicited, failed };
        self.outlet.complete(completion, features, upcall);
    }
}

impl Rq {
    fn post(&mut self, receive: &ReceiveRequest<'_>, upcalls: &mut Upcalls) -> Result<()> {
        let receives = &mut self.receives;
        if receives.shared.is_some() {
            return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                .because("the queue pair takes its receives from a shared receive queue"));
        }
        if !receives.room.take() {
            return Err(no_room());
        }
        let posted = Posted::new(receive);
        if matches!(self.inbound, Inbound::Shut) {
            let upcall = &mut upcalls.receives;
            receives.finish(posted, (0, DtoStatus::Flushed), Arrival::NONE, upcall);
        } else if receives.ring.push(posted, receive.segments).is_err() {
            receives.room.undo();
            return Err(no_room());
        }
        Ok(())
    }

    /// Executes the peer's waiting requests as far as they get.
    fn progress(&mut self, upcalls: &mut Upcalls) -> Option<Finish> {
        let Inbound::Open(source) = &mut self.inbound else { return None };
        while let Some((pending, segments)) = source.waiting.front() {
            match execute(pending, segments, &source.requester, &mut self.receives, upcalls) {
                Step::Stalled => return None,
                Step::Done => drop(source.waiting.pop()),
                Step::Broken => {
                    source.waiting.pop();
                    return self.shut(upcalls).map(|source| source.finish(End::Broken));
                }
            }
        }
        source.closing.then(|| Finish {
            link: source.link,
            peer: Arc::clone(&source.peer),
            end: End::Disconnected,
        })
    }
}

impl Source {
    fn finish(self, end: End) -> Finish {
        Finish { link: self.link, peer: self.peer, end }
    }
}

impl Endpoint {
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut upcalls = Upcalls::default();
        let mut rq = self.rq.lock();
        rq.post(receive, &mut upcalls)?;
        let finish = rq.progress(&mut upcalls);
        drop(rq);
        upcalls.deliver();
        if let Some(finish) = finish {
            finish.run(self);
        }
        Ok(())
    }

    /// Goes on after the shared receive queue got a buffer.
    pub(crate) fn resume(&self) {
        let mut upcalls = Upcalls::default();
        let mut rq = self.rq.lock();
        if let Some(shared) = &mut rq.receives.shared {
            shared.stalled = false;
        }
        let finish = rq.progress(&mut upcalls);
        drop(rq);
        upcalls.deliver();
        if let Some(finish) = finish {
            finish.run(self);
        }
    }
}
