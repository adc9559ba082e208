//! What was posted to a work queue and has not completed.
//!
//! A completion of the device's names a request by its identifier only, and of one that failed
//! nothing else is valid: so cookie, operation and flags are kept here, in a ring. The poster
//! writes a place and then moves the tail, under its own lock; whoever harvests completions
//! moves the head, under the lock of the completion queue. No lock is common to both.
#![allow(unsafe_code, reason = "each post and each completion finds its place in the ring")]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionFeatures};
use dat_core::{DtoStatus, Failure, Operation};
use parking_lot::Mutex;

/// What is kept of a post.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) cookie: u64,
    pub(crate) length: u64,
    /// The tag of the window for a bind.
    pub(crate) extra: u64,
    pub(crate) operation: Operation,
    pub(crate) flags: CompletionFlags,
    /// Posted by the provider for itself: nobody hears of it.
    pub(crate) internal: bool,
}

struct Place {
    cookie: AtomicU64,
    /// No message is longer than the device counts.
    length: AtomicU32,
    /// Operation, flags, and whether it is internal.
    traits: AtomicU32,
    /// Of a bind; others have none.
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

/// The operation among the traits, and where flags begin.
const OPERATION: u32 = 0xf;
const FLAGS: u32 = 8;
const INTERNAL: u32 = 1 << 31;
/// Nothing outstanding is kept here.
const OVER: u32 = 1 << 30;
/// Any of these keeps a post from completing the short way: its success is not told, or is not told
/// as most are.
const UNUSUAL: u32 = INTERNAL
    | OVER
    | CompletionFlags::SUPPRESS.bits() << FLAGS
    | OPERATION & !(Operation::Receive as u32);

/// A post that succeeded, of which there is no more to tell: a send, RDMA write, RDMA read or
/// receive, by its number.
pub(crate) struct Succeeded {
    pub(crate) cookie: u64,
    /// What was posted, or received.
    pub(crate) length: u32,
    pub(crate) operation: u32,
}

/// The ring of a work queue.
pub(crate) struct Ledger {
    /// Comes back in completions.
    pub(crate) tag: u64,
    /// The key of the endpoint, to tell it when something fails.
    pub(crate) owner: u64,
    /// A power of two.
    places: Box<[Place]>,
    /// One less than there are places.
    mask: usize,
    /// The number of the next post; numbers run on over the ring.
    tail: AtomicU32,
    /// The number of the oldest that has not completed.
    head: AtomicU32,
    /// Completions that nobody has polled yet, less the provider's own posts that are outstanding;
    /// modulo 2^32. With the outstanding ones it is how much room the consumer's posts take.
    unpolled: AtomicU32,
    /// How many of the consumer's there may be.
    max: u32,
    /// A failure was told of already; reset with each connection.
    pub(crate) told: AtomicBool,
    /// The first that failed of itself; forgotten with each connection.
    failure: Mutex<Option<Failure>>,
}

/// A post that is over: what to tell of it, and whether to tell.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    pub(crate) completion: Completion,
    pub(crate) features: CompletionFeatures,
}

impl Ledger {
    /// Room for `max` posts of the consumer's and `internal` of the provider's own.
    pub(crate) fn new(tag: u64, owner: u64, max: u32, internal: u32) -> Self {
        let places = (max + internal).max(1).next_power_of_two();
        Self {
            tag,
            owner,
            mask: places as usize - 1,
            places: (0..places).map(|_| Place::new()).collect(),
            tail: AtomicU32::new(0),
            head: AtomicU32::new(0),
            unpolled: AtomicU32::new(0),
            max,
            told: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Before another connection nothing has failed.
    pub(crate) fn begin_anew(&self) {
        self.told.store(false, Ordering::Relaxed);
        *self.failure.lock() = None;
    }

    /// Keeps what failed, if it did of itself and is the first.
    #[cold]
    pub(crate) fn remember(&self, failed: &Completion, cause: impl FnOnce() -> String) {
        let mut first = self.failure.lock();
        if first.is_none() {
            *first = Failure::of(failed, cause);
        }
    }

    /// What was [remembered](Self::remember).
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    #[inline(always)]
    fn place(&self, number: u32) -> &Place {
        // SAFETY: a number of at most the mask is below the number of places, which never changes.
        unsafe { self.places.get_unchecked(number as usize & self.mask) }
    }

    /// Gives the room of a post back, as its completion is polled.
    #[inline]
    pub(crate) fn release(&self) {
        self.unpolled.fetch_sub(1, Ordering::Release);
    }

    #[cfg(test)]
    fn used(&self) -> u32 {
        self.pending().wrapping_add(self.unpolled.load(Ordering::Acquire))
    }

    /// Writes a post down and returns its number; nothing when there is no room, or none that
    /// can be seen without a look at what has completed. The caller holds the poster's lock.
    #[inline(always)]
    pub(crate) fn write(&self, record: &Record) -> Option<u32> {
        let number = self.tail.load(Ordering::Relaxed);
        // Posters hold a lock, so only completions come between. Acquire: what made room is read.
        let outstanding = number.wrapping_sub(self.head.load(Ordering::Acquire));
        let used = outstanding.wrapping_add(self.unpolled.load(Ordering::Relaxed));
        if outstanding as usize >= self.places.len() || (used >= self.max && !record.internal) {
            return None;
        }
        if record.internal {
            self.unpolled.fetch_sub(1, Ordering::Relaxed);
        }
        let place = self.place(number);
        place.cookie.store(record.cookie, Ordering::Relaxed);
        place.length.store(record.length as u32, Ordering::Relaxed);
        if record.operation == Operation::Bind {
            place.extra.store(record.extra, Ordering::Relaxed);
        }
        let internal = if record.internal { INTERNAL } else { 0 };
        let traits = record.operation as u32 | record.flags.bits() << FLAGS | internal;
        // Release: who takes it for outstanding finds the rest.
        place.traits.store(traits, Ordering::Release);
        self.tail.store(number.wrapping_add(1), Ordering::Release);
        Some(number)
    }

    /// Takes the last post back, which the device refused; the caller holds the poster's lock.
    #[cold]
    pub(crate) fn unwrite(&self) {
        let last = self.tail().wrapping_sub(1);
        if self.read_last(last).internal {
            self.unpolled.fetch_add(1, Ordering::Relaxed);
        }
        self.tail.store(last, Ordering::Release);
    }

    /// The number of the next post.
    pub(crate) fn tail(&self) -> u32 {
        self.tail.load(Ordering::Acquire)
    }

    /// How many have not completed.
    pub(crate) fn pending(&self) -> u32 {
        self.tail().wrapping_sub(self.head.load(Ordering::Acquire))
    }

    /// The number of the oldest that has not completed.
    pub(crate) fn oldest(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Acquire);
        (head != self.tail()).then_some(head)
    }

    /// How many of the consumer's own have not completed.
    pub(crate) fn pending_of_consumer(&self) -> u32 {
        let (head, tail) = (self.head.load(Ordering::Acquire), self.tail());
        let count = tail.wrapping_sub(head);
        (0..count).filter(|&at| !self.read(head.wrapping_add(at)).internal).count() as u32
    }

    /// Whether every post before that number has completed.
    pub(crate) fn has_reached(&self, number: u32) -> bool {
        self.head.load(Ordering::Acquire).wrapping_sub(number) as i32 >= 0
    }

    /// What is kept of the post of that number, which is outstanding.
    pub(crate) fn read(&self, number: u32) -> Record {
        let place = self.place(number);
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

    /// The same of a post that is over.
    fn read_last(&self, number: u32) -> Record {
        let record = self.read(number);
        self.place(number).traits.store(OVER, Ordering::Relaxed);
        record
    }

    /// The post of that number succeeded and was polled: completes it and gives its room back, if
    /// it is the oldest outstanding and what most are; `received` is the length of a receive. The
    /// caller holds the lock of the completion queue.
    #[inline(always)]
    pub(crate) fn succeed(&self, number: u32, received: u32) -> Option<Succeeded> {
        if number != self.head.load(Ordering::Relaxed) {
            return None;
        }
        let place = self.place(number);
        // Acquire: it was written with the tail, if this is not over.
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

    /// The post of that number completed, and with it all before it that were to complete in
    /// silence. What there is to tell; nothing of an internal or silent one, or of a number
    /// that is not outstanding. The caller holds the lock of the completion queue.
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
        let told = !record.internal && !quiet;
        self.pass(number, internal + u32::from(record.internal || told));
        if !told {
            return None;
        }
        Some((record, self.done(&record, status)))
    }

    /// All up to that number are not outstanding any more; of so many the room is still taken, or
    /// was not before.
    fn pass(&self, number: u32, unpolled: u32) {
        // Before the head: a poster may count too little room for a moment, and never too much.
        self.unpolled.fetch_add(unpolled, Ordering::Relaxed);
        self.head.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest outstanding post as flushed; the caller holds the lock of the
    /// completion queue.
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

/// The operation with that value, of those that this provider posts.
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

    fn post(ledger: &Ledger, cookie: u64, flags: CompletionFlags) -> u32 {
        let record = Record { cookie, flags, operation: Operation::RdmaRead, ..Record::default() };
        ledger.write(&record).expect("room")
    }

    #[test]
    fn a_failure_names_operation_and_cookie() {
        let ledger = Ledger::new(7, 0, 4, 0);
        let number = post(&ledger, 5, CompletionFlags::SUPPRESS);
        let (_, done) = ledger.complete(number, DtoStatus::RemoteAccess).expect("told");
        let completion = done.completion;
        assert_eq!((completion.tag, completion.cookie), (7, 5));
        assert_eq!(completion.operation, Operation::RdmaRead);
        assert_eq!(ledger.used(), 1, "until it is polled");
    }

    #[test]
    fn silent_ones_complete_with_the_next_that_is_told() {
        let ledger = Ledger::new(7, 0, 4, 1);
        post(&ledger, 1, CompletionFlags::SUPPRESS);
        post(&ledger, 2, CompletionFlags::SUPPRESS);
        let number = post(&ledger, 3, CompletionFlags::empty());
        let (record, _) = ledger.complete(number, DtoStatus::Success).expect("told");
        assert_eq!((record.cookie, ledger.used(), ledger.pending()), (3, 1, 0));
    }

    #[test]
    fn room_is_until_the_poll() {
        let ledger = Ledger::new(0, 0, 2, 0);
        let first = post(&ledger, 1, CompletionFlags::empty());
        post(&ledger, 2, CompletionFlags::empty());
        assert!(ledger.write(&Record::default()).is_none());
        assert!(ledger.complete(first, DtoStatus::Success).is_some());
        assert!(ledger.write(&Record::default()).is_none());
        ledger.release();
        assert!(ledger.write(&Record::default()).is_some());
        assert!(ledger.write(&Record::default()).is_none());
    }

    #[test]
    fn posts_of_the_provider_take_no_room() {
        let ledger = Ledger::new(0, 0, 2, 2);
        let own = Record { internal: true, ..Record::default() };
        let first = post(&ledger, 1, CompletionFlags::SUPPRESS);
        ledger.write(&own).expect("room");
        let second = post(&ledger, 2, CompletionFlags::empty());
        assert!(ledger.write(&Record::default()).is_none());
        let last = ledger.write(&own).expect("room");
        ledger.unwrite();
        assert_eq!(ledger.used(), 2);
        // The one that completes in silence has its room back with the other.
        assert!(ledger.succeed(first, 0).is_none() && ledger.succeed(second, 0).is_none());
        assert!(ledger.complete(second, DtoStatus::Success).is_some());
        assert_eq!((ledger.used(), ledger.pending()), (1, 0));
        ledger.release();
        assert_eq!((ledger.used(), ledger.succeed(last, 0).is_none()), (0, true));
    }

    #[test]
    fn what_most_are_completes_the_short_way_once_and_in_order() {
        let ledger = Ledger::new(7, 0, 4, 0);
        for cookie in 0..100 {
            let first = post(&ledger, cookie, CompletionFlags::UNSIGNALLED);
            let second = post(&ledger, cookie, CompletionFlags::SUPPRESS);
            assert!(ledger.succeed(second, 0).is_none(), "not the oldest");
            let done = ledger.succeed(first, 0).expect("what most are");
            assert_eq!((done.cookie, done.operation), (cookie, Operation::RdmaRead as u32));
            assert!(ledger.succeed(first, 0).is_none(), "once");
            assert!(ledger.succeed(second, 0).is_none(), "it is silent");
            assert!(ledger.complete(second, DtoStatus::Success).is_none(), "it is silent");
            assert_eq!((ledger.used(), ledger.pending()), (0, 0));
        }
    }

    #[test]
    fn what_completes_twice_or_never_was_posted_is_ignored() {
        let ledger = Ledger::new(0, 0, 2, 0);
        assert!(ledger.complete(0, DtoStatus::Success).is_none());
        let number = post(&ledger, 1, CompletionFlags::empty());
        assert!(ledger.complete(number, DtoStatus::Success).is_some());
        assert!(ledger.complete(number, DtoStatus::Flushed).is_none());
        assert!(ledger.complete(number.wrapping_add(1), DtoStatus::Flushed).is_none());
    }

    #[test]
    fn everything_is_flushed_in_order_and_nothing_internal_told() {
        let ledger = Ledger::new(0, 0, 3, 1);
        post(&ledger, 1, CompletionFlags::SUPPRESS);
        ledger.write(&Record { internal: true, ..Record::default() }).expect("room");
        post(&ledger, 2, CompletionFlags::empty());
        let cookies: Vec<u64> =
            std::iter::from_fn(|| ledger.flush_one()).map(|done| done.completion.cookie).collect();
        assert_eq!(cookies, [1, 2]);
        assert_eq!(ledger.pending(), 0);
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
