//! A work queue: the posts that have not completed, and the queue credits.
//!
//! A device completion identifies a request only by its identifier, and if it failed no other field
//! is valid. So cookie, operation and flags are kept here, in a ring. The poster fills a slot under
//! its own lock ([`Posts`]); the thread that takes completions frees it and advances the head, under
//! the lock of the completion queue ([`WorkQueue`]). No lock is shared by both.

mod posts;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use posts::Posts;
pub(crate) use slots::Record;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dat_provider::Failure;
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{Completion, CompletionFeatures};
use dat_sync::Mutex;

use slots::Slots;

/// A post that completed as a plain success: a send, RDMA write, RDMA read or receive.
pub(crate) struct Succeeded {
    pub(crate) cookie: u64,
    /// Number of bytes posted, or received.
    pub(crate) length: u32,
    /// The number of the operation.
    pub(crate) operation: u32,
}

/// The side of a work queue that the thread that takes completions uses. Functions that say nothing
/// else are called with the lock of the completion queue held.
#[repr(C)]
pub(crate) struct WorkQueue {
    /// Returned in completions.
    pub(crate) tag: u64,
    slots: Slots,
    /// The sequence number of the oldest post that has not completed.
    head: AtomicU32,
    /// Number of completions not polled yet, less the number of outstanding internal posts; modulo
    /// 2^32. The number of outstanding posts plus this is the number of queue credits that the
    /// consumer's posts occupy.
    unpolled: AtomicU32,
    /// The key of the endpoint to which failures are reported.
    pub(crate) owner: u64,
    /// True if a failure was reported; reset for each connection.
    pub(crate) failure_reported: AtomicBool,
    /// The first failure that was not a flush; cleared for each connection.
    failure: Mutex<Option<Failure>>,
}

/// The result of a completed post: its completion, and how it notifies.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    pub(crate) completion: Completion,
    pub(crate) features: CompletionFeatures,
}

impl WorkQueue {
    /// Creates a work queue for `max` posts of the consumer and `internal` posts of the provider.
    /// `None` if there is no memory for them.
    pub(crate) fn create(tag: u64, owner: u64, max: u32, internal: u32) -> Option<Posts> {
        let slots = Slots::new(max.saturating_add(internal))?;
        let work_queue = Self {
            tag,
            slots: slots.clone(),
            head: AtomicU32::new(0),
            unpolled: AtomicU32::new(0),
            owner,
            failure_reported: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        Some(Posts::new(slots, max, Arc::new(work_queue)))
    }

    /// Clears the failure state for a new connection, from any thread.
    pub(crate) fn begin_connection(&self) {
        self.failure_reported.store(false, Ordering::Relaxed);
        *self.failure.lock() = None;
    }

    /// Records a failure if it is the first and not a flush.
    #[cold]
    pub(crate) fn remember(&self, failed: &Completion, cause: impl FnOnce() -> String) {
        let mut first = self.failure.lock();
        if first.is_none() {
            *first = Failure::from_completion(failed, cause);
        }
    }

    /// The failure that was [recorded](Self::remember), for any thread.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    /// Returns the queue credit of a post when its completion is polled.
    #[inline]
    pub(crate) fn release(&self) {
        self.unpolled.fetch_sub(1, Ordering::Release);
    }

    /// The poster recorded an internal post, which occupies a slot but no credit.
    fn internal_posted(&self) {
        self.unpolled.fetch_sub(1, Ordering::Relaxed);
    }

    /// The poster removed an internal post.
    fn internal_removed(&self) {
        self.unpolled.fetch_add(1, Ordering::Relaxed);
    }

    /// The value of `unpolled`, for any thread.
    fn unpolled(&self) -> u32 {
        self.unpolled.load(Ordering::Relaxed)
    }

    /// The sequence number of the oldest post that has not completed, for any thread.
    fn head(&self) -> u32 {
        // Acquire: the slots that completions freed have been read.
        self.head.load(Ordering::Acquire)
    }

    /// Returns true if every post before that sequence number has completed, for any thread.
    pub(crate) fn has_reached(&self, number: u32) -> bool {
        self.head().wrapping_sub(number) as i32 >= 0
    }

    /// The sequence number of the oldest post before `end` that has not completed, for any thread.
    pub(crate) fn oldest_before(&self, end: u32) -> Option<u32> {
        let head = self.head();
        ((head.wrapping_sub(end) as i32) < 0).then_some(head)
    }

    /// Number of the consumer's posts before `end` that have not completed, for any thread.
    pub(crate) fn pending_of_consumer(&self, end: u32) -> u32 {
        let Some(head) = self.oldest_before(end) else { return 0 };
        let numbers = (0..end.wrapping_sub(head)).map(|at| head.wrapping_add(at));
        let posts = numbers.filter_map(|number| self.slots.read(number));
        posts.filter(|post| !post.internal).count() as u32
    }

    /// Number of completions that the consumer has not taken, of the posts before `end`, for any thread.
    pub(crate) fn untaken_before(&self, end: u32) -> u32 {
        let head = self.oldest_before(end).unwrap_or(end);
        let numbers = (0..end.wrapping_sub(head)).map(|at| head.wrapping_add(at));
        let posts = numbers.filter_map(|number| self.slots.read(number));
        let internal = posts.filter(|post| post.internal).count() as u32;
        // Other threads change both numbers meanwhile.
        let untaken = self.unpolled().wrapping_add(internal) as i32;
        untaken.max(0) as u32
    }

    /// The data of an outstanding post, for any thread that knows that it is outstanding.
    pub(crate) fn read(&self, number: u32) -> Option<Record> {
        self.slots.read(number)
    }

    /// Completes the post if it is the oldest outstanding one and a plain success, and returns its
    /// queue credit; `received` is the length of a receive. The completion has been polled.
    #[inline(always)]
    pub(crate) fn succeed(&self, number: u32, received: u32) -> Option<Succeeded> {
        if number != self.head.load(Ordering::Relaxed) {
            return None;
        }
        let traits = self.slots.traits(number);
        if !traits.is_plain() {
            return None;
        }
        let (cookie, posted) = self.slots.cookie_and_length(number);
        let operation = traits.number();
        let length = if operation == Operation::Receive as u32 { received } else { posted };
        self.slots.free(number);
        self.head.store(number.wrapping_add(1), Ordering::Release);
        Some(Succeeded { cookie, length, operation })
    }

    /// Completes the post with that sequence number and all earlier suppressed ones. Returns what
    /// to report; `None` for an internal or suppressed post, or one that is not outstanding.
    pub(crate) fn complete(&self, number: u32, status: DtoStatus) -> Option<Done> {
        let head = self.head.load(Ordering::Relaxed);
        let ahead = number.wrapping_sub(head);
        if ahead >= self.slots.count() {
            return None;
        }
        let record = self.slots.take(number)?;
        let internal = (0..ahead)
            .filter_map(|at| self.slots.take(head.wrapping_add(at)))
            .filter(|earlier| earlier.internal)
            .count() as u32;
        let failed = !matches!(status, DtoStatus::Success);
        let quiet = !failed && record.flags.contains(CompletionFlags::SUPPRESS);
        let reported = !record.internal && !quiet;
        self.pass(number, internal + u32::from(record.internal || reported));
        reported.then(|| self.done(&record, status))
    }

    /// Retires every post up to and including `number`. `unpolled` of them still occupy queue
    /// credits until they are polled, or occupied none because they were internal.
    fn pass(&self, number: u32, unpolled: u32) {
        // Before the head moves: a poster may briefly see too few free credits, but never too many.
        self.unpolled.fetch_add(unpolled, Ordering::Relaxed);
        self.head.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest outstanding post as flushed.
    pub(crate) fn flush_one(&self) -> Option<Done> {
        loop {
            let head = self.head.load(Ordering::Relaxed);
            let record = self.slots.take(head)?;
            self.pass(head, 1);
            if !record.internal {
                return Some(self.done(&record, DtoStatus::Flushed));
            }
        }
    }

    fn done(&self, record: &Record, status: DtoStatus) -> Done {
        let failed = !matches!(status, DtoStatus::Success);
        Done {
            completion: Completion {
                tag: self.tag,
                cookie: record.cookie,
                length: if failed { 0 } else { record.length.into() },
                extra: record.extra,
                operation: record.operation,
                status,
            },
            features: CompletionFeatures {
                unsignalled: record.flags.contains(CompletionFlags::UNSIGNALLED),
                solicited: false,
                failed,
            },
        }
    }
}
