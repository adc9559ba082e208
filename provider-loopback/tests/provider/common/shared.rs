//! A shared receive queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Setup, World};
use dat_core::Result;
use dat_core::flags::CompletionFlags;
use dat_core::provider::{
    Epoch, ProtectionDomain, ReceiveRequest, Segment, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink,
};

/// Counts the upcalls of a shared receive queue.
#[derive(Default)]
struct Low(AtomicU32);

impl SharedReceiveSink for Low {
    fn low_watermark_reached(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A shared receive queue with the counter of its upcalls.
pub(crate) struct Shared {
    pub(crate) queue: Arc<dyn SharedReceiveQueue>,
    low: Arc<Low>,
}

impl Shared {
    pub(crate) fn new(world: &World, max_receives: u32) -> Self {
        Self::in_domain(world, &world.domain, max_receives)
    }

    pub(crate) fn in_domain(
        world: &World,
        domain: &Arc<dyn ProtectionDomain>,
        max_receives: u32,
    ) -> Self {
        let low = Arc::new(Low::default());
        let limits = SharedReceiveLimits { max_receives, max_segments: 2 };
        let sink = Arc::clone(&low) as Arc<dyn SharedReceiveSink>;
        let queue =
            world.adapter.create_shared_receive_queue(Arc::clone(domain), limits, sink).unwrap();
        Self { queue, low }
    }

    pub(crate) fn post(&self, cookie: u64, segments: &[Segment]) -> Result<()> {
        let (flags, checked) = (CompletionFlags::empty(), Epoch::default());
        self.queue.post_receive(&ReceiveRequest { segments, cookie, flags, checked })
    }

    /// The options of a side that takes its receives from the queue.
    pub(crate) fn setup(&self) -> Setup {
        Setup { shared: Some(Arc::clone(&self.queue)), ..Setup::default() }
    }

    pub(crate) fn watermark_upcalls(&self) -> u32 {
        self.low.0.load(Ordering::Relaxed)
    }
}
