//! Posting receives.

use dat_core::error::{Error, Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::ReceiveRequest;

use super::state::Endpoint;
use crate::credits::Room;
use crate::errors::{no_room, wrong_state};
use crate::receive_ring::{Posted, ReceiveRing};

/// Where receives are posted, in the order of its use.
#[repr(C)]
pub(super) struct Post {
    /// The next position to fill.
    pub(super) tail: u64,
    /// None before the first receive.
    pub(super) ring: ReceiveRing,
    pub(super) room: Room,
    /// The most segments of a receive.
    pub(super) segments: u32,
    /// Receives are taken from a shared queue instead.
    pub(super) is_shared: bool,
}

impl Endpoint {
    #[inline(always)]
    pub(super) fn receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        // Nothing is called but at the end, so that no register is saved.
        if !self.fill_directly(receive) {
            return self.receive_any(receive);
        }
        if self.receiver.lookout.is_asked_for() {
            return self.look();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn receive_any(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.fill(receive)?;
        if self.receiver.lookout.is_asked_for() {
            return self.look();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn look(&self) -> Result<()> {
        self.go_on();
        Ok(())
    }

    /// Fills a slot if all is as it mostly is; otherwise nothing has happened.
    #[inline(always)]
    fn fill_directly(&self, receive: &ReceiveRequest<'_>) -> bool {
        let [segment] = receive.segments else { return false };
        let Some(mut post) = self.receiver.post.lock_as_owner() else { return false };
        let Post { tail, ring, room, .. } = &mut *post;
        let posted = Posted {
            cookie: receive.cookie,
            length: segment.length,
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
            checked: receive.checked.number(),
        };
        // There is no ring where receives are shared.
        if ring.is_none() || !posted.fits(segment) || !room.is_known() {
            return false;
        }
        ring.fill_single(*tail, posted, segment);
        room.take_seen();
        *tail += 1;
        true
    }

    fn fill(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut post = self.receiver.post.lock();
        let post = &mut *post;
        if post.is_shared {
            return Err(is_shared());
        }
        if post.ring.is_none() {
            post.ring = ReceiveRing::new(post.room.max(), post.segments);
            self.rq.lock().receives.ring = post.ring.clone();
        }
        if receive.segments.len() > post.ring.segments() || !post.room.take() {
            return Err(no_room());
        }
        post.ring.fill(post.tail, Posted::new(receive), receive.segments);
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
    wrong_state(Subtype::InvalidStateSrqInUse)
        .because("the queue pair takes its receives from a shared receive queue")
}
