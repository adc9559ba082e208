//! What was posted to a work queue and has not completed.
//!
//! A completion of the device's names a request by its identifier only, and of one that failed
//! nothing else is valid: so cookie, operation and flags are kept here, in a ring. The poster
//! writes a place and then moves the tail, under its own lock; whoever harvests completions
//! moves the head, under the lock of the completion queue. No lock is common to both.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionFeatures};
use dat_core::{DtoStatus, Operation};

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

#[derive(Default)]
struct Place {
    cookie: AtomicU64,
    length: AtomicU64,
    extra: AtomicU64,
    /// Operation, flags, and whether it is internal.
    traits: AtomicU64,
}

/// The ring of a work queue.
pub(crate) struct Ledger {
    /// Comes back in completions.
    pub(crate) tag: u64,
    /// The key of the endpoint, to tell it when something fails.
    pub(crate) owner: u64,
    places: Box<[Place]>,
    /// The number of the next post; numbers run on over the ring.
    tail: AtomicU32,
    /// The number of the oldest that has not completed.
    head: AtomicU32,
    /// Posts that are not polled yet, and how many there may be.
    used: AtomicU32,
    max: u32,
    /// A failure was told of already; reset with each connection.
    pub(crate) told: AtomicBool,
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
            places: (0..places).map(|_| Place::default()).collect(),
            tail: AtomicU32::new(0),
            head: AtomicU32::new(0),
            used: AtomicU32::new(0),
            max,
            told: AtomicBool::new(false),
        }
    }

    fn place(&self, number: u32) -> &Place {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Takes the room of a post, if there is any.
    #[inline]
    pub(crate) fn take_room(&self) -> bool {
        // Posters hold a lock, so only releases come between.
        let free = self.used.load(Ordering::Acquire) < self.max;
        if free {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        free
    }

    /// Gives the room of posts back, as they are polled.
    #[inline]
    pub(crate) fn release(&self, count: u32) {
        self.used.fetch_sub(count, Ordering::Release);
    }

    #[cfg(test)]
    fn used(&self) -> u32 {
        self.used.load(Ordering::Acquire)
    }

    /// Writes a post down and returns its number; nothing when the ring is full. The caller
    /// holds the poster's lock.
    #[inline]
    pub(crate) fn write(&self, record: &Record) -> Option<u32> {
        let number = self.tail.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Acquire);
        if number.wrapping_sub(head) as usize >= self.places.len() {
            return None;
        }
        let place = self.place(number);
        place.cookie.store(record.cookie, Ordering::Relaxed);
        place.length.store(record.length, Ordering::Relaxed);
        place.extra.store(record.extra, Ordering::Relaxed);
        let traits = record.operation as u64
            | u64::from(record.flags.bits()) << 32
            | u64::from(record.internal) << 63;
        place.traits.store(traits, Ordering::Relaxed);
        self.tail.store(number.wrapping_add(1), Ordering::Release);
        Some(number)
    }

    /// Takes the last post back, which the device refused; the caller holds the poster's lock.
    pub(crate) fn unwrite(&self) {
        self.tail.fetch_sub(1, Ordering::Release);
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
    #[inline(always)]
    pub(crate) fn read(&self, number: u32) -> Record {
        let place = self.place(number);
        let traits = place.traits.load(Ordering::Relaxed);
        Record {
            cookie: place.cookie.load(Ordering::Relaxed),
            length: place.length.load(Ordering::Relaxed),
            extra: place.extra.load(Ordering::Relaxed),
            operation: operation(traits as u32),
            flags: CompletionFlags::from_bits_truncate((traits >> 32) as u32 & 0x7fff_ffff),
            internal: traits >> 63 != 0,
        }
    }

    /// The post of that number completed, and with it all before it that were to complete in
    /// silence. What there is to tell; nothing of an internal or silent one, or of a number
    /// that is not outstanding. The caller holds the lock of the completion queue.
    #[inline(always)]
    pub(crate) fn complete(&self, number: u32, status: DtoStatus) -> Option<(Record, Done)> {
        let head = self.head.load(Ordering::Relaxed);
        let ahead = number.wrapping_sub(head);
        if ahead >= self.tail().wrapping_sub(head) {
            return None;
        }
        let mut silent = 0;
        for at in 0..ahead {
            silent += u32::from(!self.read(head.wrapping_add(at)).internal);
        }
        let record = self.read(number);
        self.head.store(number.wrapping_add(1), Ordering::Release);
        let failed = !matches!(status, DtoStatus::Success);
        let quiet = !failed && record.flags.contains(CompletionFlags::SUPPRESS);
        if quiet && !record.internal {
            silent += 1;
        }
        if silent > 0 {
            self.release(silent);
        }
        if record.internal || quiet {
            return None;
        }
        Some((record, self.done(&record, status)))
    }

    /// Takes the oldest outstanding post as flushed; the caller holds the lock of the
    /// completion queue.
    pub(crate) fn flush_one(&self) -> Option<Done> {
        loop {
            let head = self.head.load(Ordering::Relaxed);
            if head == self.tail() {
                return None;
            }
            let record = self.read(head);
            self.head.store(head.wrapping_add(1), Ordering::Release);
            if !record.internal {
                return Some(self.done(&record, DtoStatus::Flushed));
            }
        }
    }

    #[inline(always)]
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
    BY_VALUE[value as usize % BY_VALUE.len()]
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
        assert!(ledger.take_room());
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
        assert!(!ledger.take_room());
        assert!(ledger.complete(first, DtoStatus::Success).is_some());
        assert!(!ledger.take_room());
        ledger.release(1);
        assert!(ledger.take_room());
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
