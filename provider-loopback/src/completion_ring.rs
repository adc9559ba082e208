//! Completions on their way from one thread to another: a ring whose slots say themselves
//! whether they are filled, so that a completion costs its taker one cache line.
//!
//! There is one producer and one taker at a time, by their locks; the slots are all that they
//! share. The words of a slot are atomics only to be shared: they are ordered by its number.

use std::sync::Arc;

use dat_core::provider::Completion;
use dat_core::{DtoCompletion, DtoStatus, Operation};

use crate::sync::atomic::{AtomicU64, Ordering};

/// A completion and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) completion: Completion,
    /// What the queue knows the work queue by.
    pub(crate) source: u32,
}

/// The completion of a success that is no bind and has nothing extra.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) tag: u64,
    pub(crate) cookie: u64,
    pub(crate) length: u64,
    pub(crate) operation: Operation,
    pub(crate) source: u32,
}

/// The slots; positions count from 0 and never wrap. A clone has the same slots.
#[derive(Clone)]
pub(crate) struct Slots {
    /// As many as a power of two.
    slots: Arc<[Slot]>,
}

/// One cache line.
#[repr(align(64))]
#[derive(Default)]
struct Slot {
    /// The position that the slot is filled for, and 1.
    filled: AtomicU64,
    tag: AtomicU64,
    cookie: AtomicU64,
    length: AtomicU64,
    extra: AtomicU64,
    /// Source, whether it is special, operation.
    origin: AtomicU64,
    status: AtomicU64,
}

/// It failed, is a bind, or has something extra; otherwise neither status nor that was written.
const SPECIAL: u64 = 1 << 30;
const OPERATION: u64 = 0xf;

impl Slots {
    /// Slots for at least so many completions.
    pub(crate) fn new(depth: usize) -> Self {
        let count = depth.max(1).next_power_of_two();
        Self { slots: (0..count).map(|_| Slot::default()).collect() }
    }

    #[inline(always)]
    fn index(&self, position: u64) -> usize {
        position as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn slot(&self, position: u64) -> &Slot {
        &self.slots[self.index(position)]
    }

    /// Fills the slot of a position. Only the producer calls this, once for every position in
    /// turn, and only when what the slot had before was taken.
    #[inline(always)]
    pub(crate) fn fill(&self, position: u64, entry: &Entry) {
        let Entry { completion, source } = entry;
        let succeeded = completion.status == DtoStatus::Success;
        let is_bind = completion.operation == Operation::Bind;
        let is_plain = succeeded && !is_bind && completion.extra == 0;
        let origin = u64::from(*source) << 32
            | if is_plain { 0 } else { SPECIAL }
            | u64::from(completion.operation as u32);
        let slot = self.slot(position);
        slot.tag.store(completion.tag, Ordering::Relaxed);
        slot.cookie.store(completion.cookie, Ordering::Relaxed);
        slot.length.store(completion.length, Ordering::Relaxed);
        slot.origin.store(origin, Ordering::Relaxed);
        if !is_plain {
            slot.extra.store(completion.extra, Ordering::Relaxed);
            slot.status.store(pack(completion.status), Ordering::Relaxed);
        }
        // Release: who sees the number sees the words, and all that came before them.
        slot.filled.store(position + 1, Ordering::Release);
    }

    /// As [`fill`](Self::fill), for what is plain; whether there are slots.
    #[inline(always)]
    pub(crate) fn fill_plain(&self, position: u64, entry: &Plain) -> bool {
        let &Plain { tag, cookie, length, operation, source } = entry;
        let Some(slot) = self.slots.get(self.index(position)) else { return false };
        slot.tag.store(tag, Ordering::Relaxed);
        slot.cookie.store(cookie, Ordering::Relaxed);
        slot.length.store(length, Ordering::Relaxed);
        slot.origin.store(u64::from(source) << 32 | operation as u64, Ordering::Relaxed);
        // Release: as for `fill`.
        slot.filled.store(position + 1, Ordering::Release);
        true
    }

    /// Whether the slot of a position is filled.
    #[inline]
    pub(crate) fn is_filled(&self, position: u64) -> bool {
        self.slot(position).filled.load(Ordering::Acquire) == position + 1
    }

    /// As [`get`](Self::get), for what is plain, as the event tells it, and its source. Anything
    /// else is not taken here.
    #[inline(always)]
    pub(crate) fn get_plain(&self, position: u64) -> Option<(DtoCompletion, u32)> {
        let slot = self.slots.get(self.index(position))?;
        if slot.filled.load(Ordering::Acquire) != position + 1 {
            return None;
        }
        let origin = slot.origin.load(Ordering::Relaxed);
        if origin & SPECIAL != 0 {
            return None;
        }
        let completion = DtoCompletion {
            ep: slot.tag.load(Ordering::Relaxed),
            cookie: slot.cookie.load(Ordering::Relaxed),
            length: slot.length.load(Ordering::Relaxed),
            extra: 0,
            operation: operation(origin & OPERATION),
            status: DtoStatus::Success,
        };
        Some((completion, (origin >> 32) as u32))
    }

    /// What the slot of a position holds, if it is filled. Only the taker calls this.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> Option<Entry> {
        let slot = self.slot(position);
        if slot.filled.load(Ordering::Acquire) != position + 1 {
            return None;
        }
        let origin = slot.origin.load(Ordering::Relaxed);
        let is_plain = origin & SPECIAL == 0;
        Some(Entry {
            completion: Completion {
                tag: slot.tag.load(Ordering::Relaxed),
                cookie: slot.cookie.load(Ordering::Relaxed),
                length: slot.length.load(Ordering::Relaxed),
                extra: if is_plain { 0 } else { slot.extra.load(Ordering::Relaxed) },
                operation: operation(origin & OPERATION),
                status: if is_plain {
                    DtoStatus::Success
                } else {
                    unpack(slot.status.load(Ordering::Relaxed))
                },
            },
            source: (origin >> 32) as u32,
        })
    }
}

/// The operation of that number, of which the last bits are looked at.
#[inline]
fn operation(number: u64) -> Operation {
    const ALL: [Operation; OPERATION as usize + 1] = {
        let mut all = [Operation::Send; OPERATION as usize + 1];
        let known = [
            Operation::Send,
            Operation::RdmaWrite,
            Operation::RdmaRead,
            Operation::Receive,
            Operation::ReceiveWithInvalidate,
            Operation::Bind,
            Operation::RdmaWriteImmediate,
            Operation::ReceiveImmediate,
            Operation::FetchAdd,
            Operation::CompareSwap,
            Operation::SendDatagram,
            Operation::ReceiveDatagram,
        ];
        let mut index = 0;
        while index < known.len() {
            all[known[index] as usize] = known[index];
            index += 1;
        }
        all
    };
    ALL[(number & OPERATION) as usize]
}

#[inline]
fn pack(status: DtoStatus) -> u64 {
    if status == DtoStatus::Success { 0 } else { status.value().into() }
}

#[inline]
fn unpack(value: u64) -> DtoStatus {
    if value == 0 { DtoStatus::Success } else { failure(value as u32) }
}

#[cold]
fn failure(value: u32) -> DtoStatus {
    DtoStatus::all().find(|status| status.value() == value).unwrap_or(DtoStatus::Unknown(value))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_gives_back_what_it_was_filled_with() {
        let slots = Slots::new(3);
        for (position, number) in (0..40).enumerate() {
            let position = position as u64;
            assert_eq!(slots.get(position), None, "not filled yet");
            let status = DtoStatus::all().nth(number % 13).unwrap_or(DtoStatus::Unknown(77));
            let entry = Entry {
                completion: Completion {
                    tag: 1 << 60 | position,
                    cookie: u64::MAX - position,
                    length: position,
                    extra: number as u64 % 2 * 5,
                    operation: operation(position % 15),
                    status,
                },
                source: u32::MAX - number as u32,
            };
            slots.fill(position, &entry);
            assert!(slots.is_filled(position));
            assert_eq!(slots.get(position), Some(entry));
        }
    }

    #[test]
    fn every_operation_keeps_its_number() {
        for number in [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 13, 14] {
            assert_eq!(operation(number) as u64, number);
        }
    }
}
