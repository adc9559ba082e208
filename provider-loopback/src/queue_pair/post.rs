//! Posting receives.

use dat_core::error::{Error, Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{QueuePairLimits, ReceiveRequest};

use super::Duty;
use super::receive::Direction;
use super::state::Endpoint;
use crate::credits::QueueCredits;
use crate::errors::{no_credit, wrong_state};
use crate::receive_ring::{PostedReceive, ReceiveRing};

/// Where receives are posted, in the order of its use.
#[repr(C)]
pub(super) struct Post {
    /// The next position to fill.
    pub(super) tail: u64,
    /// None before the first receive; it grows with their number.
    pub(super) ring: ReceiveRing,
    /// In the ring.
    pub(super) room: QueueCredits,
    /// The most receives.
    pub(super) max: u32,
    /// The most segments of a receive.
    pub(super) segments: u16,
    /// Receives are taken from a shared queue instead.
    pub(super) is_shared: bool,
}

/// Number of receives that a new ring holds.
const FIRST: u32 = 8;
/// How many times as large a ring that was full becomes.
const GROWTH: u32 = 8;

impl Post {
    /// Before the first receive.
    pub(super) fn new(limits: &QueuePairLimits, room: QueueCredits, is_shared: bool) -> Self {
        let mut post = Self {
            tail: 0,
            ring: ReceiveRing::unallocated(),
            room,
            max: 0,
            segments: 0,
            is_shared,
        };
        post.limit(limits);
        post
    }

    /// Changes the maxima; what is posted fits.
    pub(super) fn limit(&mut self, limits: &QueuePairLimits) {
        self.max = limits.max_receives;
        self.segments = u16::try_from(limits.max_receive_segments).unwrap_or(u16::MAX);
        self.room.resize(self.room.capacity().min(self.max));
    }

    /// Makes room in the ring for more receives than there ever were, if there may be more.
    #[cold]
    fn grow(&mut self, direction: &Direction) -> bool {
        let before = self.room.capacity();
        if before >= self.max {
            return false;
        }
        let size = before.saturating_mul(GROWTH).clamp(FIRST.min(self.max), self.max);
        let mut rq = direction.lock();
        let posted = rq.receives.head..self.tail;
        self.ring = self.ring.enlarged(posted, (size, self.segments.into()));
        rq.receives.ring = self.ring.clone();
        self.room.resize(size);
        true
    }
}

impl Endpoint {
    #[inline(always)]
    pub(super) fn receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        // Nothing is called but at the end, so that no register is saved.
        if !self.fill_directly(receive) {
            return self.receive_any(receive);
        }
        if self.receiver.wakeup.is_requested() {
            return self.check_waiting();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn receive_any(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.fill(receive)?;
        if self.receiver.wakeup.is_requested() {
            return self.check_waiting();
        }
        Ok(())
    }

    /// Executes what waits for the receive that was just posted.
    #[inline(never)]
    fn check_waiting(&self) -> Result<()> {
        let duty = self.receiver.wakeup.duty();
        if duty != Duty::Nothing {
            self.go_on(duty);
        }
        Ok(())
    }

    /// The fast path: fills a slot and returns true, or does nothing.
    #[inline(always)]
    fn fill_directly(&self, receive: &ReceiveRequest<'_>) -> bool {
        let [segment] = receive.segments else { return false };
        let Some(mut post) = self.receiver.post.lock_as_owner() else { return false };
        let Post { tail, ring, room, .. } = &mut *post;
        let posted = PostedReceive {
            cookie: receive.cookie,
            length: segment.length,
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
            checked: receive.checked.number(),
        };
        // Without a ring there is no credit.
        if !posted.fits(segment) || !room.is_available_fast() {
            return false;
        }
        ring.fill_single(*tail, posted, segment);
        room.take_available();
        *tail += 1;
        true
    }

    fn fill(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut post = self.receiver.post.lock();
        let post = &mut *post;
        if post.is_shared {
            return Err(is_shared());
        }
        if receive.segments.len() > usize::from(post.segments.max(1)) {
            return Err(no_credit());
        }
        if !(post.room.try_take() || post.grow(&self.rq) && post.room.try_take()) {
            return Err(no_credit());
        }
        post.ring.fill(post.tail, PostedReceive::new(receive), receive.segments);
        post.tail += 1;
        Ok(())
    }

    /// How many receives are posted here; those of a shared queue are not.
    pub(super) fn posted(&self) -> u32 {
        let post = self.receiver.post.lock();
        let rq = self.rq.lock();
        u32::try_from(post.tail - rq.receives.head).unwrap_or(u32::MAX)
    }
}

#[cold]
fn is_shared() -> Error {
    wrong_state(Subtype::InvalidStateSrqInUse).because("the queue pair uses a shared receive queue")
}
