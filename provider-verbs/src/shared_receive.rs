//! Shared receive queues.

use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{
    AsyncUpcall, Completion, CompletionFeatures, ProtectionDomain, ReceiveRequest,
    SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
};
use dat_provider_kit::errors::{foreign_object, no_credit};
use dat_sync::Mutex;

use crate::completion_queue::shared_identifier;
use crate::device::Device;
use crate::domain;
use crate::engine::{InstanceEvents, QueueEvents, SharedReceiveEvents, Target};
use crate::errors::{exhausted, internal};
use crate::segments;
use crate::verbs::{self, Unrecorded};
use crate::work_queue::Done;

pub(crate) struct Shared {
    device: Arc<Device>,
    key: u64,
    pub(crate) hardware: Arc<verbs::SharedReceiveQueue>,
    places: Mutex<Places>,
    /// The completion queues of the queue pairs that use it.
    served: Mutex<Vec<Weak<dyn QueueEvents>>>,
    sink: Arc<dyn SharedReceiveSink>,
}

/// The buffers, by the slot that their identifier names.
#[derive(Default)]
struct Places {
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    max: u32,
    /// The size with which the device's queue was created.
    made: u32,
    /// Number of buffers on the queue.
    queued: u32,
    /// Number of buffers posted and not polled.
    outstanding: u32,
    /// The armed watermark, or 0.
    watermark: u32,
}

impl Places {
    /// Fills a free slot with a buffer; there may be none, but then there is memory for one more, and for the end of
    /// each buffer.
    fn fill(&mut self, buffer: Buffer) -> Result<u32> {
        if let Some(place) = self.free.pop() {
            if let Some(slot) = self.buffers.get_mut(place as usize) {
                *slot = buffer;
            }
            return Ok(place);
        }
        let place = u32::try_from(self.buffers.len()).map_err(|_| no_room())?;
        self.buffers.try_reserve(1).map_err(|_| no_room())?;
        self.free.try_reserve(self.buffers.len() + 1).map_err(|_| no_room())?;
        self.buffers.push(buffer);
        Ok(place)
    }

    /// Frees the slot of a posted buffer, and returns the buffer.
    fn free(&mut self, place: u32) -> Option<Buffer> {
        let buffer = self.buffers.get_mut(place as usize)?;
        if !std::mem::take(&mut buffer.posted) {
            return None;
        }
        let buffer = *buffer;
        self.free.push(place);
        Some(buffer)
    }
}

/// There is no memory for the buffers that a queue may have.
fn no_room() -> Error {
    Error::no_memory("the buffers of the shared receive queue")
}

#[derive(Clone, Copy, Default)]
struct Buffer {
    cookie: u64,
    flags: CompletionFlags,
    posted: bool,
}

struct SharedReceiveHandle(Arc<Shared>);

pub(crate) fn create(
    device: &Arc<Device>,
    domain: &dyn ProtectionDomain,
    limits: SharedReceiveLimits,
    sink: Arc<dyn SharedReceiveSink>,
) -> Result<Arc<dyn SharedReceiveQueue>> {
    let domain = domain::find(domain)?;
    let key = device.engine.fresh_key();
    let hardware = verbs::SharedReceiveQueue::new(
        &domain.hardware,
        limits.max_receives,
        limits.max_segments.max(1),
        key,
    )
    .map_err(|failure| exhausted(failure, Subtype::ResourceSrq, "shared receive queue"))?;
    let max = limits.max_receives;
    let places = Places { max, made: max, ..Places::default() };
    let shared = Arc::new_cyclic(|me: &Weak<Shared>| {
        device.engine.register(key, Target::SharedReceive(me.clone()));
        let (device, places) = (Arc::clone(device), Mutex::new(places));
        Shared { device, key, hardware, places, served: Mutex::default(), sink }
    });
    Ok(Arc::new(SharedReceiveHandle(shared)))
}

/// The queue of a contract object.
pub(crate) fn find(queue: &dyn SharedReceiveQueue) -> Result<Arc<Shared>> {
    match queue.as_any().downcast_ref::<SharedReceiveHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("shared receive queue", Subtype::InvalidHandleSrq)),
    }
}

impl Shared {
    /// Completes the buffer in a slot, on the queue pair with that tag.
    pub(crate) fn complete(&self, place: u32, tag: u64, status: DtoStatus) -> Option<Done> {
        let mut places = self.places.lock();
        let Buffer { cookie, flags, .. } = places.free(place)?;
        places.queued -= 1;
        let failed = status != DtoStatus::Success;
        let completion = Completion {
            tag,
            cookie,
            operation: Operation::Receive,
            status,
            ..Completion::default()
        };
        let unsignalled = flags.contains(CompletionFlags::UNSIGNALLED);
        Some(Done {
            completion,
            features: CompletionFeatures { unsignalled, solicited: false, failed },
        })
    }

    /// Adds the completion queue of a queue pair that uses the shared queue.
    pub(crate) fn serve(&self, queue: Weak<dyn QueueEvents>) {
        let mut served = self.served.lock();
        served.retain(|one| one.strong_count() > 0 && !one.ptr_eq(&queue));
        served.push(queue);
    }

    /// Maximum number of outstanding buffers.
    pub(crate) fn max(&self) -> u32 {
        self.places.lock().max
    }

    /// The completion of one of its buffers was polled.
    pub(crate) fn release(&self) {
        self.places.lock().outstanding -= 1;
    }
}

impl SharedReceiveEvents for Shared {
    fn limit_reached(&self) {
        if std::mem::take(&mut self.places.lock().watermark) != 0 {
            self.sink.low_watermark_reached();
        }
    }

    fn failed(&self) {
        self.device.report(AsyncUpcall::ProviderInternal);
    }
}

impl SharedReceiveQueue for SharedReceiveHandle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let shared = &*self.0;
        let mut places = shared.places.lock();
        if places.outstanding >= places.max {
            return Err(no_credit());
        }
        let buffer = Buffer { cookie: receive.cookie, flags: receive.flags, posted: true };
        let place = places.fill(buffer)?;
        let posted = segments::with(receive.segments, |segments| {
            shared.hardware.post_receive(shared_identifier(place), Unrecorded::new(segments))
        });
        if let Err(failure) = posted {
            places.free(place);
            return Err(match failure.errno {
                libc::ENOMEM => no_credit(),
                _ => internal(failure, "cannot post the receive"),
            });
        }
        places.queued += 1;
        places.outstanding += 1;
        Ok(())
    }

    fn resize(&self, max_receives: u32) -> Result<()> {
        let shared = &*self.0;
        let mut places = shared.places.lock();
        if places.outstanding > max_receives {
            return Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype).because(format!(
                "{} buffers are outstanding, more than the new limit of {max_receives}",
                places.outstanding
            )));
        }
        let resized = shared.hardware.resize(max_receives);
        // A queue that the device made larger than requested is fine too.
        resized.or_else(|failure| match max_receives <= places.made {
            true => Ok(()),
            false => Err(exhausted(failure, Subtype::ResourceSrq, "queue of that length")),
        })?;
        places.max = max_receives;
        places.made = places.made.max(max_receives);
        Ok(())
    }

    fn counts(&self) -> (u32, u32) {
        // Only the completion queues know what has arrived.
        let served: Vec<_> = self.0.served.lock().iter().filter_map(Weak::upgrade).collect();
        for queue in served {
            queue.collect_quietly();
        }
        let places = self.0.places.lock();
        (places.queued, places.outstanding)
    }

    fn arm_low_watermark(&self, watermark: u32) {
        let shared = &*self.0;
        let reached = {
            let mut places = shared.places.lock();
            let reached = places.queued < watermark;
            places.watermark = if reached { 0 } else { watermark };
            // If the device cannot report the watermark, that upcall is never made, without further
            // harm.
            let _ = shared.hardware.set_limit(places.watermark);
            reached
        };
        if reached {
            shared.sink.low_watermark_reached();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.device.engine.forget(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_has_a_slot_of_its_own_and_space_for_its_end() {
        let mut places = Places::default();
        let buffer = |cookie| Buffer { cookie, posted: true, ..Buffer::default() };
        for number in 0..100 {
            assert_eq!(places.fill(buffer(number)).expect("memory"), number as u32);
            assert!(places.free.capacity() >= places.buffers.len());
        }
        assert_eq!(places.free(7).expect("posted").cookie, 7);
        assert!(places.free(7).is_none(), "it is free already");
        assert!(places.free(100).is_none(), "a device may name any slot");
        assert_eq!(places.fill(buffer(200)).expect("memory"), 7, "free slots are used first");
        assert_eq!(places.free(7).expect("posted").cookie, 200);
    }
}
