//! Where finished operations go, and the room that they free.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::provider::{Completion, CompletionFeatures, CompletionQueue};
use dat_core::{Error, Subtype};

use crate::completion_queue::{Handle, Queue};
use crate::errors::foreign;
use crate::shared_receive::Shared;

/// How many operations of a work queue were polled or dropped, ever, modulo 2^32.
#[derive(Default)]
pub(crate) struct Credits(AtomicU32);

impl Credits {
    #[inline]
    pub(crate) fn release(&self, count: u32) {
        // Release: what the poller read comes before the next use of the room.
        self.0.fetch_add(count, Ordering::Release);
    }
}

/// The room of a work queue: operations posted and not yet polled.
pub(crate) struct Room {
    /// How many were posted, ever, modulo 2^32; the lock of the queue guards it.
    posted: u32,
    pub(crate) max: u32,
    pub(crate) credits: Arc<Credits>,
}

impl Room {
    pub(crate) fn new(max: u32) -> Self {
        Self { posted: 0, max, credits: Arc::default() }
    }

    #[inline]
    pub(crate) fn used(&self) -> u32 {
        self.posted.wrapping_sub(self.credits.0.load(Ordering::Acquire))
    }

    /// Takes room for one operation, if there is any.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        let free = self.used() < self.max;
        self.posted = self.posted.wrapping_add(u32::from(free));
        free
    }

    /// Takes back the last `take`, whose operation was not posted after all.
    pub(crate) fn undo(&mut self) {
        self.posted = self.posted.wrapping_sub(1);
    }
}

/// Where one work queue of a queue pair completes.
pub(crate) struct Outlet {
    tag: u64,
    credits: Arc<Credits>,
    queue: Option<Arc<Queue>>,
    /// What the queue knows the credits by.
    source: usize,
}

impl Outlet {
    /// The outlet to a completion queue of the contract; `subtype` says which argument it is.
    pub(crate) fn new(
        tag: u64,
        credits: Arc<Credits>,
        queue: Option<&dyn CompletionQueue>,
        subtype: Subtype,
    ) -> Result<Arc<Self>, Error> {
        let queue = match queue {
            None => None,
            Some(queue) => match queue.as_any().downcast_ref::<Handle>() {
                Some(handle) => Some(Arc::clone(&handle.0)),
                None => return Err(foreign("completion queue", subtype)),
            },
        };
        let source = queue.as_ref().map_or(0, |queue| queue.attach(Arc::clone(&credits)));
        Ok(Arc::new(Self { tag, credits, queue, source }))
    }

    /// Reports a finished operation; the outlet sets the tag.
    #[inline]
    pub(crate) fn complete(
        &self,
        completion: Completion,
        features: CompletionFeatures,
        upcall: &mut Upcall,
    ) {
        match &self.queue {
            Some(queue) => {
                let completion = Completion { tag: self.tag, ..completion };
                queue.push(self.source, completion, features, upcall);
            }
            None => self.skip(),
        }
    }

    /// Frees the room of an operation that is not reported.
    #[inline]
    pub(crate) fn skip(&self) {
        self.credits.release(1);
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.detach(self.source);
        }
    }
}

/// What a completion queue must be told once the locks are released.
#[derive(Default)]
pub(crate) struct Upcall {
    queue: Option<Arc<Queue>>,
    ready: bool,
    overflow: bool,
}

impl Upcall {
    pub(crate) fn ready(&mut self, queue: &Arc<Queue>) {
        self.ready = true;
        self.queue.get_or_insert_with(|| Arc::clone(queue));
    }

    pub(crate) fn overflow(&mut self, queue: &Arc<Queue>) {
        self.overflow = true;
        self.queue.get_or_insert_with(|| Arc::clone(queue));
    }
}

/// The upcalls that the work on one direction calls for; kept until the locks are released.
#[derive(Default)]
#[must_use]
pub(crate) struct Upcalls {
    /// The completion queue of the requester.
    pub(crate) requests: Upcall,
    /// The completion queue of the responder.
    pub(crate) receives: Upcall,
    /// The shared receive queue that fell below its watermark.
    pub(crate) watermark: Option<Arc<Shared>>,
}

impl Upcalls {
    #[inline]
    pub(crate) fn deliver(self) {
        for upcall in [self.requests, self.receives] {
            if let Some(queue) = upcall.queue {
                queue.report(upcall.ready, upcall.overflow);
            }
        }
        if let Some(shared) = self.watermark {
            shared.report_watermark();
        }
    }
}
