//! Finds the work queue of a device completion, and translates the completion.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dat_provider::Completion;
use dat_provider::plain_success::PlainSuccess;
use dat_provider::status::{DtoStatus, Operation};

use super::batch::BATCH;
use super::identifier::{Identifier, SHARED, is_shared, key};
use crate::device::Limits;
use crate::engine::{Command, Engine};
use crate::shared_receive::Shared;
use crate::sys::verbs as sys;
use crate::verbs::WorkCompletion;
use crate::wc_status;
use crate::work_queue::{Done, WorkQueue};

/// The work queues that complete into a queue.
pub(super) struct WorkQueueTable {
    /// At most [`SHARED`] entries.
    entries: Vec<Entry>,
    /// The indices of unused entries.
    vacant: Vec<u16>,
    /// An empty work queue for unused entries.
    unused: Arc<WorkQueue>,
    /// Queue pairs with a shared receive queue, by number: their receive completions identify only
    /// a buffer.
    pub(super) by_number: HashMap<u32, u16>,
    /// The completion flags any of which means that a key was invalidated.
    invalidated: u32,
    /// True if a flushed completion means that the connection broke.
    flush_is_trouble: bool,
}

/// The entry of a work queue.
pub(super) struct Entry {
    /// The part of its identifiers besides the number; [`VACANT`] for an unused entry.
    key: u32,
    /// Distinguishes the work queue from former users of the entry.
    generation: u16,
    /// Empty for an unused entry.
    work_queue: Arc<WorkQueue>,
    pub(super) shared: Option<Arc<Shared>>,
    /// True if its receives are datagrams.
    pub(super) datagrams: bool,
}

/// Where the queue credit of a completion is counted.
pub(super) enum Credit {
    WorkQueue(Arc<WorkQueue>),
    Shared(Arc<Shared>),
}

impl Credit {
    pub(super) fn release(&self) {
        match self {
            Self::WorkQueue(work_queue) => work_queue.release(),
            Self::Shared(shared) => shared.release(),
        }
    }
}

/// The key of an unused entry, which otherwise only buffers of shared queues have.
const VACANT: u32 = u32::MAX;

impl WorkQueueTable {
    /// `None` if there is no memory for it.
    pub(super) fn new(limits: &Limits) -> Option<Self> {
        Some(Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            unused: WorkQueue::create(0, 0, 0, 0)?.work_queue,
            by_number: HashMap::new(),
            invalidated: match limits.quirks.invalidation_flag_is_internal {
                true => sys::IBV_WC_WITH_INV | sys::IBV_WC_IP_CSUM_OK,
                false => sys::IBV_WC_WITH_INV,
            },
            // On iWARP, requests are also flushed when the peer disconnects.
            flush_is_trouble: !limits.is_iwarp,
        })
    }

    /// Reserves space for one more work queue, and for the end of each; returns whether there is memory for that.
    pub(super) fn reserve(&mut self) -> bool {
        let count = self.entries.len().saturating_add(1);
        let names = count.saturating_sub(self.by_number.len());
        let vacant = count.saturating_sub(self.vacant.len());
        self.entries.try_reserve(1).is_ok()
            && self.vacant.try_reserve(vacant).is_ok()
            && self.by_number.try_reserve(names).is_ok()
    }

    /// Adds a work queue, for which space is [reserved](Self::reserve); returns the index of its entry and the identifier of its post number 0.
    /// `None` if all entries are in use.
    pub(super) fn add(
        &mut self,
        work_queue: &Arc<WorkQueue>,
        shared: Option<&Arc<Shared>>,
        datagrams: bool,
    ) -> Option<(u16, u64)> {
        let index = self.vacant.pop().or_else(|| self.add_entry())?;
        let entry = self.entries.get_mut(usize::from(index))?;
        entry.generation = entry.generation.wrapping_add(1);
        let place = Identifier { index, generation: entry.generation, number: 0 }.pack();
        entry.key = key(place);
        entry.work_queue = Arc::clone(work_queue);
        entry.shared = shared.cloned();
        entry.datagrams = datagrams;
        Some((index, place))
    }

    fn add_entry(&mut self) -> Option<u16> {
        let index = u16::try_from(self.entries.len()).ok().filter(|&index| index != SHARED)?;
        let work_queue = Arc::clone(&self.unused);
        let datagrams = false;
        self.entries.push(Entry {
            key: VACANT,
            generation: 0,
            work_queue,
            shared: None,
            datagrams,
        });
        Some(index)
    }

    /// Frees an entry; the caller must drop the result without holding a lock.
    pub(super) fn remove(&mut self, index: u16) -> Option<(Arc<WorkQueue>, Option<Arc<Shared>>)> {
        self.by_number.retain(|_, other| *other != index);
        let entry = self.entries.get_mut(usize::from(index))?;
        entry.key = VACANT;
        self.vacant.push(index);
        Some((
            std::mem::replace(&mut entry.work_queue, Arc::clone(&self.unused)),
            entry.shared.take(),
        ))
    }

    /// Returns true if no work queue is registered.
    pub(super) fn are_none(&self) -> bool {
        self.entries.len() == self.vacant.len()
    }

    /// Returns true if any of these needs processing: it failed, carries extra data, or belongs to a shared
    /// receive queue.
    #[inline(always)]
    pub(super) fn are_special(&self, list: &[WorkCompletion]) -> bool {
        // Most polls find none or one. A full list takes a loop of constant length.
        let (status, flags) = match list {
            [] => return false,
            [one] => (one.status, one.wc_flags),
            several => match <&[WorkCompletion; BATCH]>::try_from(several) {
                Ok(full) => gather(full),
                Err(_) => gather(several),
            },
        };
        const { assert!(sys::IBV_WC_SUCCESS == 0) };
        status | flags & (self.invalidated | sys::IBV_WC_WITH_IMM) != 0
            || !self.by_number.is_empty() && list.iter().any(|entry| is_shared(entry.wr_id))
    }

    /// Takes a completion that is not [special](Self::are_special), if its post is an ordinary one.
    #[inline(always)]
    pub(super) fn take(&self, from: &WorkCompletion, into: &mut PlainSuccess) -> bool {
        let &WorkCompletion { wr_id, byte_len, .. } = from;
        let id = Identifier::unpack(wr_id);
        let Some(entry) = self.entries.get(usize::from(id.index)) else { return false };
        let work_queue = &*entry.work_queue;
        if entry.key != key(wr_id) {
            return false;
        }
        let Some(done) = work_queue.succeed(id.number, byte_len) else { return false };
        into.set(work_queue.tag, done.cookie, done.length, done.operation);
        true
    }

    /// Returns true if a completion means that the connection has a problem.
    #[inline]
    fn is_trouble(&self, status: DtoStatus) -> bool {
        match status {
            DtoStatus::Success => false,
            DtoStatus::Flushed => self.flush_is_trouble,
            _ => true,
        }
    }

    /// Translates a device completion; `None` if it must not be reported.
    pub(super) fn translate(
        &self,
        engine: &Engine,
        from: &WorkCompletion,
    ) -> Option<(Done, Credit)> {
        let status = status(from.status);
        let id = Identifier::unpack(from.wr_id);
        if let Some(place) = id.shared_place() {
            return self.translate_shared(engine, from, place, status);
        }
        let entry = self.entries.get(usize::from(id.index))?;
        if entry.key != key(from.wr_id) {
            return None;
        }
        let work_queue = &entry.work_queue;
        if self.is_trouble(status) {
            report_trouble(engine, work_queue);
        }
        let mut done = work_queue.complete(id.number, status)?;
        if status != DtoStatus::Success {
            work_queue.remember(&done.completion, || wc_status::describe(from));
        } else if !done.completion.operation.is_request() {
            received(&mut done.completion, from, self.invalidated);
        }
        Some((done, Credit::WorkQueue(Arc::clone(work_queue))))
    }

    #[cold]
    fn translate_shared(
        &self,
        engine: &Engine,
        from: &WorkCompletion,
        place: u32,
        status: DtoStatus,
    ) -> Option<(Done, Credit)> {
        let entry = self.entries.get(usize::from(*self.by_number.get(&from.qp_num)?))?;
        let (work_queue, shared) = (&entry.work_queue, entry.shared.as_ref()?);
        if self.is_trouble(status) {
            report_trouble(engine, work_queue);
        }
        let mut done = shared.complete(place, work_queue.tag, status)?;
        if entry.datagrams {
            done.completion.operation = Operation::ReceiveDatagram;
        }
        if status == DtoStatus::Success {
            received(&mut done.completion, from, self.invalidated);
        } else {
            work_queue.remember(&done.completion, || wc_status::describe(from));
        }
        Some((done, Credit::Shared(Arc::clone(shared))))
    }
}

/// Reports to the engine that something failed on a work queue, once per connection.
#[cold]
fn report_trouble(engine: &Engine, work_queue: &WorkQueue) {
    if !work_queue.failure_reported.swap(true, Ordering::Relaxed) {
        engine.send(Command::Trouble(work_queue.owner));
    }
}

/// The bitwise OR of all status values, and of all flags.
#[inline(always)]
fn gather(list: &[WorkCompletion]) -> (u32, u32) {
    list.iter().fold((0, 0), |(status, flags), it| (status | it.status, flags | it.wc_flags))
}

/// Adds what only the completion of a receive has.
fn received(completion: &mut Completion, from: &WorkCompletion, invalidated: u32) {
    completion.length = u64::from(from.byte_len);
    if completion.operation == Operation::ReceiveDatagram {
        return;
    }
    if from.opcode == sys::IBV_WC_RECV_RDMA_WITH_IMM {
        completion.operation = Operation::ReceiveImmediate;
        completion.extra = u64::from(from.imm_or_key);
    } else if from.wc_flags & invalidated != 0 {
        completion.operation = Operation::ReceiveWithInvalidate;
        completion.extra = u64::from(from.imm_or_key);
    }
}

/// The DAT status of a device status (ibv_poll_cq(3)).
const fn status(value: u32) -> DtoStatus {
    match value {
        sys::IBV_WC_SUCCESS => DtoStatus::Success,
        sys::IBV_WC_LOC_LEN_ERR => DtoStatus::LocalLength,
        sys::IBV_WC_LOC_QP_OP_ERR => DtoStatus::LocalEndpoint,
        sys::IBV_WC_LOC_PROT_ERR | sys::IBV_WC_LOC_ACCESS_ERR => DtoStatus::LocalProtection,
        sys::IBV_WC_WR_FLUSH_ERR => DtoStatus::Flushed,
        sys::IBV_WC_MW_BIND_ERR => DtoStatus::RmrFailed,
        sys::IBV_WC_BAD_RESP_ERR => DtoStatus::BadResponse,
        sys::IBV_WC_REM_ACCESS_ERR => DtoStatus::RemoteAccess,
        sys::IBV_WC_REM_INV_REQ_ERR | sys::IBV_WC_REM_OP_ERR | sys::IBV_WC_REM_ABORT_ERR => {
            DtoStatus::RemoteResponder
        }
        sys::IBV_WC_RETRY_EXC_ERR | sys::IBV_WC_FATAL_ERR | sys::IBV_WC_RESP_TIMEOUT_ERR => {
            DtoStatus::Transport
        }
        sys::IBV_WC_RNR_RETRY_EXC_ERR => DtoStatus::ReceiverNotReady,
        other => DtoStatus::Unknown(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_used_and_reused_with_a_new_identifier() {
        let mut work_queue_table = WorkQueueTable::new(&Limits::default()).expect("memory");
        let work_queue = WorkQueue::create(1, 0, 1, 0).expect("memory").work_queue;
        let mut seen = std::collections::HashSet::new();
        while let Some((_, place)) = work_queue_table.add(&work_queue, None, false) {
            assert!(seen.insert(place) && !is_shared(place));
            assert!(work_queue_table.reserve());
            let table = &work_queue_table;
            assert!(table.vacant.capacity() > table.entries.len(), "all can be removed");
        }
        assert_eq!(seen.len(), usize::from(SHARED));
        assert!(work_queue_table.remove(7).is_some());
        let (index, place) = work_queue_table.add(&work_queue, None, false).expect("one is free");
        assert!(index == 7 && seen.insert(place), "its identifier differs from the former one");
        for index in 0..SHARED {
            assert!(!work_queue_table.are_none());
            work_queue_table.remove(index);
        }
        assert!(work_queue_table.are_none());
    }

    #[test]
    fn an_unknown_status_is_kept() {
        assert_eq!(status(4711), DtoStatus::Unknown(4711));
        assert_eq!(status(sys::IBV_WC_WR_FLUSH_ERR), DtoStatus::Flushed);
        assert_eq!(status(sys::IBV_WC_SUCCESS), DtoStatus::Success);
    }
}
