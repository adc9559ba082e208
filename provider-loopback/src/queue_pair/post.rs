//! Posting receives.

use dat_core::error::{Error, Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::ReceiveRequest;

use super::Handle;
use crate::errors::{no_room, wrong_state};
use crate::outlet::Room;
use crate::receive_ring::{Posted, ReceiveRing};

/// Where receives are posted, in the order of its use.
#[repr(C)]
pub(super) struct Post {
    /// The next position to fill.
    pub(super) tail: u64,
    /// Absent before the first receive.
    pub(super) ring: Option<ReceiveRing>,
    pub(super) room: Room,
    /// The most segments of a receive.
    pub(super) segments: u32,
    /// Receives are taken from a shared queue instead.
    pub(super) is_shared: bool,
}

impl Handle {
    #[inline(always)]
    pub(super) fn receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        if !self.fill_directly(receive) {
            self.fill(receive)?;
        }
        if self.lookout.is_asked_for() {
            self.endpoint.look();
        }
        Ok(())
    }

    /// Fills a slot if all is as it mostly is; otherwise nothing has happened.
    #[inline(always)]
    fn fill_directly(&self, receive: &ReceiveRequest<'_>) -> bool {
        let [segment] = receive.segments else { return false };
        let Some(mut post) = self.post.lock_as_owner() else { return false };
        let Post { tail, ring: Some(ring), room, is_shared: false, .. } = &mut *post else {
            return false;
        };
        if !room.is_there() {
            return false;
        }
        room.take_seen();
        let posted = Posted {
            cookie: receive.cookie,
            length: segment.length,
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
            checked: receive.checked.number(),
        };
        ring.fill(*tail, posted, &[*segment]);
        *tail += 1;
        true
    }

    #[cold]
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
    fn first_receive<'a>(
        &self,
        place: &'a mut Option<ReceiveRing>,
        most: u32,
        segments: u32,
    ) -> &'a ReceiveRing {
        let ring = ReceiveRing::new(most, segments);
        self.endpoint.rq.lock().receives.ring = Some(ring.clone());
        place.insert(ring)
    }

    /// How many receives are posted here; those of a shared queue are not.
    pub(super) fn posted(&self) -> u32 {
        let post = self.post.lock();
        let rq = self.endpoint.rq.lock();
        u32::try_from(post.tail - rq.receives.head).unwrap_or(u32::MAX)
    }
}

#[cold]
fn is_shared() -> Error {
    wrong_state(Subtype::InvalidStateSrqInUse)
        .because("the queue pair takes its receives from a shared receive queue")
}
