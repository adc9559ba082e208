//! Shared receive queues (SRQs): buffers that several queue pairs share.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::BiasedLock;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{
    ProtectionDomain, ReceiveRequest, Segment, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink,
};

use crate::completion_queue::Cq;
use crate::credits::{Attachment, QueueCredits};
use crate::domain::{self, Domain};
use crate::errors::{foreign_object, no_credit};
use crate::receive_ring::PostedReceive;
use crate::ring::Ring;
use crate::upcalls::Upcalls;

/// A shared receive queue.
pub struct Srq {
    /// The protection domain of its buffers.
    pub(crate) domain: Arc<Domain>,
    /// Maximum number of segments of a buffer.
    pub(crate) max_segments: u32,
    buffers: BiasedLock<Buffers>,
    sink: Arc<dyn SharedReceiveSink>,
}

/// A queue pair whose peer waits for a buffer.
pub trait Resume: Send + Sync {
    /// A buffer is available: continues with the messages of the peer. The queue pair may no longer need the buffer.
    fn resume(&self);
}

/// The state under the lock of a shared receive queue.
struct Buffers {
    ring: Ring<PostedReceive>,
    credits: QueueCredits,
    /// The armed low watermark, or 0.
    watermark: u32,
    /// Queue pairs whose peers wait for a buffer, each once, in the order of arrival.
    stalled: VecDeque<Arc<dyn Resume>>,
}

/// The object that represents a shared receive queue in the provider contract.
struct SrqHandle(Arc<Srq>);

/// Creates a shared receive queue in a domain.
///
/// # Errors
/// The domain belongs to another provider.
pub fn create(
    domain: &dyn ProtectionDomain,
    limits: SharedReceiveLimits,
    sink: Arc<dyn SharedReceiveSink>,
) -> Result<Arc<dyn SharedReceiveQueue>> {
    Ok(Arc::new(SrqHandle(Arc::new(Srq {
        domain: domain::downcast(domain)?,
        max_segments: limits.max_segments,
        buffers: BiasedLock::new(Buffers {
            ring: Ring::new(limits.max_receives, limits.max_segments),
            credits: QueueCredits::new(limits.max_receives),
            watermark: 0,
            stalled: VecDeque::new(),
        }),
        sink,
    }))))
}

#[cold]
fn no_memory() -> Error {
    Error::no_memory("the buffers of the shared receive queue")
}

/// The queue behind an object of the contract.
///
/// # Errors
/// The object belongs to another provider.
pub fn downcast(queue: &dyn SharedReceiveQueue) -> Result<Arc<Srq>> {
    match queue.as_any().downcast_ref::<SrqHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("shared receive queue", Subtype::InvalidHandleSrq)),
    }
}

impl Srq {
    /// Attaches a queue pair whose receives complete through a completion queue. Returns the index of the
    /// attachment in that queue.
    pub(crate) fn attach(&self, queue: &Arc<Cq>) -> u32 {
        let mut buffers = self.buffers.lock();
        // Reserved here, so that `take` does not allocate.
        buffers.stalled.reserve(1);
        buffers.credits.attach_shared(queue)
    }

    /// Reverts [`attach`](Self::attach).
    pub(crate) fn detach(&self, queue: &Arc<Cq>) {
        let unused: Vec<Attachment> = self.buffers.lock().credits.detach_shared(queue);
        // Dropped without the lock.
        drop(unused);
    }

    /// Returns true if a buffer is available. If not, `user` is resumed when one is posted.
    pub(crate) fn has_buffer(&self, stalled: &mut bool, user: &Arc<dyn Resume>) -> bool {
        let mut buffers = self.buffers.lock();
        if buffers.ring.is_empty() {
            buffers.stall(stalled, user);
            return false;
        }
        true
    }

    /// Takes the oldest buffer and copies its segments to `into`. If there is none, `user` is resumed when
    /// one is posted.
    pub(crate) fn take(
        &self,
        into: &mut [Segment],
        stalled: &mut bool,
        user: &Arc<dyn Resume>,
        upcalls: &mut Upcalls,
    ) -> Option<(PostedReceive, usize)> {
        let mut buffers = self.buffers.lock();
        let Some((&posted, segments)) = buffers.ring.front() else {
            // Another queue pair may have taken it since `has_buffer`.
            buffers.stall(stalled, user);
            return None;
        };
        let count = segments.len();
        into[..count].copy_from_slice(segments);
        buffers.ring.pop();
        if buffers.is_low() {
            buffers.watermark = 0;
            upcalls.watermark(&self.sink);
        }
        Some((posted, count))
    }

    /// Returns the next stalled queue pair, if a buffer is available.
    fn next_stalled(&self) -> Option<Arc<dyn Resume>> {
        let mut buffers = self.buffers.lock();
        if buffers.ring.is_empty() { None } else { buffers.stalled.pop_front() }
    }
}

impl Buffers {
    fn stall(&mut self, stalled: &mut bool, user: &Arc<dyn Resume>) {
        if !*stalled {
            *stalled = true;
            self.stalled.push_back(Arc::clone(user));
        }
    }

    fn is_low(&self) -> bool {
        (self.ring.len() as u64) < u64::from(self.watermark)
    }
}

impl SharedReceiveQueue for SrqHandle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut buffers = self.0.buffers.lock();
        if !buffers.credits.try_take() {
            return Err(no_credit());
        }
        if buffers.ring.push(PostedReceive::new(receive), receive.segments).is_err() {
            buffers.credits.give_back();
            return Err(no_memory());
        }
        drop(buffers);
        // The resumed queue pair may not need the buffer; then the next one gets it.
        while let Some(stalled) = self.0.next_stalled() {
            stalled.resume();
        }
        Ok(())
    }

    fn resize(&self, max_receives: u32) -> Result<()> {
        let mut buffers = self.0.buffers.lock();
        let used = buffers.credits.in_use();
        if used > max_receives {
            return Err(Error::new(ReturnType::InvalidState, Subtype::InvalidStateSrqInUse)
                .because(format!(
                    "{used} buffers are outstanding, more than the new limit of {max_receives}"
                )));
        }
        if !buffers.ring.reallocate(max_receives, self.0.max_segments) {
            return Err(no_memory());
        }
        buffers.credits.resize(max_receives);
        Ok(())
    }

    fn counts(&self) -> (u32, u32) {
        let buffers = self.0.buffers.lock();
        (u32::try_from(buffers.ring.len()).unwrap_or(u32::MAX), buffers.credits.in_use())
    }

    fn arm_low_watermark(&self, watermark: u32) {
        let mut buffers = self.0.buffers.lock();
        buffers.watermark = watermark;
        let low = buffers.is_low();
        if low {
            buffers.watermark = 0;
        }
        drop(buffers);
        if low {
            self.0.sink.low_watermark_reached();
        }
    }
}
