//! The layer's shared receive queues.

use std::sync::Arc;

use super::call::Call;
use super::hooks::{Hooks, Layer};
use super::object::Object;
use dat_provider::error::Result;
use dat_provider::{ReceiveRequest, SharedReceiveQueue, SharedReceiveSink};

pub(super) struct SharedReceives<H> {
    pub(super) inner: Arc<dyn SharedReceiveQueue>,
    pub(super) layer: Arc<Layer<H>>,
    pub(super) object: Object,
}

impl<H: Hooks> SharedReceiveQueue for SharedReceives<H> {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let call = Call::PostReceive(receive);
        self.layer.call(self.object, &call, || self.inner.post_receive(receive))
    }

    fn resize(&self, max_receives: u32) -> Result<()> {
        let call = Call::Resize { depth: max_receives.into() };
        self.layer.call(self.object, &call, || self.inner.resize(max_receives))
    }

    fn counts(&self) -> (u32, u32) {
        self.inner.counts()
    }

    fn arm_low_watermark(&self, watermark: u32) {
        self.inner.arm_low_watermark(watermark);
        self.layer.note(self.object, &Call::ArmLowWatermark { watermark });
    }
}

/// Forwards the upcall of a shared receive queue.
pub(super) struct WatermarkSink<H> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) object: Object,
    pub(super) outer: Arc<dyn SharedReceiveSink>,
}

impl<H: Hooks> SharedReceiveSink for WatermarkSink<H> {
    fn low_watermark_reached(&self) {
        self.layer.note(self.object, &Call::LowWatermark);
        self.outer.low_watermark_reached();
    }
}
