//! Shared receive queues.

use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{
    AsyncUpcall, Completion, CompletionFeatures, ProtectionDomain, ReceiveRequest,
    SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
};
use dat_core::{DtoStatus, Operation};
use dat_provider_kit::errors::{foreign_object, no_credit};
use dat_sync::Mutex;

use crate::completion_queue::shared_identifier;
use crate::device::Device;
use crate::domain;
use crate::engine::{InstanceEvents, QueueEvents, SharedReceiveEvents, Target};
use crate::errors::{exhausted, internal};
use crate::segments;
use crate::verbs;
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
    let places = Places {
        buffers: Vec::new(),
        free: Vec::new(),
        max: limits.max_receives,
        made: limits.max_receives,
        queued: 0,
        outstanding: 0,
        watermark: 0,
    };
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
        let buffer = places.buffers.get_mut(place as usize)?;
        if !std::mem::take(&mut buffer.posted) {
            return None;
        }
        let Buffer { cookie, flags, .. } = *buffer;
        places.free.push(place);
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
        let place = match places.free.pop() {
            Some(place) => {
                places.buffers[place as usize] = buffer;
                place
            }
            None => {
                places.buffers.push(buffer);
                u32::try_from(places.buffers.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let posted = segments::with(receive.segments, |segments| {
            shared.hardware.post_receive_raw(shared_identifier(place), segments)
        });
        if let Err(failure) = posted {
            places.buffers[place as usize].posted = false;
            places.free.push(place);
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
