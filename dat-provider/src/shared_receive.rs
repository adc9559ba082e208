//! Shared receive queues.

use std::any::Any;

use super::ReceiveRequest;
use crate::error::Result;

/// How large a shared receive queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedReceiveLimits {
    /// Buffers that may be outstanding.
    pub max_receives: u32,
    /// Segments of one buffer.
    pub max_segments: u32,
}

/// A queue of receive buffers that several queue pairs take from.
pub trait SharedReceiveQueue: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;

    /// Adds a buffer.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when `max_receives` buffers are outstanding.
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()>;

    /// Changes how many buffers may be outstanding; none is lost.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` when more are outstanding, `DAT_INSUFFICIENT_RESOURCES` when the
    /// device has no queue that long.
    fn resize(&self, max_receives: u32) -> Result<()>;

    /// Buffers on the queue, and buffers outstanding: on the queue, at a queue pair, or
    /// completed and not yet polled.
    fn counts(&self) -> (u32, u32);

    /// Asks for one upcall when fewer than `watermark` buffers are on the queue; 0 for none.
    /// When that is so already, the upcall is made at once.
    fn arm_low_watermark(&self, watermark: u32);
}

/// Where a shared receive queue reports.
pub trait SharedReceiveSink: Send + Sync {
    /// The number of buffers fell below the watermark that was armed.
    fn low_watermark_reached(&self);
}
