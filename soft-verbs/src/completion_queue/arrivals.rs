//! The part of a completion queue that arrivals use.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_provider::CompletionSink;
use dat_sync::{Mutex, SwapWord};

use crate::async_event::{AsyncElement, AsyncEventType};
use crate::channel::CompletionChannel;
use crate::context::Context;
use crate::work_completion::WorkCompletion;

/// No completion makes an event.
pub(super) const NOTHING: u8 = 0;
/// The next completion makes an event.
pub(super) const ANY: u8 = 1;
/// The next completion that is solicited or has failed makes an event.
pub(super) const SOLICITED: u8 = 2;

/// The part of a completion queue that arrivals use.
pub(super) struct Arrivals {
    pub(super) context: Arc<Context>,
    pub(super) channel: Option<Arc<CompletionChannel>>,
    pub(super) user: AtomicU64,
    /// The next completion that makes an event: [`NOTHING`], [`ANY`] or [`SOLICITED`].
    pub(super) armed: SwapWord,
    pub(super) has_overflowed: AtomicBool,
    /// Completions of this crate, and whether there are any.
    pub(super) own: Mutex<VecDeque<WorkCompletion>>,
    pub(super) has_own: AtomicBool,
}

impl Arrivals {
    /// A completion has arrived that makes an event, if one is requested.
    pub(super) fn notify(&self) {
        if self.armed.swap(NOTHING) != NOTHING {
            if let Some(channel) = &self.channel {
                channel.push(self.user.load(Ordering::Relaxed));
            }
        }
    }
}

impl CompletionSink for Arrivals {
    fn completion_ready(&self) {
        self.notify();
    }

    fn completion_overflow(&self) {
        if !self.has_overflowed.swap(true, Ordering::AcqRel) {
            let element = AsyncElement::CompletionQueue(self.user.load(Ordering::Relaxed));
            self.context.async_events().push(AsyncEventType::CompletionQueueError, element);
        }
    }
}
