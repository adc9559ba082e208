//! The queue pair.

use std::sync::Arc;

use dat_provider::ConnectionUpcall;
use dat_provider_kit::domain::DomainUser;
use dat_provider_kit::sync::BiasedLock;
use dat_sync::Mutex;
use dat_sync::{SlabArc, SlabWeak};

use super::receive_poster::ReceivePoster;
use super::responder::ResponderLock;
use super::send_queue::SendQueue;
use crate::fabric::Host;

/// A queue pair. Its locks are taken in the order of the fields. Different threads take them, so each
/// has its own cache lines, and what a post needs is in the first one or two of them.
#[repr(C)]
pub(super) struct LoopbackQp {
    pub(super) send_queue: BiasedLock<SendQueue>,
    pub(super) host: Arc<Host>,
    pub(super) weak_self: SlabWeak<LoopbackQp>,
    /// The current or last peer, under whose responder lock the requests of this side execute.
    pub(super) peer: Mutex<SlabWeak<LoopbackQp>>,
    /// The queue pair number, by which confined windows know it; never 0.
    pub(super) number: u32,
    /// Fills the cache line.
    pub(super) padding: [u8; 4],
    pub(super) poster: ReceivePoster,
    pub(super) responder: ResponderLock,
}

/// The three parts begin at cache lines, also at those of 128 bytes, and the queue pair with its reference counts takes nine.
#[cfg(all(target_pointer_width = "64", not(all(test, loom))))]
const _: () = {
    assert!(std::mem::offset_of!(LoopbackQp, poster) == 4 * 64);
    assert!(std::mem::offset_of!(LoopbackQp, responder) == 6 * 64);
    assert!(size_of::<LoopbackQp>() + 8 <= 9 * 64);
};

impl LoopbackQp {
    /// Reports an event, unless the queue pair was retired.
    pub(super) fn report(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        let send_queue = self.send_queue.lock();
        let sink = (!send_queue.is_retired).then(|| Arc::clone(&send_queue.sink));
        drop(send_queue);
        if let Some(sink) = sink {
            sink.connection_event(attempt, event);
        }
    }

    /// Records the peer. It must be recorded before anything is copied for it.
    pub(super) fn set_peer(&self, peer: Option<&SlabArc<Self>>) {
        *self.peer.lock() = peer.map(SlabArc::downgrade).unwrap_or_default();
    }
}

/// A queue pair as its domains and its shared receive queue know it.
pub(super) struct QpRef(pub(super) SlabWeak<LoopbackQp>);

impl DomainUser for QpRef {
    /// The requests of this side copy under its send queue lock, or later under the peer's responder
    /// lock; the requests of the peer copy under this side's responder lock.
    fn wait_for_copies(&self) {
        let Some(qp) = self.0.upgrade() else { return };
        qp.send_queue.synchronize();
        qp.responder.synchronize();
        let peer = qp.peer.lock().upgrade();
        if let Some(peer) = peer {
            peer.responder.synchronize();
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        let Some(qp) = self.0.upgrade() else { return true };
        let peer = qp.peer.lock().upgrade();
        qp.send_queue.synchronize_without_fence()
            && qp.responder.synchronize_without_fence()
            && peer.is_none_or(|peer| peer.responder.synchronize_without_fence())
    }
}
