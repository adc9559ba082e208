//! The receive side: posted receives, and the inbound direction of the connection.
//!
//! The poster of receives ([`post`](super::post)) and the sender share a ring and no lock. The poster
//! checks the direction only on demand: when requests wait for a receive, or when receives are to be
//! flushed; see [`ReceiveWakeup`].

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use dat_core::provider::{Completion, CompletionFeatures, Epochs, Segment};
use dat_core::{DtoStatus, Operation};
use dat_sync::{SlabArc, SlabWeak};

use super::execute::{Step, execute};
use super::send::Pending;
use super::state::{End, Endpoint, Requester};
use super::teardown::Finish;
use super::{Duty, ReceiveWakeup};
use crate::completion_queue::Cq;
use crate::completion_target::CompletionTarget;
use crate::receive_ring::{PostedReceive, ReceiveRing};
use crate::ring::Ring;
use crate::shared_receive::{Resume, Srq};
use crate::sync::{BiasedGuard, BiasedLock, OwnerGuard};
use crate::upcalls::Upcalls;

/// The receive side of a queue pair, in the order of its use.
#[repr(C)]
pub(crate) struct Rq {
    /// The connection whose requests can execute here without a further look: the direction is
    /// open, nothing waits, and receives are not shared. 0 for none. [`Inside`] keeps it.
    passing: u64,
    pub(crate) receives: Receives,
    pub(crate) inbound: Inbound,
}

/// The lock of a receive side.
pub(crate) struct Direction(BiasedLock<Rq>);

impl Direction {
    pub(super) fn new(receives: Receives) -> Self {
        Self(BiasedLock::new(Rq { passing: 0, receives, inbound: Inbound::Idle }))
    }

    /// Enters to do anything.
    pub(crate) fn lock(&self) -> Inside<'_> {
        Inside(self.0.lock())
    }

    /// Enters to execute requests that find nothing in their way, and for nothing else.
    pub(super) fn lock_to_take(&self) -> BiasedGuard<'_, Rq> {
        self.0.lock()
    }

    /// As [`lock_to_take`](Self::lock_to_take), for the thread that has the bias.
    #[inline(always)]
    pub(super) fn lock_as_owner(&self) -> Option<OwnerGuard<'_, Rq>> {
        self.0.lock_as_owner()
    }

    /// Waits until the thread that holds the lock releases it.
    pub(super) fn pass(&self) {
        self.0.pass();
    }

    /// The same without a fence, unless another thread has the bias; whether it was enough.
    pub(super) fn pass_without_fence(&self) -> bool {
        self.0.pass_without_fence()
    }
}

/// Being inside of a [`Direction`]; the end of it notes what requests will find.
pub(crate) struct Inside<'a>(BiasedGuard<'a, Rq>);

impl Deref for Inside<'_> {
    type Target = Rq;

    fn deref(&self) -> &Rq {
        &self.0
    }
}

impl DerefMut for Inside<'_> {
    fn deref_mut(&mut self) -> &mut Rq {
        &mut self.0
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.passing = match &self.0.inbound {
            Inbound::Open(source)
                if source.waiting.is_empty() && self.0.receives.shared.is_none() =>
            {
                source.link
            }
            _ => 0,
        };
    }
}

/// The direction from the peer.
pub(crate) enum Inbound {
    /// Unconnected: receives stay.
    Idle,
    /// The connection of that number is being made.
    Expecting(u64),
    /// The peer's requests execute here.
    Open(Box<Source>),
    /// Disconnected: receives complete as flushed.
    Shut,
}

/// The peer, as the origin of requests.
pub(crate) struct Source {
    pub(crate) link: u64,
    pub(super) peer: SlabArc<Endpoint>,
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

/// PostedReceive receives, as they are taken, and where they complete, in the order of their use.
#[repr(C)]
pub(crate) struct Receives {
    /// The next position to take.
    pub(super) head: u64,
    pub(super) domain: u32,
    /// The number of the queue pair.
    pub(super) number: u32,
    /// The ring that they are posted to; none before the first.
    pub(super) ring: ReceiveRing,
    pub(super) outlet: CompletionTarget,
    pub(super) epochs: Arc<Epochs>,
    /// Place for the segments of the receive in hand.
    pub(super) segments: Vec<Segment>,
    pub(super) shared: Option<Box<SharedReceives>>,
    /// The queue pair itself, for shared receive queues to find it again.
    pub(super) me: SlabWeak<Endpoint>,
}

/// What the completion of a receive says about the request that completed it.
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
    pub(super) queue: Arc<Srq>,
    /// Where they complete.
    pub(super) completions: Arc<Cq>,
    /// Place for the segments of the buffer in hand.
    pub(super) segments: Box<[Segment]>,
    /// Whether the queue knows that the peer waits for a buffer.
    pub(super) stalled: bool,
    /// For the queue to resume the queue pair.
    pub(super) me: Arc<dyn Resume>,
}

impl Drop for SharedReceives {
    fn drop(&mut self) {
        self.queue.detach(&self.completions);
    }
}

impl Receives {
    /// Whether there is a receive. If not, the shared queue tells when there is.
    #[inline]
    pub(super) fn has_receive(&mut self) -> bool {
        match &mut self.shared {
            None => self.is_filled(),
            Some(shared) => shared.queue.has_buffer(&mut shared.stalled, &shared.me),
        }
    }

    #[inline]
    fn is_filled(&self) -> bool {
        self.ring.is_filled(self.head)
    }

    /// Requests that the next poster of a receive checks the direction; returns whether a receive
    /// arrived meanwhile. A shared queue knows of it already.
    #[cold]
    pub(super) fn stall(&self, wakeup: &ReceiveWakeup) -> bool {
        if self.shared.is_some() {
            return false;
        }
        wakeup.request();
        let is_filled = self.is_filled();
        if is_filled {
            wakeup.settle();
        }
        is_filled
    }

    /// Takes the next receive; the segments of one from a shared queue are then at hand.
    #[inline]
    pub(super) fn take(&mut self, upcalls: &mut Upcalls) -> Option<(PostedReceive, usize)> {
        match &mut self.shared {
            None => self.pop().map(|posted| (posted, 0)),
            Some(shared) => {
                shared.queue.take(&mut shared.segments, &mut shared.stalled, &shared.me, upcalls)
            }
        }
    }

    /// Takes the next receive that was posted here.
    pub(super) fn pop(&mut self) -> Option<PostedReceive> {
        let (posted, ..) = self.ring.get(self.head)?;
        self.head += 1;
        Some(posted)
    }

    /// Reports a receive that ended.
    pub(super) fn finish(
        &self,
        posted: PostedReceive,
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
    /// Whether requests of that connection find nothing in their way.
    #[inline(always)]
    pub(super) fn passes(&self, link: u64) -> bool {
        self.passing == link
    }

    /// Flushes the receives of this side, when the direction is shut.
    pub(super) fn flush(&mut self, upcalls: &mut Upcalls) {
        while let Some(posted) = self.receives.pop() {
            let status = DtoStatus::Flushed;
            self.receives.finish(posted, (0, status), Arrival::NONE, upcalls);
        }
    }

    /// Goes on with the direction after a receive was posted.
    fn look(
        &mut self,
        wakeup: &ReceiveWakeup,
        duty: Duty,
        upcalls: &mut Upcalls,
    ) -> Option<Finish> {
        match &self.inbound {
            Inbound::Shut => {
                self.flush(upcalls);
                None
            }
            Inbound::Open(source) if source.waiting.is_empty() && !source.closing => {
                wakeup.settle();
                if duty == Duty::Rest {
                    wakeup.rest();
                }
                None
            }
            Inbound::Open(_) => self.progress(wakeup, upcalls),
            Inbound::Idle | Inbound::Expecting(_) => {
                wakeup.put_off();
                None
            }
        }
    }

    /// Executes the peer's waiting requests as far as they get.
    fn progress(&mut self, wakeup: &ReceiveWakeup, upcalls: &mut Upcalls) -> Option<Finish> {
        let Inbound::Open(source) = &mut self.inbound else { return None };
        while let Some((pending, segments)) = source.waiting.front() {
            let job = pending.job(segments);
            match execute(&job, &source.requester, &mut self.receives, upcalls) {
                Step::Stalled if self.receives.stall(wakeup) => {}
                Step::Stalled => return None,
                Step::Done => drop(source.waiting.pop()),
                Step::Silent => {
                    source.waiting.pop();
                    source.requester.outlet.suppress();
                }
                Step::Broken => {
                    source.waiting.pop();
                    return self.shut(wakeup, upcalls).map(|source| source.finish(End::Broken));
                }
            }
        }
        wakeup.settle();
        source.closing.then(|| Finish {
            link: source.link,
            peer: SlabArc::clone(&source.peer),
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
    /// Checks the direction after a receive was posted.
    #[cold]
    pub(super) fn go_on(&self, duty: Duty) {
        let mut upcalls = Upcalls::default();
        let mut rq = self.rq.lock();
        let finish = rq.look(&self.receiver.wakeup, duty, &mut upcalls);
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
        let finish = rq.progress(&self.receiver.wakeup, &mut upcalls);
        drop(rq);
        upcalls.deliver();
        if let Some(finish) = finish {
            finish.run(self);
        }
    }
}
