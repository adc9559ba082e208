//! Shared receive queues.

use super::{Downcast, ReceiveRequest, unsupported};
use crate::error::Result;

/// The capacity of a shared receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedReceiveLimits {
    /// Maximum number of outstanding buffers.
    pub max_receives: u32,
    /// Maximum number of segments of one buffer.
    pub max_segments: u32,
}

/// A queue of receive buffers that several queue pairs take from.
pub trait SharedReceiveQueue: Downcast {
    /// Adds a buffer.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if `max_receives` buffers are outstanding.
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()>;

    /// Changes the maximum number of outstanding buffers; none is lost.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` if more are outstanding, `DAT_INSUFFICIENT_RESOURCES` if the device has
    /// no queue that long, `DAT_MODEL_NOT_SUPPORTED` if the provider cannot resize one (the
    /// default).
    fn resize(&self, _max_receives: u32) -> Result<()> {
        Err(unsupported("resizing of a shared receive queue"))
    }

    /// Number of buffers on the queue, and number of buffers outstanding: on the queue, at a queue
    /// pair, or completed and not yet polled.
    fn counts(&self) -> (u32, u32);

    /// Requests one upcall when fewer than `watermark` buffers are on the queue; 0 for none. If
    /// that is already so, the upcall is made at once. Called only if the provider has
    /// `srq_watermarks_supported`; the default does nothing.
    fn arm_low_watermark(&self, _watermark: u32) {}
}

/// Receives the upcall of a shared receive queue.
pub trait SharedReceiveSink: Send + Sync {
    /// The number of buffers fell below the watermark that was armed.
    fn low_watermark_reached(&self);
}
