//! The registered memory of a side, which all runs of a scenario use again.

use std::sync::Arc;

use dat_provider::flags::Privileges;
use dat_provider::mem::Memory;
use dat_provider::{MemoryRegion, MemoryWindow, ProtectionDomain, Segment, WindowScope};

use crate::domain;
use crate::frame::Remote;

/// Number of bytes before and after the registered memory.
const GUARD: usize = 64;

/// What an area is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Area {
    Source,
    Result,
    Target,
    Receive,
}

/// Memory with an area for each request and each receive.
pub(super) struct Place {
    slot: usize,
    slots: usize,
    /// The bytes before a run.
    pub(super) initial: Vec<u8>,
    pub(super) memory: Memory,
    pub(super) domain: Arc<dyn ProtectionDomain>,
    pub(super) domain_id: u32,
    pub(super) region: Box<dyn MemoryRegion>,
    pub(super) window: Arc<dyn MemoryWindow>,
    /// The key of the region.
    pub(super) key: u32,
}

impl Place {
    pub(super) fn new(side: usize, (slot, slots): (usize, usize)) -> Self {
        let length = 4 * slots * slot;
        let memory = Memory::zeroed(length + 2 * GUARD).expect("memory");
        let domain = domain::create();
        let part = memory.part(GUARD..GUARD + length).expect("a part");
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let registration = domain.register(part, privileges).expect("a region");
        let pattern = |at: usize| (at * 7 + at / 251 + side * 99) as u8;
        Self {
            slot,
            slots,
            initial: (0..memory.len()).map(pattern).collect(),
            memory,
            domain_id: domain::downcast(&*domain).expect("its own").id,
            window: domain.create_window(TAG, WindowScope::QueuePair).expect("a window"),
            domain,
            key: registration.local_key,
            region: registration.region,
        }
    }

    /// The offset of an area in the memory.
    pub(super) fn offset(&self, area: Area, number: usize) -> usize {
        assert!(number < self.slots, "{area:?} {number}");
        GUARD + (area as usize * self.slots + number) * self.slot
    }

    /// The first bytes of an area, in one segment or, if they are several, in two.
    pub(super) fn segments(&self, area: Area, number: usize, length: usize) -> Vec<Segment> {
        assert!(length <= self.slot, "{length} bytes of {area:?}");
        let address = self.memory.address() + self.offset(area, number) as u64;
        let (whole, half) = (length as u64, length as u64 / 2);
        let of = |from: u64, to: u64| Segment {
            address: address + from,
            length: to - from,
            key: self.key,
        };
        let is_split = matches!(area, Area::Result) && length > 1;
        if is_split { vec![of(0, half), of(half, whole)] } else { vec![of(0, whole)] }
    }

    /// Memory after the region, with its key.
    pub(super) fn unregistered(&self) -> Segment {
        let address = self.memory.address() + (GUARD + 4 * self.slots * self.slot) as u64;
        Segment { address, length: 8, key: self.key }
    }

    /// Returns true if the bytes outside of the region are unchanged.
    pub(super) fn has_guards(&self) -> bool {
        let end = self.memory.len() - GUARD;
        [0, end].iter().all(|&at| {
            let found = self.memory.to_vec(at, GUARD);
            found.is_ok_and(|found| found == self.initial[at..at + GUARD])
        })
    }

    /// A target, as the peer names it.
    pub(super) fn target(&self, slot: usize) -> Remote {
        let address = self.memory.address() + self.offset(Area::Target, slot) as u64;
        Remote { context: self.key, address }
    }
}

/// The tag of each window.
pub(super) const TAG: u64 = 77;
