//! Srq receive queues: buffers that several queue pairs take in turn.

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
    /// The domain of its buffers.
    pub domain: Arc<Domain>,
    /// The most segments of a buffer.
    pub max_segments: u32,
    buffers: BiasedLock<Buffers>,
    sink: Arc<dyn SharedReceiveSink>,
}

/// A queue pair whose peer waits for a buffer.
pub trait Resume: Send + Sync {
    /// There is a buffer: goes on with what the peer sent. It may want the buffer no longer.
    fn resume(&self);
}

struct Buffers {
    ring: Ring<PostedReceive>,
    credits: QueueCredits,
    /// 0 if none is armed.
    watermark: u32,
    /// Cq pairs whose peer waits for a buffer, each once, in the order of their coming.
    stalled: VecDeque<Arc<dyn Resume>>,
}

struct SrqHandle(Arc<Srq>);

/// Makes a shared receive queue in a domain.
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

/// The queue behind a handle of the contract.
pub fn downcast(queue: &dyn SharedReceiveQueue) -> Result<Arc<Srq>> {
    match queue.as_any().downcast_ref::<SrqHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("shared receive queue", Subtype::InvalidHandleSrq)),
    }
}

impl Srq {
    /// Takes up one more queue pair, whose receives complete at that queue; what the queue knows
    /// them by.
    pub fn attach(&self, queue: &Arc<Cq>) -> u32 {
        let mut buffers = self.buffers.lock();
        // So that no take has to.
        buffers.stalled.reserve(1);
        buffers.credits.attach_shared(queue)
    }

    /// The end of [`attach`](Self::attach).
    pub fn detach(&self, queue: &Arc<Cq>) {
        let over: Vec<Attachment> = self.buffers.lock().credits.detach_shared(queue);
        drop(over);
    }

    /// Whether there is a buffer now; if not, notes that `user` wants the next one.
    pub fn has_buffer(&self, stalled: &mut bool, user: &Arc<dyn Resume>) -> bool {
        let mut buffers = self.buffers.lock();
        if buffers.ring.is_empty() {
            buffers.stall(stalled, user);
            return false;
        }
        true
    }

    /// Takes the oldest buffer, its segments into the slice, or notes that `user` wants the next one.
    pub fn take(
        self: &Arc<Self>,
        into: &mut [Segment],
        stalled: &mut bool,
        user: &Arc<dyn Resume>,
        upcalls: &mut Upcalls,
    ) -> Option<(PostedReceive, usize)> {
        let mut buffers = self.buffers.lock();
        let Some((&posted, segments)) = buffers.ring.front() else {
            // Another queue pair took it since it was seen.
            buffers.stall(stalled, user);
            return None;
        };
        let count = segments.len();
        into[..count].copy_from_slice(segments);
        buffers.ring.pop();
        if buffers.is_low() {
            buffers.watermark = 0;
            upcalls.watermark(self);
        }
        Some((posted, count))
    }

    /// The next queue pair to go on, if there is a buffer for it.
    fn next_stalled(&self) -> Option<Arc<dyn Resume>> {
        let mut buffers = self.buffers.lock();
        if buffers.ring.is_empty() { None } else { buffers.stalled.pop_front() }
    }

    /// Makes the upcall for the watermark; no lock may be held.
    pub fn report_watermark(&self) {
        self.sink.low_watermark_reached();
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
            return Err(no_credit());
        }
        drop(buffers);
        // One that was waiting may want the buffer no more, then the next may.
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
                    "{used} buffers are outstanding, more than the new limit of \
                     {max_receives}"
                )));
        }
        buffers.ring.reallocate(max_receives, self.0.max_segments);
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
            self.0.report_watermark();
        }
    }
}
