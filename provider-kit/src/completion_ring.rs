//! The ring that carries completions from the producers to the poller ([`slots`]).
//!
//! The usual completion takes half a cache line. A store to a cache line that another processor holds is slow and
//! delays later stores, so the number of lines matters more than the number of bytes. Rare fields are stored outside of
//! the slots.

use std::sync::OnceLock;

use dat_provider::Completion;
use dat_provider::plain_success::PlainSuccess;
use dat_provider::status::{DtoStatus, Operation};

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::{memory, slots};

/// A completion and its work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) completion: Completion,
    /// Index of the work queue in the completion queue.
    pub(crate) work_queue: u32,
}

/// The completion of a success without `extra`, other than a bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) tag: u64,
    pub(crate) cookie: u64,
    pub(crate) length: u64,
    pub(crate) operation: Operation,
    pub(crate) work_queue: u32,
}

/// The ring; positions count from 0 and never wrap. A clone has the same slots.
#[derive(Clone)]
pub(crate) struct CompletionRing {
    /// The slots, and the rare fields by slot, which are allocated for the first special completion.
    slots: Slots,
}

/// Half a cache line.
#[repr(align(32))]
#[derive(Default)]
struct Slot {
    tag: AtomicU64,
    cookie: AtomicU64,
    length: AtomicU64,
    /// From the lowest bit: work queue, operation, special bit, mark.
    rest: AtomicU64,
}

/// The fields of special completions.
#[derive(Default)]
struct Special {
    extra: AtomicU64,
    /// 0 for a success.
    status: AtomicU32,
}

const OPERATION_AT: u32 = 32;
const OPERATION: u64 = 0xf << OPERATION_AT;
/// Operation bits that are zero in every [`PlainSuccess`].
const UNUSUAL: u64 = OPERATION & !((Operation::Receive as u64) << OPERATION_AT);
/// The completion failed, is a bind, or has `extra`.
const SPECIAL: u64 = 1 << 36;

type Slots = slots::Slots<Slot, OnceLock<Box<[Special]>>, 37>;

impl CompletionRing {
    /// Slots for at least `depth` completions; `None` if there is no memory for them.
    pub(crate) fn new(depth: usize) -> Option<Self> {
        Some(Self { slots: Slots::new(depth, OnceLock::new())? })
    }

    /// A ring for one completion.
    pub(crate) fn single() -> Self {
        Self { slots: Slots::single(OnceLock::new()) }
    }

    /// Fills the slot of a position. Only the producer calls this, once for each position in order, after the previous
    /// completion of the slot was taken. Returns false, without effect, if there is no memory for the rare fields.
    #[must_use]
    pub(crate) fn fill(&self, position: u64, entry: &Entry) -> bool {
        let &Entry { completion, work_queue } = entry;
        let Completion { tag, cookie, length, extra, operation, status } = completion;
        let plain = Plain { tag, cookie, length, operation, work_queue };
        let succeeded = status == DtoStatus::Success;
        if succeeded && operation != Operation::Bind && extra == 0 {
            self.fill_plain(position, &plain);
        } else {
            let Some(special) = self.make_special(position) else { return false };
            special.extra.store(extra, Ordering::Relaxed);
            special.status.store(pack(status), Ordering::Relaxed);
            self.fill_slot(position, &plain, SPECIAL);
        }
        true
    }

    /// As [`fill`](Self::fill), for a plain completion.
    #[inline(always)]
    pub(crate) fn fill_plain(&self, position: u64, entry: &Plain) {
        self.fill_slot(position, entry, 0);
    }

    #[inline(always)]
    fn fill_slot(&self, position: u64, entry: &Plain, special: u64) {
        let &Plain { tag, cookie, length, operation, work_queue } = entry;
        let slot = self.slots.get(position);
        let rest = u64::from(work_queue) | (operation as u64) << OPERATION_AT | special;
        slot.tag.store(tag, Ordering::Relaxed);
        slot.cookie.store(cookie, Ordering::Relaxed);
        slot.length.store(length, Ordering::Relaxed);
        // Release: a reader that sees the mark also sees the other words and all earlier stores.
        slot.rest.store(rest | Slots::mark(position), Ordering::Release);
    }

    /// The rare fields of a slot, allocated on first use; `None` if there is no memory.
    fn make_special(&self, position: u64) -> Option<&Special> {
        let specials = self.slots.beside();
        if specials.get().is_none() {
            // There is only one producer.
            let _ = specials.set(memory::slice(self.slots.len())?);
        }
        self.special(position)
    }

    /// Returns the rare fields of a slot, if any were allocated.
    fn special(&self, position: u64) -> Option<&Special> {
        self.slots.beside().get()?.get(self.slots.index(position))
    }

    /// Returns true if the slot of a position is filled.
    #[inline]
    pub(crate) fn is_filled(&self, position: u64) -> bool {
        // Pairs with `fill_slot`.
        Slots::is_filled(self.slots.get(position).rest.load(Ordering::Acquire), position)
    }

    /// As [`get`](Self::get), but stores a plain success in `into` and returns its work queue. Any other completion
    /// leaves `into` unchanged.
    #[inline(always)]
    pub(crate) fn get_success(&self, position: u64, into: &mut PlainSuccess) -> Option<u32> {
        let slot = self.slots.get(position);
        // Pairs with `fill_slot`.
        let rest = slot.rest.load(Ordering::Acquire);
        if (rest ^ Slots::mark(position)) & (!(SPECIAL - 1) | UNUSUAL) != 0 {
            return None;
        }
        let length = u32::try_from(slot.length.load(Ordering::Relaxed)).ok()?;
        let tag = slot.tag.load(Ordering::Relaxed);
        let cookie = slot.cookie.load(Ordering::Relaxed);
        into.set(tag, cookie, length, ((rest & OPERATION) >> OPERATION_AT) as u32);
        Some(rest as u32)
    }

    /// The completion of a position, if the slot is filled. Only the poller calls this.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> Option<Entry> {
        let slot = self.slots.get(position);
        // Pairs with `fill_slot`.
        let rest = slot.rest.load(Ordering::Acquire);
        if !Slots::is_filled(rest, position) {
            return None;
        }
        let Plain { tag, cookie, length, operation, work_queue } = slot.load(rest);
        let (mut extra, mut status) = (0, DtoStatus::Success);
        if rest & SPECIAL != 0 {
            let special = self.special(position)?;
            extra = special.extra.load(Ordering::Relaxed);
            status = unpack(special.status.load(Ordering::Relaxed));
        }
        let completion = Completion { tag, cookie, length, extra, operation, status };
        Some(Entry { completion, work_queue })
    }
}

impl Slot {
    #[inline(always)]
    fn load(&self, rest: u64) -> Plain {
        Plain {
            tag: self.tag.load(Ordering::Relaxed),
            cookie: self.cookie.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
            operation: operation(rest),
            work_queue: rest as u32,
        }
    }
}

/// The operation in the last word of a slot.
#[inline]
fn operation(rest: u64) -> Operation {
    const ALL: [Operation; 16] = {
        let mut all = [Operation::Send; 16];
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
            Operation::ReceiveSendImmediate,
            Operation::SendDatagram,
            Operation::ReceiveDatagram,
            Operation::ReceiveDatagramImmediate,
        ];
        let mut index = 0;
        while index < known.len() {
            all[known[index] as usize] = known[index];
            index += 1;
        }
        all
    };
    ALL[((rest & OPERATION) >> OPERATION_AT) as usize]
}

#[inline]
fn pack(status: DtoStatus) -> u32 {
    if status == DtoStatus::Success { 0 } else { status.value() }
}

#[inline]
fn unpack(value: u32) -> DtoStatus {
    if value == 0 { DtoStatus::Success } else { failure(value) }
}

#[cold]
fn failure(value: u32) -> DtoStatus {
    DtoStatus::all().find(|status| status.value() == value).unwrap_or(DtoStatus::Unknown(value))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A completion for any position; the kinds alternate.
    fn entry(position: u64) -> Entry {
        let number = position as usize;
        let status = DtoStatus::all().nth(number % 13).unwrap_or(DtoStatus::Unknown(77));
        let special = number % 3 == 0;
        let completion = Completion {
            tag: 1 << 60 | position,
            cookie: u64::MAX - position,
            length: u64::MAX / 2 - position,
            extra: if special { position % 2 * 5 } else { 0 },
            operation: operation((position % 15) << OPERATION_AT),
            status: if special { status } else { DtoStatus::Success },
        };
        Entry { completion, work_queue: u32::MAX - position as u32 }
    }

    #[test]
    fn a_slot_returns_what_it_was_filled_with_in_every_round() {
        // More rounds than the mark distinguishes, starting in any of them.
        for start in [0, (1 << 26) - 500, 1 << 40] {
            let ring = CompletionRing::new(3).expect("memory");
            for position in start..start + 1000 {
                assert!(!ring.is_filled(position));
                assert_eq!(ring.get(position), None, "not filled yet");
                assert!(ring.fill(position, &entry(position)));
                assert!(ring.is_filled(position));
                assert_eq!(ring.get(position), Some(entry(position)));
            }
        }
    }

    #[test]
    fn get_success_returns_exactly_the_plain_successes() {
        let ring = CompletionRing::new(64).expect("memory");
        for position in 0..2000 {
            let expected = entry(position);
            assert_eq!(ring.get_success(position, &mut PlainSuccess::default()), None);
            assert!(ring.fill(position, &expected));
            let Entry { completion, work_queue } = expected;
            let Completion { tag, cookie, length, extra, operation, status } = completion;
            let succeeded = status == DtoStatus::Success;
            let is_plain = succeeded && operation != Operation::Bind && extra == 0;
            let plain = Plain { tag, cookie, length, operation, work_queue };
            let mut success = PlainSuccess::default();
            let found = ring.get_success(position, &mut success);
            let is_success = is_plain && PlainSuccess::fits(plain.operation, plain.length);
            assert_eq!(found, is_success.then_some(plain.work_queue));
            if is_success {
                let mut expected_success = PlainSuccess::default();
                expected_success.set(
                    plain.tag,
                    plain.cookie,
                    plain.length as u32,
                    plain.operation as u32,
                );
                assert_eq!(success, expected_success);
            }
        }
    }

    #[test]
    fn every_operation_keeps_its_number() {
        for number in [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 13, 14] {
            assert_eq!(operation(number << OPERATION_AT) as u64, number);
        }
    }
}
