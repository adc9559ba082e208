//! The receive side: posted receives, and the inbound direction of the connection.
//!
//! Who posts receives and who sends share a ring and no lock. The poster looks at the direction
//! itself only where it is told to: when requests wait for a receive, or when receives are to be
//! flushed. Telling takes a heavy fence, so that not being told takes none; see [`Lookout`].

use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionFeatures, ReceiveRequest, Segment};
use dat_core::{DtoStatus, Operation};

use super::execute::{Step, execute};
use super::lookout::Lookout;
use super::send::Pending;
use super::state::{End, Endpoint, Requester};
use super::teardown::Finish;
use crate::errors::{no_room, wrong_state};
use crate::outlet::{Outlet, Room, Upcalls};
use crate::receive_ring::{Posted, ReceiveRing};
use crate::ring::Ring;
use crate::shared_receive::Shared;

impl Posted {
    #[inline]
    pub(crate) fn new(receive: &ReceiveRequest<'_>) -> Self {
        Self {
            cookie: receive.cookie,
            length: receive.segments.iter().fold(0, |sum, one| sum.saturating_add(one.length)),
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
        }
    }
}

/// Where receives are posted.
pub(crate) struct Post {
    pub(super) room: Room,
    /// The most segments of a receive.
    pub(super) segments: u32,
    /// The next position to fill.
    pub(super) tail: u64,
    /// Absent before the first receive.
    pub(super) ring: Option<Arc<ReceiveRing>>,
    /// Receives are taken from a shared queue instead.
    pub(super) is_shared: bool,
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

/// Posted receives, as they are taken, and where they complete.
pub(crate) struct Receives {
    /// The ring of [`Post`].
    pub(super) ring: Option<Arc<ReceiveRing>>,
    /// The next position to take.
    pub(super) head: u64,
    /// Place for the segments of the receive in hand.
    pub(super) segments: Vec<Segment>,
    pub(super) lookout: Arc<Lookout>,
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
    /// Whether there is a receive. If not, who posts the next one will look at the direction.
    #[inline]
    pub(super) fn has_receive(&mut self) -> bool {
        match &mut self.shared {
            None => self.is_filled() || self.stall(),
            Some(shared) => shared.queue.has_buffer(&mut shared.stalled, &self.me),
        }
    }

    /// As [`has_receive`](Self::has_receive), for one that does not wait.
    pub(super) fn has_receive_now(&mut self) -> bool {
        if self.shared.is_some() { self.has_receive() } else { self.is_filled() }
    }

    #[inline]
    fn is_filled(&self) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.is_filled(self.head))
    }

    /// Has who posts the next receive look at the direction; whether one came meanwhile.
    #[cold]
    fn stall(&mut self) -> bool {
        self.lookout.demand();
        self.is_filled()
    }

    /// Takes the next receive; the segments of one from a shared queue are then at hand.
    #[inline]
    pub(super) fn take(&mut self, upcalls: &mut Upcalls) -> Option<(Posted, usize)> {
        match &mut self.shared {
            None => self.pop().map(|posted| (posted, 0)),
            Some(shared) => {
                shared.queue.take(&mut shared.segments, &mut shared.stalled, &self.me, upcalls)
            }
        }
    }

    /// Takes the next receive that was posted here.
    pub(super) fn pop(&mut self) -> Option<Posted> {
        let (posted, ..) = self.ring.as_ref()?.get(self.head)?;
        self.head += 1;
        Some(posted)
    }

    /// Reports a receive that ended.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        posted: Posted,
        (length, status): (u64, DtoStatus),
        arrival: Arrival,
        upcalls: &mut Upcalls,
    ) {
        let Arrival { operation, extra, solicited } = arrival;
        let completion =
            Completion { tag: 0, cookie: posted.cookie, length, extra, operation, status };
        let failed = status != DtoStatus::Success;
        let features = CompletionFeatures { unsignalled: posted.unsignalled, solicited, failed };
        self.outlet.complete(completion, features, upcalls);
    }
}

impl Rq {
    /// Flushes the own receives, when the direction is shut.
    pub(super) fn flush(&mut self, upcalls: &mut Upcalls) {
        while let Some(posted) = self.receives.pop() {
            let status = DtoStatus::Flushed;
            self.receives.finish(posted, (0, status), Arrival::NONE, upcalls);
        }
    }

    /// Goes on with the direction after a receive was posted.
    fn look(&mut self, upcalls: &mut Upcalls) -> Option<Finish> {
        match &self.inbound {
            Inbound::Shut => {
                self.flush(upcalls);
                None
            }
            Inbound::Open(source) if source.waiting.is_empty() && !source.closing => {
                self.receives.lookout.found_nothing();
                None
            }
            Inbound::Open(_) => self.progress(upcalls),
            Inbound::Idle | Inbound::Expecting(_) => None,
        }
    }

    /// Executes the peer's waiting requests as far as they get.
    fn progress(&mut self, upcalls: &mut Upcalls) -> Option<Finish> {
        let Inbound::Open(source) = &mut self.inbound else { return None };
        while let Some((pending, segments)) = source.waiting.front() {
            let job = pending.job(segments);
            match execute(&job, &source.requester, &mut self.receives, upcalls) {
                Step::Stalled => return None,
                Step::Done => drop(source.waiting.pop()),
                Step::Silent => {
                    source.waiting.pop();
                    source.requester.outlet.skip();
                }
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
    #[inline]
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        if !self.fill_directly(receive) {
            self.fill(receive)?;
        }
        if self.lookout.is_asked_for() {
            self.look();
        }
        Ok(())
    }

    /// Fills a slot if all is as it mostly is; otherwise nothing has happened.
    #[inline(always)]
    fn fill_directly(&self, receive: &ReceiveRequest<'_>) -> bool {
        let [segment] = receive.segments else { return false };
        let Some(mut post) = self.post.lock_as_owner() else { return false };
        let Post { room, tail, ring: Some(ring), is_shared: false, .. } = &mut *post else {
            return false;
        };
        if !room.take_known() {
            return false;
        }
        let unsignalled = receive.flags.contains(CompletionFlags::UNSIGNALLED);
        let posted = Posted { cookie: receive.cookie, length: segment.length, unsignalled };
        ring.fill(*tail, posted, &[*segment]);
        *tail += 1;
        true
    }

    #[inline(never)]
    fn fill(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut post = self.post.lock();
        let post = &mut *post;
        if post.is_shared {
            return Err(is_shared());
        }
        let ring = match &post.ring {
            Some(ring) => ring,
            None => self.first_receive(&mut post.ring, post.room.max(), post.segments),
        };
        if receive.segments.len() > ring.segments() || !post.room.take() {
            return Err(no_room());
        }
        ring.fill(post.tail, Posted::new(receive), receive.segments);
        post.tail += 1;
        Ok(())
    }

    /// Makes the ring.
    #[cold]
    fn first_receive<'a>(
        &self,
        place: &'a mut Option<Arc<ReceiveRing>>,
        most: u32,
        segments: u32,
    ) -> &'a ReceiveRing {
        let ring = Arc::new(ReceiveRing::new(most, segments));
        self.rq.lock().receives.ring = Some(Arc::clone(&ring));
        place.insert(ring)
    }

    /// Looks at the direction, after a receive was posted.
    #[cold]
    fn look(&self) {
        let mut upcalls = Upcalls::default();
        let mut rq = self.rq.lock();
        let finish = rq.look(&mut upcalls);
        drop(rq);
        upcalls.deliver();
        if let Some(finish) = finish {
            finish.run(self);
        }
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

#[cold]
fn is_shared() -> Error {
    wrong_state(Subtype::InvalidStateSrqInUse)
        .because("the queue pair takes its receives from a shared receive queue")
}
