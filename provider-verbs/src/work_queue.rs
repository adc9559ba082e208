//! A work queue: the posts that have not completed, and the queue credits.
//!
//! A device completion identifies a request only by its identifier, and if it failed no other field
//! is valid. So cookie, operation and flags are kept here, in a ring. The poster writes a slot and
//! then advances the tail, under its own lock; the thread that takes completions advances the head,
//! under the lock of the completion queue. No lock is shared by both.
#![allow(unsafe_code, reason = "each post and each completion finds its place in the ring")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionFeatures};
use dat_core::{DtoStatus, Failure, Operation};
use parking_lot::Mutex;

/// The data kept for a post.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) cookie: u64,
    pub(crate) length: u64,
    /// The tag of the window, for a bind.
    pub(crate) extra: u64,
    pub(crate) operation: Operation,
    pub(crate) flags: CompletionFlags,
    /// Posted by the provider itself; its completion is not reported.
    pub(crate) internal: bool,
}

struct Place {
    cookie: AtomicU64,
    /// Length in bytes; no message exceeds the device's 32-bit length.
    length: AtomicU32,
    /// Operation, flags, and whether it is internal.
    traits: AtomicU32,
    /// Written only for a bind.
    extra: AtomicU64,
}

impl Place {
    fn new() -> Self {
        Self {
            cookie: AtomicU64::new(0),
            length: AtomicU32::new(0),
            traits: AtomicU32::new(OVER),
            extra: AtomicU64::new(0),
        }
    }
}

/// The mask of the operation in `traits`; flags begin above it.
const OPERATION: u32 = 0xf;
const FLAGS: u32 = 8;
const INTERNAL: u32 = 1 << 31;
/// The slot holds no outstanding post.
const OVER: u32 = 1 << 30;
/// Any of these keeps a post off the fast path of completion: its success is not reported, or not
/// reported as a plain success.
const UNUSUAL: u32 = INTERNAL
    | OVER
    | CompletionFlags::SUPPRESS.bits() << FLAGS
    | OPERATION & !(Operation::Receive as u32);

/// A post that completed as a plain success: a send, RDMA write, RDMA read or receive, by the
/// number of the operation.
pub(crate) struct Succeeded {
    pub(crate) cookie: u64,
    /// Number of bytes posted, or received.
    pub(crate) length: u32,
    pub(crate) operation: u32,
}

/// The sequence number of the next post, for which a slot and a queue credit are free.
pub(crate) struct Next(u32);

/// The ring of a work queue. The poster uses the first line of the processor's cache, and the thread
/// that takes completions the next: neither waits for what the other writes there.
#[repr(C)]
pub(crate) struct WorkQueue {
    posted: Posted,
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
    /// Whether a failure was reported; reset for each connection.
    pub(crate) failure_reported: AtomicBool,
    /// The first failure that was not a flush; cleared for each connection.
    failure: Mutex<Option<Failure>>,
}

/// The part of a ring that belongs to the poster, which holds its lock.
#[repr(align(64))]
struct Posted {
    slots: Slots,
    /// The sequence number of the next post; sequence numbers wrap around the ring.
    tail: AtomicU32,
    /// The sequence number before which posts of the consumer need not check for a free slot and a
    /// queue credit; never before `tail`. Only the poster reads it.
    until: AtomicU32,
    /// Maximum number of posts of the consumer.
    max: u32,
}

/// The slots of a ring; their number is a power of two.
#[derive(Clone)]
struct Slots {
    places: Arc<[Place]>,
    /// The number of slots, less one.
    mask: usize,
}

impl Slots {
    #[inline(always)]
    fn place(&self, number: u32) -> &Place {
        // SAFETY: the masked index is below the number of slots, which never changes.
        unsafe { self.places.get_unchecked(number as usize & self.mask) }
    }
}

/// The result of a completed post: its completion, and how it notifies.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    pub(crate) completion: Completion,
    pub(crate) features: CompletionFeatures,
}

impl WorkQueue {
    /// Creates a ring for `max` posts of the consumer and `internal` posts of the provider.
    pub(crate) fn new(tag: u64, owner: u64, max: u32, internal: u32) -> Self {
        let places = (max + internal).max(1).next_power_of_two();
        let slots = Slots {
            places: (0..places).map(|_| Place::new()).collect(),
            mask: places as usize - 1,
        };
        let (tail, until) = (AtomicU32::new(0), AtomicU32::new(0));
        Self {
            posted: Posted { slots: slots.clone(), tail, until, max },
            tag,
            slots,
            head: AtomicU32::new(0),
            unpolled: AtomicU32::new(0),
            owner,
            failure_reported: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Clears the failure state for a new connection.
    pub(crate) fn begin_connection(&self) {
        self.failure_reported.store(false, Ordering::Relaxed);
        *self.failure.lock() = None;
    }

    /// Records a failure if it is the first and not a flush.
    #[cold]
    pub(crate) fn remember(&self, failed: &Completion, cause: impl FnOnce() -> String) {
        let mut first = self.failure.lock();
        if first.is_none() {
            *first = Failure::of(failed, cause);
        }
    }

    /// The failure that was [recorded](Self::remember).
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    /// Returns the queue credit of a post when its completion is polled.
    #[inline]
    pub(crate) fn release(&self) {
        self.unpolled.fetch_sub(1, Ordering::Release);
    }

    #[cfg(test)]
    fn used(&self) -> u32 {
        self.pending().wrapping_add(self.unpolled.load(Ordering::Acquire))
    }

    /// Records a post and returns its sequence number; `None` if no free slot or queue credit is
    /// visible, which may change when completions are collected. The caller holds the poster's
    /// lock.
    pub(crate) fn write(&self, record: &Record) -> Option<u32> {
        let next = match record.internal {
            true => self.next_internal()?,
            false => match self.next() {
                None if self.count_free() => self.next()?,
                next => next?,
            },
        };
        if record.operation == Operation::Bind {
            self.posted.slots.place(next.0).extra.store(record.extra, Ordering::Relaxed);
        }
        let internal = if record.internal { INTERNAL } else { 0 };
        let traits = record.operation as u32 | record.flags.bits() << FLAGS | internal;
        Some(self.fill(next, record.cookie, Some(record.length as u32), traits))
    }

    /// Records a post of the consumer that is not a bind, with the number that
    /// [`next`](Self::next) returned, and returns it. A receive needs no length: the length of the
    /// message is in its completion. The caller has held the poster's lock since `next`.
    #[inline(always)]
    pub(crate) fn write_at(
        &self,
        next: Next,
        operation: Operation,
        cookie: u64,
        length: Option<u32>,
        flags: CompletionFlags,
    ) -> u32 {
        self.fill(next, cookie, length, operation as u32 | flags.bits() << FLAGS)
    }

    #[inline(always)]
    fn fill(&self, Next(number): Next, cookie: u64, length: Option<u32>, traits: u32) -> u32 {
        let place = self.posted.slots.place(number);
        place.cookie.store(cookie, Ordering::Relaxed);
        if let Some(length) = length {
            place.length.store(length, Ordering::Relaxed);
        }
        // Release: a thread that sees the post as outstanding sees the other fields.
        place.traits.store(traits, Ordering::Release);
        self.posted.tail.store(number.wrapping_add(1), Ordering::Release);
        number
    }

    /// The number of the next post of the consumer; `None` if [`count_free`](Self::count_free) must
    /// be called first. The caller holds the poster's lock.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Next> {
        let number = self.posted.tail.load(Ordering::Relaxed);
        (number != self.posted.until.load(Ordering::Relaxed)).then_some(Next(number))
    }

    /// Counts the posts of the consumer that have a free slot and a queue credit, and sets `until`
    /// after them; returns whether there are any. Completions only add to their number. The caller
    /// holds the poster's lock.
    #[inline(never)]
    pub(crate) fn count_free(&self) -> bool {
        let number = self.posted.tail.load(Ordering::Relaxed);
        let outstanding = self.outstanding(number);
        let used = outstanding.wrapping_add(self.unpolled.load(Ordering::Relaxed));
        let places = (self.posted.slots.places.len() as u32).saturating_sub(outstanding);
        let free = self.posted.max.saturating_sub(used).min(places);
        self.posted.until.store(number.wrapping_add(free), Ordering::Relaxed);
        free > 0
    }

    /// The number of the next post if it is internal; such a post takes no queue credit.
    fn next_internal(&self) -> Option<Next> {
        let number = self.posted.tail.load(Ordering::Relaxed);
        if self.outstanding(number) as usize >= self.posted.slots.places.len() {
            return None;
        }
        self.unpolled.fetch_sub(1, Ordering::Relaxed);
        // It may take a slot that was counted.
        self.posted.until.store(number.wrapping_add(1), Ordering::Relaxed);
        Some(Next(number))
    }

    /// Number of posts that have not completed; `next` is the sequence number of the next post. The
    /// caller holds the poster's lock, so only completions run concurrently.
    fn outstanding(&self, next: u32) -> u32 {
        // Acquire: the slots that completions freed have been read.
        next.wrapping_sub(self.head.load(Ordering::Acquire))
    }

    /// Removes the last post, which the device refused; the caller holds the poster's lock.
    #[cold]
    pub(crate) fn unwrite(&self) {
        let last = self.tail().wrapping_sub(1);
        if self.read_last(last).internal {
            self.unpolled.fetch_add(1, Ordering::Relaxed);
        }
        self.posted.tail.store(last, Ordering::Release);
        self.posted.until.store(last, Ordering::Relaxed);
    }

    /// The sequence number of the next post.
    pub(crate) fn tail(&self) -> u32 {
        self.posted.tail.load(Ordering::Acquire)
    }

    /// Number of posts that have not completed.
    pub(crate) fn pending(&self) -> u32 {
        self.tail().wrapping_sub(self.head.load(Ordering::Acquire))
    }

    /// The sequence number of the oldest post that has not completed.
    pub(crate) fn oldest(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Acquire);
        (head != self.tail()).then_some(head)
    }

    /// Number of the consumer's posts that have not completed.
    pub(crate) fn pending_of_consumer(&self) -> u32 {
        let (head, tail) = (self.head.load(Ordering::Acquire), self.tail());
        let count = tail.wrapping_sub(head);
        (0..count).filter(|&at| !self.read(head.wrapping_add(at)).internal).count() as u32
    }

    /// Whether every post before that sequence number has completed.
    pub(crate) fn has_reached(&self, number: u32) -> bool {
        self.head.load(Ordering::Acquire).wrapping_sub(number) as i32 >= 0
    }

    /// The data of an outstanding post.
    pub(crate) fn read(&self, number: u32) -> Record {
        let place = self.slots.place(number);
        let traits = place.traits.load(Ordering::Relaxed);
        let operation = operation(traits);
        Record {
            cookie: place.cookie.load(Ordering::Relaxed),
            length: place.length.load(Ordering::Relaxed).into(),
            extra: match operation {
                Operation::Bind => place.extra.load(Ordering::Relaxed),
                _ => 0,
            },
            operation,
            flags: CompletionFlags::from_bits_truncate((traits & !(INTERNAL | OVER)) >> FLAGS),
            internal: traits & INTERNAL != 0,
        }
    }

    /// Reads the data of a post that has completed, and marks its slot as free.
    fn read_last(&self, number: u32) -> Record {
        let record = self.read(number);
        self.slots.place(number).traits.store(OVER, Ordering::Relaxed);
        record
    }

    /// Completes the post if it is the oldest outstanding one and a plain success, and returns its
    /// queue credit; `received` is the length of a receive. The completion has been polled. The
    /// caller holds the lock of the completion queue.
    #[inline(always)]
    pub(crate) fn succeed(&self, number: u32, received: u32) -> Option<Succeeded> {
        if number != self.head.load(Ordering::Relaxed) {
            return None;
        }
        let place = self.slots.place(number);
        // Acquire: unless the slot is free, this sees the fields that were written with it.
        let traits = place.traits.load(Ordering::Acquire);
        if traits & UNUSUAL != 0 {
            return None;
        }
        let cookie = place.cookie.load(Ordering::Relaxed);
        let posted = place.length.load(Ordering::Relaxed);
        let operation = traits & OPERATION;
        let length = if operation == Operation::Receive as u32 { received } else { posted };
        place.traits.store(OVER, Ordering::Relaxed);
        self.head.store(number.wrapping_add(1), Ordering::Release);
        Some(Succeeded { cookie, length, operation })
    }

    /// Completes the post with that sequence number and all earlier suppressed ones. Returns what
    /// to report; `None` for an internal or suppressed post, or one that is not outstanding. The
    /// caller holds the lock of the completion queue.
    pub(crate) fn complete(&self, number: u32, status: DtoStatus) -> Option<(Record, Done)> {
        let head = self.head.load(Ordering::Relaxed);
        let ahead = number.wrapping_sub(head);
        if ahead >= self.tail().wrapping_sub(head) {
            return None;
        }
        let mut internal = 0;
        for at in 0..ahead {
            internal += u32::from(self.read_last(head.wrapping_add(at)).internal);
        }
        let record = self.read_last(number);
        let failed = !matches!(status, DtoStatus::Success);
        let quiet = !failed && record.flags.contains(CompletionFlags::SUPPRESS);
        let reported = !record.internal && !quiet;
        self.pass(number, internal + u32::from(record.internal || reported));
        if !reported {
            return None;
        }
        Some((record, self.done(&record, status)))
    }

    /// Retires every post up to and including `number`. `unpolled` of them still occupy queue
    /// credits until they are polled, or occupied none because they were internal.
    fn pass(&self, number: u32, unpolled: u32) {
        // Before the head moves: a poster may briefly see too few free credits, but never too many.
        self.unpolled.fetch_add(unpolled, Ordering::Relaxed);
        self.head.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest outstanding post as flushed; the caller holds the lock of the completion
    /// queue.
    pub(crate) fn flush_one(&self) -> Option<Done> {
        loop {
            let head = self.head.load(Ordering::Relaxed);
            if head == self.tail() {
                return None;
            }
            let record = self.read_last(head);
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
                length: if failed { 0 } else { record.length },
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

/// The operation with that value, among those that this provider posts.
#[inline]
const fn operation(value: u32) -> Operation {
    BY_VALUE[(value & OPERATION) as usize]
}

const BY_VALUE: [Operation; 16] = {
    const KNOWN: [Operation; 9] = [
        Operation::RdmaWrite,
        Operation::RdmaRead,
        Operation::Receive,
        Operation::Bind,
        Operation::RdmaWriteImmediate,
        Operation::FetchAdd,
        Operation::CompareSwap,
        Operation::SendDatagram,
        Operation::ReceiveDatagram,
    ];
    let mut table = [Operation::Send; 16];
    let mut at = 0;
    while at < KNOWN.len() {
        table[KNOWN[at] as usize] = KNOWN[at];
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn post(work_queue: &WorkQueue, cookie: u64, flags: CompletionFlags) -> u32 {
        let record = Record { cookie, flags, operation: Operation::RdmaRead, ..Record::default() };
        work_queue.write(&record).expect("a free slot")
    }

    #[test]
    fn a_failure_names_operation_and_cookie() {
        let work_queue = WorkQueue::new(7, 0, 4, 0);
        let number = post(&work_queue, 5, CompletionFlags::SUPPRESS);
        let (_, done) = work_queue.complete(number, DtoStatus::RemoteAccess).expect("reported");
        let completion = done.completion;
        assert_eq!((completion.tag, completion.cookie), (7, 5));
        assert_eq!(completion.operation, Operation::RdmaRead);
        assert_eq!(work_queue.used(), 1, "until it is polled");
    }

    #[test]
    fn suppressed_posts_complete_with_the_next_reported_one() {
        let work_queue = WorkQueue::new(7, 0, 4, 1);
        post(&work_queue, 1, CompletionFlags::SUPPRESS);
        post(&work_queue, 2, CompletionFlags::SUPPRESS);
        let number = post(&work_queue, 3, CompletionFlags::empty());
        let (record, _) = work_queue.complete(number, DtoStatus::Success).expect("reported");
        assert_eq!((record.cookie, work_queue.used(), work_queue.pending()), (3, 1, 0));
    }

    #[test]
    fn a_credit_is_occupied_until_the_poll() {
        let work_queue = WorkQueue::new(0, 0, 2, 0);
        let first = post(&work_queue, 1, CompletionFlags::empty());
        post(&work_queue, 2, CompletionFlags::empty());
        assert!(work_queue.write(&Record::default()).is_none());
        assert!(work_queue.complete(first, DtoStatus::Success).is_some());
        assert!(work_queue.write(&Record::default()).is_none());
        work_queue.release();
        assert!(work_queue.write(&Record::default()).is_some());
        assert!(work_queue.write(&Record::default()).is_none());
    }

    #[test]
    fn internal_posts_take_no_credit() {
        let work_queue = WorkQueue::new(0, 0, 2, 2);
        let own = Record { internal: true, ..Record::default() };
        let first = post(&work_queue, 1, CompletionFlags::SUPPRESS);
        work_queue.write(&own).expect("a free slot");
        let second = post(&work_queue, 2, CompletionFlags::empty());
        assert!(work_queue.write(&Record::default()).is_none());
        let last = work_queue.write(&own).expect("a free slot");
        work_queue.unwrite();
        assert_eq!(work_queue.used(), 2);
        // The suppressed post returns its queue credit together with the other one.
        assert!(work_queue.succeed(first, 0).is_none() && work_queue.succeed(second, 0).is_none());
        assert!(work_queue.complete(second, DtoStatus::Success).is_some());
        assert_eq!((work_queue.used(), work_queue.pending()), (1, 0));
        work_queue.release();
        assert_eq!((work_queue.used(), work_queue.succeed(last, 0).is_none()), (0, true));
    }

    #[test]
    fn posts_are_accepted_while_slots_and_credits_are_free() {
        let (max, internal) = (3, 2);
        let work_queue = WorkQueue::new(0, 0, max, internal);
        // Outstanding posts, oldest first: whether they are internal. Credits of completions that
        // were not polled.
        let (mut posts, mut unpolled) = (std::collections::VecDeque::<bool>::new(), 0);
        let mut seed = 1_u32;
        for step in 0..10_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let used = posts.iter().filter(|&&internal| !internal).count() as u32 + unpolled;
            match seed >> 29 {
                0..=2 => {
                    let written = work_queue.write(&Record::default()).is_some();
                    assert_eq!(written, posts.len() < 8 && used < max, "step {step}");
                    posts.extend(written.then_some(false));
                }
                3 => {
                    let own = Record { internal: true, ..Record::default() };
                    let written = work_queue.write(&own).is_some();
                    assert_eq!(written, posts.len() < 8, "step {step}");
                    posts.extend(written.then_some(true));
                }
                4 if posts.pop_back().is_some() => work_queue.unwrite(),
                5 | 6 => {
                    let reported = work_queue
                        .complete(work_queue.head.load(Ordering::Relaxed), DtoStatus::Success);
                    assert_eq!(reported.is_some(), posts.pop_front() == Some(false), "step {step}");
                    unpolled += u32::from(reported.is_some());
                }
                _ if unpolled > 0 => {
                    unpolled -= 1;
                    work_queue.release();
                }
                _ => {}
            }
            let used = posts.iter().filter(|&&internal| !internal).count() as u32 + unpolled;
            assert_eq!((work_queue.used(), work_queue.pending()), (used, posts.len() as u32));
        }
    }

    #[test]
    fn plain_successes_take_the_fast_path_once_and_in_order() {
        let work_queue = WorkQueue::new(7, 0, 4, 0);
        for cookie in 0..100 {
            let first = post(&work_queue, cookie, CompletionFlags::UNSIGNALLED);
            let second = post(&work_queue, cookie, CompletionFlags::SUPPRESS);
            assert!(work_queue.succeed(second, 0).is_none(), "not the oldest");
            let done = work_queue.succeed(first, 0).expect("a plain success");
            assert_eq!((done.cookie, done.operation), (cookie, Operation::RdmaRead as u32));
            assert!(work_queue.succeed(first, 0).is_none(), "once");
            assert!(work_queue.succeed(second, 0).is_none(), "it is silent");
            assert!(work_queue.complete(second, DtoStatus::Success).is_none(), "it is silent");
            assert_eq!((work_queue.used(), work_queue.pending()), (0, 0));
        }
    }

    #[test]
    fn second_and_unknown_completions_are_ignored() {
        let work_queue = WorkQueue::new(0, 0, 2, 0);
        assert!(work_queue.complete(0, DtoStatus::Success).is_none());
        let number = post(&work_queue, 1, CompletionFlags::empty());
        assert!(work_queue.complete(number, DtoStatus::Success).is_some());
        assert!(work_queue.complete(number, DtoStatus::Flushed).is_none());
        assert!(work_queue.complete(number.wrapping_add(1), DtoStatus::Flushed).is_none());
    }

    #[test]
    fn posts_are_flushed_in_order_without_internal_ones() {
        let work_queue = WorkQueue::new(0, 0, 3, 1);
        post(&work_queue, 1, CompletionFlags::SUPPRESS);
        work_queue.write(&Record { internal: true, ..Record::default() }).expect("a free slot");
        post(&work_queue, 2, CompletionFlags::empty());
        let cookies: Vec<u64> = std::iter::from_fn(|| work_queue.flush_one())
            .map(|done| done.completion.cookie)
            .collect();
        assert_eq!(cookies, [1, 2]);
        assert_eq!(work_queue.pending(), 0);
    }

    #[test]
    fn every_operation_survives_the_ring() {
        use Operation::*;
        for kept in [
            Send,
            RdmaWrite,
            RdmaRead,
            Receive,
            Bind,
            RdmaWriteImmediate,
            FetchAdd,
            CompareSwap,
            SendDatagram,
            ReceiveDatagram,
        ] {
            assert_eq!(operation(kept as u32), kept);
        }
    }
}
