//! The slots of a work queue, and what they record of a post.
#![allow(unsafe_code, reason = "each post and each completion finds its slot")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dat_provider::flags::CompletionFlags;
use dat_provider::status::Operation;

/// The data kept for a post.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) cookie: u64,
    /// Length in bytes; no message exceeds the device's 32-bit length.
    pub(crate) length: u32,
    /// The tag of the window, for a bind.
    pub(crate) extra: u64,
    pub(crate) operation: Operation,
    pub(crate) flags: CompletionFlags,
    /// Posted by the provider itself; its completion is not reported.
    pub(crate) internal: bool,
}

struct Slot {
    cookie: AtomicU64,
    /// Length in bytes.
    length: AtomicU32,
    traits: AtomicU32,
    /// Written only for a bind.
    extra: AtomicU64,
}

/// The operation and the flags of a post, and whether it is internal; or [`FREE`](Self::FREE).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits(u32);

impl Traits {
    /// Of a slot without an outstanding post.
    const FREE: Self = Self(1 << 30);
    const INTERNAL: u32 = 1 << 31;
    /// The mask of the operation; flags begin above it.
    const OPERATION: u32 = 0xf;
    const FLAGS: u32 = 8;
    /// Any of these keeps a post off the fast path of completion: its success is not reported, or
    /// not reported as a plain success.
    const UNUSUAL: u32 = Self::INTERNAL
        | Self::FREE.0
        | CompletionFlags::SUPPRESS.bits() << Self::FLAGS
        | Self::OPERATION & !(Operation::Receive as u32);

    #[inline(always)]
    pub(super) const fn new(operation: Operation, flags: CompletionFlags) -> Self {
        Self(operation as u32 | flags.bits() << Self::FLAGS)
    }

    const fn internal(self) -> Self {
        Self(self.0 | Self::INTERNAL)
    }

    const fn is_internal(self) -> bool {
        self.0 & Self::INTERNAL != 0
    }

    /// Returns true if the post is a send, RDMA write, RDMA read or receive whose success is reported.
    #[inline(always)]
    pub(super) const fn is_plain(self) -> bool {
        self.0 & Self::UNUSUAL == 0
    }

    /// The number of the operation.
    #[inline(always)]
    pub(super) const fn number(self) -> u32 {
        self.0 & Self::OPERATION
    }

    const fn flags(self) -> CompletionFlags {
        CompletionFlags::from_bits_truncate((self.0 & !Self::INTERNAL) >> Self::FLAGS)
    }

    /// The operation, among those that this provider posts.
    pub(super) const fn operation(self) -> Operation {
        const BY_NUMBER: [Operation; 16] = {
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
        BY_NUMBER[self.number() as usize]
    }
}

/// The slots of a work queue, found by sequence number; their number is a power of two. A slot is
/// outstanding from its fill until it is freed.
#[derive(Clone)]
pub(super) struct Slots {
    /// The first of them.
    first: NonNull<Slot>,
    /// The number of slots, less one.
    mask: u32,
    /// The owner of the slots. It is boxed because the allocation of an `Arc` of that size could not fail.
    _owner: Arc<Box<[Slot]>>,
}

// SAFETY: the slots are atomics, and their owner may be shared between threads.
unsafe impl Send for Slots {}
// SAFETY: the slots are atomics, and their owner may be shared between threads.
unsafe impl Sync for Slots {}

impl Slots {
    /// At least that number of free slots; `None` if there is no memory for them.
    pub(super) fn new(least: u32) -> Option<Self> {
        let count = least.max(1).checked_next_power_of_two()?;
        let length = usize::try_from(count).ok()?;
        let free = || Slot {
            cookie: AtomicU64::new(0),
            length: AtomicU32::new(0),
            traits: AtomicU32::new(Traits::FREE.0),
            extra: AtomicU64::new(0),
        };
        let mut slots = Vec::new();
        slots.try_reserve_exact(length).ok()?;
        slots.resize_with(length, free);
        let owner = Arc::new(slots.into_boxed_slice());
        let first = NonNull::from(&owner[..]).cast();
        Some(Self { first, mask: count - 1, _owner: owner })
    }

    pub(super) fn count(&self) -> u32 {
        self.mask + 1
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> &Slot {
        // SAFETY: the masked index is below the number of slots, which never changes.
        let slot = unsafe { self.first.add((number & self.mask) as usize) };
        // SAFETY: the owner keeps the slots where they are, and there are only shared references to them.
        unsafe { slot.as_ref() }
    }

    /// Fills a free slot with a post that is not a bind. A receive needs no length: the length of
    /// the message is in its completion.
    #[inline(always)]
    pub(super) fn fill(&self, number: u32, cookie: u64, length: Option<u32>, traits: Traits) {
        let slot = self.slot(number);
        slot.cookie.store(cookie, Ordering::Relaxed);
        if let Some(length) = length {
            slot.length.store(length, Ordering::Relaxed);
        }
        // Release: a thread that sees the post as outstanding sees the other fields.
        slot.traits.store(traits.0, Ordering::Release);
    }

    /// Fills a free slot with any post.
    pub(super) fn fill_with(&self, number: u32, record: &Record) {
        self.slot(number).extra.store(record.extra, Ordering::Relaxed);
        let traits = Traits::new(record.operation, record.flags);
        let traits = if record.internal { traits.internal() } else { traits };
        self.fill(number, record.cookie, Some(record.length), traits);
    }

    #[inline(always)]
    pub(super) fn traits(&self, number: u32) -> Traits {
        // Acquire: unless the slot is free, this sees the fields that were written with it.
        Traits(self.slot(number).traits.load(Ordering::Acquire))
    }

    /// The cookie and the length of the post in a slot.
    #[inline(always)]
    pub(super) fn cookie_and_length(&self, number: u32) -> (u64, u32) {
        let slot = self.slot(number);
        (slot.cookie.load(Ordering::Relaxed), slot.length.load(Ordering::Relaxed))
    }

    /// The post in a slot; `None` if the slot is free.
    pub(super) fn read(&self, number: u32) -> Option<Record> {
        let traits = self.traits(number);
        if traits == Traits::FREE {
            return None;
        }
        let (cookie, length) = self.cookie_and_length(number);
        let operation = traits.operation();
        let extra = match operation {
            Operation::Bind => self.slot(number).extra.load(Ordering::Relaxed),
            _ => 0,
        };
        let (flags, internal) = (traits.flags(), traits.is_internal());
        Some(Record { cookie, length, extra, operation, flags, internal })
    }

    #[inline(always)]
    pub(super) fn free(&self, number: u32) {
        self.slot(number).traits.store(Traits::FREE.0, Ordering::Relaxed);
    }

    /// Reads the post in a slot and frees the slot; `None` if it is free already.
    pub(super) fn take(&self, number: u32) -> Option<Record> {
        let record = self.read(number)?;
        self.free(number);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_for_which_there_is_no_memory_are_refused() {
        assert!(Slots::new(u32::MAX).is_none(), "their number is not a power of two of 32 bits");
        for (least, count) in [(0, 1), (1, 1), (3, 4), (4, 4), (1000, 1024)] {
            let slots = Slots::new(least).expect("memory");
            assert_eq!(slots.count(), count);
            let kept = slots.clone();
            drop(slots);
            assert!((0..2 * count).all(|number| kept.read(number).is_none()), "they are free");
        }
    }

    #[test]
    fn every_operation_survives_the_slot() {
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
            assert_eq!(Traits::new(kept, CompletionFlags::all()).operation(), kept);
        }
    }
}
