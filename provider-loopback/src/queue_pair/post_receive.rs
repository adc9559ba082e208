//! Posting receives.
//!
//! The poster and the sender share a ring and no lock. The poster locks the responder only on demand
//! ([`ReceiveWakeup`](dat_provider_kit::receive_wakeup::ReceiveWakeup)): when requests wait for a
//! receive, or when receives are to be flushed.

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::{Buffer, Epoch, ReceiveRequest, Segment};
use dat_provider_kit::errors::{no_credit, wrong_state};
use dat_provider_kit::receive_ring::PostedReceive;
use dat_provider_kit::receive_wakeup::PostAction;

use super::qp::LoopbackQp;
use super::receive_poster::PosterState;
use super::responder::ResponderLock;

/// Number of receives that the first ring holds.
const FIRST_CAPACITY: u32 = 4;
/// The factor by which a full ring grows.
const GROWTH: u32 = 8;

impl PosterState {
    /// Enlarges the ring.
    ///
    /// # Errors
    /// It has the maximum size, or there is no memory.
    #[cold]
    fn grow(&mut self, responder: &ResponderLock) -> Result<()> {
        let capacity = self.credits.capacity();
        if capacity >= self.max_receives {
            return Err(no_credit());
        }
        let first = FIRST_CAPACITY.min(self.max_receives);
        let size = capacity.saturating_mul(GROWTH).clamp(first, self.max_receives);
        let mut responder = responder.lock();
        let posted = responder.receives.head..self.tail;
        let enlarged = self.ring.enlarged(posted, (size, self.max_segments.into()));
        self.ring = enlarged.ok_or_else(no_memory)?;
        responder.receives.ring = self.ring.clone();
        self.credits.resize(size);
        Ok(())
    }
}

#[cold]
fn no_memory() -> Error {
    Error::no_memory("the receives of the endpoint")
}

impl LoopbackQp {
    #[inline(always)]
    pub(super) fn post_one_receive(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let posted = PostedReceive::with_one_segment(buffer.length, cookie, flags, checked);
        // The only calls are tail calls, so that no register is saved.
        if !self.fill_fast(posted, &buffer.with_key(key)) {
            return self.post_one_slow(buffer, key, cookie, flags, checked);
        }
        if self.poster.wakeup.is_requested() {
            return self.wake_responder();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn post_one_slow(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let segments = &[buffer.with_key(key)];
        self.post_receive(&ReceiveRequest { segments, cookie, flags, checked })
    }

    /// Posts a receive on the slow path.
    #[inline(never)]
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.fill_slow(receive)?;
        if self.poster.wakeup.is_requested() {
            return self.wake_responder();
        }
        Ok(())
    }

    /// Executes the requests that wait for the receive that was just posted.
    #[inline(never)]
    fn wake_responder(&self) -> Result<()> {
        let action = self.poster.wakeup.action();
        if action != PostAction::Nothing {
            self.serve_inbound(action);
        }
        Ok(())
    }

    /// The fast path: fills a slot and returns true, or does nothing.
    #[inline(always)]
    fn fill_fast(&self, posted: PostedReceive, segment: &Segment) -> bool {
        let Some(mut state) = self.poster.state.lock_as_owner() else { return false };
        let PosterState { tail, ring, credits, .. } = &mut *state;
        // An unallocated ring has no credits.
        if !posted.fits(segment) || !credits.is_available_fast() {
            return false;
        }
        ring.fill_single(*tail, posted, segment);
        credits.take_available();
        *tail += 1;
        true
    }

    fn fill_slow(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut state = self.poster.state.lock();
        let state = &mut *state;
        if state.is_shared {
            return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                .because("the queue pair uses a shared receive queue"));
        }
        if receive.segments.len() > usize::from(state.max_segments.max(1)) {
            return Err(no_credit());
        }
        if !state.credits.try_take() {
            state.grow(&self.responder)?;
            if !state.credits.try_take() {
                return Err(no_credit());
            }
        }
        if !state.ring.fill(state.tail, PostedReceive::new(receive), receive.segments) {
            state.credits.give_back();
            return Err(no_memory());
        }
        state.tail += 1;
        Ok(())
    }

    /// Number of posted receives, without those of a shared queue.
    #[inline(always)]
    pub(super) fn posted_receives(&self) -> u32 {
        let state = self.poster.state.lock();
        let responder = self.responder.lock();
        u32::try_from(state.tail - responder.receives.head).unwrap_or(u32::MAX)
    }
}
