//! Where finished operations go, and the room that they free.

use std::sync::Arc;

use dat_core::provider::{Completion, CompletionFeatures, CompletionQueue};
use dat_core::{Error, Operation, Subtype};

use crate::completion_queue::{Handle, Queue};
use crate::completion_ring::Plain;
use crate::errors::foreign;
use crate::shared_receive::Shared;
use crate::sync::atomic::{AtomicU32, Ordering};

/// How many operations of a work queue left through one outlet, ever, modulo 2^32.
#[derive(Default)]
pub(crate) struct Credits {
    /// Those that were polled. Written by the poller of one completion queue, unless shared.
    polled: AtomicU32,
    /// Those that nobody will poll.
    dropped: AtomicU32,
    /// Several completion queues release them.
    shared: bool,
}

impl Credits {
    /// Credits that several completion queues release.
    pub(crate) fn shared() -> Arc<Self> {
        Arc::new(Self { shared: true, ..Self::default() })
    }

    /// An operation was polled.
    #[inline]
    pub(crate) fn release(&self) {
        // Release: what the poller read comes before the next use of the room.
        if self.shared {
            self.polled.fetch_add(1, Ordering::Release);
        } else {
            let polled = self.polled.load(Ordering::Relaxed);
            self.polled.store(polled.wrapping_add(1), Ordering::Release);
        }
    }

    /// An operation ended that nobody will poll.
    pub(crate) fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Release);
    }

    fn released(&self) -> u32 {
        let dropped = self.dropped.load(Ordering::Acquire);
        self.polled.load(Ordering::Acquire).wrapping_add(dropped)
    }
}

/// The room of a work queue: operations posted and not yet polled. The lock of the queue
/// guards it. In the order of its use.
#[repr(C)]
pub(crate) struct Room {
    /// How many were posted, ever, modulo 2^32.
    posted: u32,
    /// Up to which there is room; more may have been released since.
    limit: u32,
    max: u32,
    /// What left through outlets that are gone.
    before: u32,
    /// The outlet that operations leave by; absent where nobody will hear of any.
    now: Option<Arc<Credits>>,
    /// Those that they left by before: mostly none.
    former: Option<Box<Former>>,
}

#[derive(Default)]
struct Former(Vec<Arc<Credits>>);

impl Former {
    /// Adds up what is over, and what is not.
    #[cold]
    fn released(&mut self, over: &mut u32) -> u32 {
        self.0.retain_mut(|credits| match Arc::get_mut(credits) {
            // Neither an outlet nor a poller has it any more.
            Some(last) => {
                *over = over.wrapping_add(last.released());
                false
            }
            None => true,
        });
        self.0.iter().map(|credits| credits.released()).fold(0, u32::wrapping_add)
    }
}

impl Room {
    pub(crate) fn new(max: u32) -> Self {
        Self { posted: 0, limit: max, max, before: 0, now: None, former: None }
    }

    /// As [`new`](Self::new), with credits that several outlets share.
    pub(crate) fn with_credits(max: u32, credits: &Arc<Credits>) -> Self {
        Self { now: Some(Arc::clone(credits)), ..Self::new(max) }
    }

    /// The outlet that operations leave by from now on, beside those that they left by before.
    pub(crate) fn add(&mut self, credits: &Arc<Credits>) {
        if let Some(former) = self.now.replace(Arc::clone(credits)) {
            self.former.get_or_insert_default().0.push(former);
        }
    }

    fn released(&mut self) -> u32 {
        let former = self.former.as_mut().map_or(0, |former| former.released(&mut self.before));
        let now = self.now.as_ref().map_or(0, |credits| credits.released());
        self.before.wrapping_add(former).wrapping_add(now)
    }

    pub(crate) fn used(&mut self) -> u32 {
        self.posted.wrapping_sub(self.released())
    }

    pub(crate) fn max(&self) -> u32 {
        self.max
    }

    /// Changes the size; there is room for what is used.
    pub(crate) fn resize(&mut self, max: u32) {
        self.max = max;
        self.limit = self.posted;
    }

    /// Takes room for one operation, if there is any.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        let is_there = self.is_there();
        if is_there {
            self.take_seen();
        }
        is_there
    }

    /// Whether there is room for one operation.
    #[inline(always)]
    pub(crate) fn is_there(&mut self) -> bool {
        self.posted != self.limit || self.find()
    }

    /// Takes room for one operation, if there is some that is known of.
    #[inline(always)]
    pub(crate) fn take_known(&mut self) -> bool {
        let known = self.posted != self.limit;
        self.posted = self.posted.wrapping_add(u32::from(known));
        known
    }

    /// Takes room that was seen.
    #[inline(always)]
    pub(crate) fn take_seen(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self) -> bool {
        let free = self.max.saturating_sub(self.used());
        self.limit = self.posted.wrapping_add(free);
        free > 0
    }

    /// Gives back the room of the last `take`, whose operation is over or was never posted.
    #[inline]
    pub(crate) fn undo(&mut self) {
        self.posted = self.posted.wrapping_sub(1);
    }
}

/// Where one work queue of a queue pair completes: all that a completion needs, at hand. A clone
/// is the same outlet.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Outlet {
    queue: Option<Arc<Queue>>,
    tag: u64,
    /// What the queue knows the credits by.
    source: u32,
    attachment: Arc<Attachment>,
}

/// That a completion queue knows a work queue.
struct Attachment {
    credits: Arc<Credits>,
    queue: Option<Arc<Queue>>,
    source: u32,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.detach(self.source);
        }
    }
}

impl Outlet {
    /// The outlet to a completion queue of the contract; `subtype` says which argument it is.
    pub(crate) fn new(
        tag: u64,
        credits: Arc<Credits>,
        queue: Option<&dyn CompletionQueue>,
        subtype: Subtype,
    ) -> Result<Self, Error> {
        let queue = match queue {
            None => None,
            Some(queue) => match queue.as_any().downcast_ref::<Handle>() {
                Some(handle) => Some(Arc::clone(&handle.0)),
                None => return Err(foreign("completion queue", subtype)),
            },
        };
        let source = queue.as_ref().map_or(0, |queue| queue.attach(Arc::clone(&credits)));
        let attachment = Arc::new(Attachment { credits, queue: queue.clone(), source });
        Ok(Self { queue, tag, source, attachment })
    }

    /// The credits of what leaves here.
    pub(crate) fn credits(&self) -> &Arc<Credits> {
        &self.attachment.credits
    }

    /// Reports an operation that succeeded and has nothing more to say.
    #[inline(always)]
    pub(crate) fn succeed(
        &self,
        (cookie, length, operation): (u64, u64, Operation),
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        if let Some(queue) = &self.queue {
            let (tag, source) = (&self.tag, &self.source);
            let entry = || Plain { tag: *tag, cookie, length, operation, source: *source };
            if queue.push_plain(entry) {
                return;
            }
        }
        let completion = Completion { cookie, length, operation, ..Completion::default() };
        self.complete(completion, features, upcalls);
    }

    /// Reports a finished operation; the outlet sets the tag.
    #[cold]
    #[inline(never)]
    pub(crate) fn complete(
        &self,
        completion: Completion,
        features: CompletionFeatures,
        upcalls: &mut Upcalls,
    ) {
        match &self.queue {
            Some(queue) => {
                let completion = Completion { tag: self.tag, ..completion };
                queue.push(self.source, completion, features, upcalls);
            }
            None => self.skip(),
        }
    }

    /// Frees the room of an operation that is not reported.
    pub(crate) fn skip(&self) {
        self.attachment.credits.drop_one();
    }
}

/// The upcalls that some work calls for; kept until the locks are released. Mostly there are
/// none, and then it is no more than an empty word.
#[derive(Default)]
#[must_use]
pub(crate) struct Upcalls(Option<Box<Noted>>);

#[derive(Default)]
struct Noted {
    /// Completion queues, each once for every work queue that completed something.
    queues: Vec<Told>,
    /// The shared receive queue that fell below its watermark.
    watermark: Option<Arc<Shared>>,
}

/// What a completion queue must be told.
struct Told {
    queue: Arc<Queue>,
    source: u32,
    ready: bool,
    overflow: bool,
}

impl Upcalls {
    #[cold]
    pub(crate) fn ready(&mut self, queue: &Arc<Queue>, source: u32) {
        self.told(queue, source).ready = true;
    }

    #[cold]
    pub(crate) fn overflow(&mut self, queue: &Arc<Queue>, source: u32) {
        self.told(queue, source).overflow = true;
    }

    #[cold]
    pub(crate) fn watermark(&mut self, shared: &Arc<Shared>) {
        self.0.get_or_insert_with(Box::default).watermark = Some(Arc::clone(shared));
    }

    fn told(&mut self, queue: &Arc<Queue>, source: u32) -> &mut Told {
        let queues = &mut self.0.get_or_insert_with(Box::default).queues;
        let known =
            queues.iter().position(|told| told.source == source && Arc::ptr_eq(&told.queue, queue));
        let index = known.unwrap_or(queues.len());
        if index == queues.len() {
            queues.push(Told { queue: Arc::clone(queue), source, ready: false, overflow: false });
        }
        &mut queues[index]
    }

    #[inline]
    pub(crate) fn deliver(self) {
        if let Some(noted) = self.0 {
            noted.deliver();
        }
    }
}

impl Noted {
    #[cold]
    fn deliver(self) {
        for told in self.queues {
            told.queue.report(told.ready, told.overflow);
        }
        if let Some(shared) = self.watermark {
            shared.report_watermark();
        }
    }
}
