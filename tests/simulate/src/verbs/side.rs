//! One side of a connection: its queue pair, its memory and its window.

use std::sync::Arc;

use dat_core::provider::verbs::{LossPolicy, VerbsOptions};
use dat_core::provider::{
    Buffer, ConnectionSink, Epoch, MemoryRegion, MemoryWindow, QueuePair, QueuePairLimits,
    QueuePairSpec, ReceiveRequest, Segment, Service, WindowScope,
};
use dat_core::{CompletionFlags, Memory, Privileges, RmrTriplet};

use super::machine::{Changes, Machine};
use super::model::{Account, Phase};
use crate::memory;
use crate::model;
use crate::world::Outcome;

/// Number of slots of each area, and most requests and receives of a side.
pub(super) const SLOTS: usize = 8;

/// The areas of its memory, each of [`SLOTS`] slots.
#[derive(Clone, Copy)]
pub(super) enum Area {
    Out,
    In,
    Read,
    Receive,
    /// One slot that the peer reads, and a word for additions.
    Constant,
}

/// See the module.
pub(super) struct Side {
    pub(super) account: Account,
    pub(super) queue_pair: Box<dyn QueuePair>,
    pub(super) changes: Arc<Changes>,
    /// The number of its latest attempt.
    pub(super) attempt: u64,
    pub(super) window: Arc<dyn MemoryWindow>,
    /// One of the keys that its window may have, and the one that it has.
    pub(super) reserved: u32,
    pub(super) bound: Option<u32>,
    /// A key that it has no more.
    pub(super) stale: Option<u32>,
    pub(super) region: Box<dyn MemoryRegion>,
    key: u32,
    pub(super) remote_key: u32,
    memory: Memory,
    slot: usize,
}

impl Side {
    /// A side with a queue pair, whose completions have the tag.
    pub(super) fn new(machine: &Machine, tag: u64, service: Service, slot: usize) -> Self {
        let changes = Arc::new(Changes::default());
        let spec = QueuePairSpec {
            tag,
            service,
            domain: Some(Arc::clone(&machine.domain)),
            request_queue: Some(Arc::clone(&machine.queue)),
            receive_queue: Some(Arc::clone(&machine.queue)),
            limits: QueuePairLimits {
                max_receives: SLOTS as u32,
                max_requests: SLOTS as u32,
                max_receive_segments: 2,
                max_request_segments: 2,
                max_message_size: 1 << 20,
                max_reads_in: 4,
                max_reads_out: 4,
            },
            verbs: VerbsOptions { losses: LossPolicy::Keep, ..VerbsOptions::default() },
            ..QueuePairSpec::new(Arc::clone(&changes) as Arc<dyn ConnectionSink>)
        };
        let queue_pair = machine.adapter.create_queue_pair(spec).expect("a queue pair");
        let memory = memory::block((Area::Constant as usize * SLOTS + 1) * slot + 64);
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let registered = machine.domain.register(memory.span(), privileges).expect("a region");
        let window = machine.domain.create_window(tag, WindowScope::QueuePair).expect("a window");
        let is_unreliable = service == Service::UnreliableConnection;
        let side = Self {
            account: Account { is_unreliable, ..Account::default() },
            queue_pair,
            changes,
            attempt: 0,
            reserved: window.for_verbs().reserve_key().expect("a key"),
            window,
            bound: None,
            stale: None,
            region: registered.region,
            key: registered.local_key,
            remote_key: registered.remote_key,
            memory,
            slot,
        };
        side.fill(Area::Constant, 0, &model::bytes(7, slot));
        side
    }

    /// Where a slot begins.
    pub(super) fn slot_address(&self, area: Area, number: usize) -> u64 {
        self.memory.address() + ((area as usize * SLOTS + number) * self.slot) as u64
    }

    /// The memory of an area, all slots of it.
    pub(super) fn area(&self, area: Area) -> Buffer {
        Buffer { address: self.slot_address(area, 0), length: (SLOTS * self.slot) as u64 }
    }

    /// The word of the peer's additions.
    pub(super) fn word(&self) -> u64 {
        self.slot_address(Area::Constant, 1)
    }

    pub(super) fn segment(&self, address: u64, length: usize) -> Segment {
        Segment { address, length: length as u64, key: self.key }
    }

    /// This memory for the peer, by the key of the region or by another one.
    pub(super) fn triplet(&self, address: u64, length: usize, key: Option<u32>) -> RmrTriplet {
        let context = key.unwrap_or(self.remote_key);
        RmrTriplet { address, length: length as u64, context }
    }

    pub(super) fn fill(&self, area: Area, number: usize, bytes: &[u8]) {
        let offset = (self.slot_address(area, number) - self.memory.address()) as usize;
        self.memory.write(offset, bytes).expect("a slot");
    }

    pub(super) fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        self.memory.to_vec((address - self.memory.address()) as usize, length).expect("a slot")
    }

    /// Posts receives until there are that many.
    ///
    /// # Errors
    /// A receive is refused, or posted although it must be refused.
    pub(super) fn post_receives(&mut self, wanted: usize, cookie: &mut u64) -> Outcome {
        while self.account.receives.len() < wanted.min(SLOTS) {
            let used = |slot| self.account.receives.iter().any(|(_, other)| *other == slot);
            let Some(slot) = (0..SLOTS).find(|slot| !used(*slot)) else { return Ok(()) };
            *cookie += 1;
            let segments = [self.segment(self.slot_address(Area::Receive, slot), self.slot)];
            let (flags, checked) = (CompletionFlags::empty(), Epoch::default());
            let request = ReceiveRequest { segments: &segments, cookie: *cookie, flags, checked };
            match self.queue_pair.post_receive(&request) {
                Ok(()) => self.account.receives.push_back((*cookie, slot)),
                Err(_) if self.account.phase == Phase::Disconnected => return Ok(()),
                Err(error) => return Err(format!("a receive is refused: {error}")),
            }
        }
        Ok(())
    }
}
