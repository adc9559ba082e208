//! Which work queue a completion of the device's belongs to, and what it says there.

use std::collections::HashMap;
use std::sync::Arc;

use dat_core::provider::Completion;
use dat_core::{DtoStatus, Operation};

use super::Queue;
use crate::device::Limits;
use crate::ledger::{Done, Ledger};
use crate::shared_receive::Shared;
use crate::sys::verbs as sys;
use crate::verbs::WorkCompletion;

/// Where completions of the device's belong.
pub(super) struct Routes {
    pub(super) entries: Vec<Entry>,
    /// Queue pairs with a shared receive queue, by number: their completions name a buffer.
    pub(super) by_number: HashMap<u32, usize>,
    /// The flags of a completion of which any says that a key was made invalid.
    invalidated: u32,
}

/// A work queue that completes here.
#[derive(Default)]
pub(super) struct Entry {
    /// Distinguishes it from those that had the place before.
    pub(super) generation: u16,
    pub(super) ledger: Option<Arc<Ledger>>,
    pub(super) shared: Option<Arc<Shared>>,
    /// Its receives are of datagrams.
    pub(super) datagrams: bool,
}

/// Where the room of a completion that waits is counted.
pub(super) enum Room {
    Ledger(Arc<Ledger>),
    Shared(Arc<Shared>),
}

impl Room {
    pub(super) fn release(&self) {
        self.borrow().release();
    }

    fn borrow(&self) -> RoomRef<'_> {
        match self {
            Self::Ledger(ledger) => RoomRef::Ledger(ledger),
            Self::Shared(shared) => RoomRef::Shared(shared),
        }
    }
}

/// The same for a completion that nobody has to keep.
#[derive(Clone, Copy)]
pub(super) enum RoomRef<'a> {
    Ledger(&'a Arc<Ledger>),
    Shared(&'a Arc<Shared>),
}

impl RoomRef<'_> {
    #[inline]
    pub(super) fn release(self) {
        match self {
            Self::Ledger(ledger) => ledger.release(1),
            Self::Shared(shared) => shared.release(),
        }
    }

    pub(super) fn keep(self) -> Room {
        match self {
            Self::Ledger(ledger) => Room::Ledger(Arc::clone(ledger)),
            Self::Shared(shared) => Room::Shared(Arc::clone(shared)),
        }
    }
}

impl Routes {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            entries: Vec::new(),
            by_number: HashMap::new(),
            invalidated: match limits.is_soft_roce() {
                // It hands out the kernel's own flag, which for a program means something that
                // no connection has.
                true => sys::IBV_WC_WITH_INV | sys::IBV_WC_IP_CSUM_OK,
                false => sys::IBV_WC_WITH_INV,
            },
        }
    }

    /// What a successful completion of the device's means, and the work queue that has its room
    /// back; nothing of one that nobody is to hear of, or of a shared receive queue.
    #[inline(always)]
    pub(super) fn succeeded(&self, from: &WorkCompletion) -> Option<(Completion, &Ledger)> {
        let id = Identifier::unpack(from.wr_id);
        let entry = self.entries.get(usize::from(id.index))?;
        let ledger = entry.ledger.as_deref()?;
        if entry.generation != id.generation {
            return None;
        }
        let (_, mut done) = ledger.complete(id.number, DtoStatus::Success)?;
        if !done.completion.operation.is_request() {
            received(&mut done.completion, from, self.invalidated);
        }
        Some((done.completion, ledger))
    }

    /// What a completion of the device's means; nothing of one that nobody is to hear of.
    pub(super) fn translate(
        &self,
        queue: &Queue,
        from: &WorkCompletion,
    ) -> Option<(Done, RoomRef<'_>)> {
        let status = status(from.status);
        let id = Identifier::unpack(from.wr_id);
        if let Some(place) = id.shared_place() {
            return self.translate_shared(queue, from, place, status);
        }
        let entry = self.entries.get(usize::from(id.index))?;
        let ledger = entry.ledger.as_ref().filter(|_| entry.generation == id.generation)?;
        if status != DtoStatus::Success {
            queue.trouble(ledger);
        }
        let (_, mut done) = ledger.complete(id.number, status)?;
        if status == DtoStatus::Success && !done.completion.operation.is_request() {
            received(&mut done.completion, from, self.invalidated);
        }
        Some((done, RoomRef::Ledger(ledger)))
    }

    #[cold]
    fn translate_shared(
        &self,
        queue: &Queue,
        from: &WorkCompletion,
        place: u32,
        status: DtoStatus,
    ) -> Option<(Done, RoomRef<'_>)> {
        let entry = self.entries.get(*self.by_number.get(&from.qp_num)?)?;
        let (ledger, shared) = (entry.ledger.as_ref()?, entry.shared.as_ref()?);
        if status != DtoStatus::Success {
            queue.trouble(ledger);
        }
        let mut done = shared.complete(place, ledger.tag, status)?;
        if entry.datagrams {
            done.completion.operation = Operation::ReceiveDatagram;
        }
        if status == DtoStatus::Success {
            received(&mut done.completion, from, self.invalidated);
        }
        Some((done, RoomRef::Shared(shared)))
    }
}

/// What only the completion of a receive says.
#[inline(always)]
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

/// What a post completes under: its work queue's place and its number there, or the place of a
/// buffer of a shared receive queue.
pub(super) struct Identifier {
    pub(super) index: u16,
    pub(super) generation: u16,
    pub(super) number: u32,
}

/// The index that stands for shared receive queues.
const SHARED: u16 = u16::MAX;

impl Identifier {
    pub(super) fn pack(&self) -> u64 {
        u64::from(self.index) << 48 | u64::from(self.generation) << 32 | u64::from(self.number)
    }

    const fn unpack(value: u64) -> Self {
        Self { index: (value >> 48) as u16, generation: (value >> 32) as u16, number: value as u32 }
    }

    fn shared_place(&self) -> Option<u32> {
        (self.index == SHARED).then_some(self.number)
    }
}

/// Whether an identifier is that of a buffer of a shared receive queue.
pub(super) fn is_shared(identifier: u64) -> bool {
    Identifier::unpack(identifier).shared_place().is_some()
}

/// The identifier of a buffer of a shared receive queue.
pub(crate) fn shared_identifier(place: u32) -> u64 {
    Identifier { index: SHARED, generation: 0, number: place }.pack()
}

/// The status of DAT for one of the device's (ibv_poll_cq(3)).
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
    fn identifiers_come_back_as_they_went() {
        let id = Identifier::unpack(
            Identifier { index: 513, generation: 65535, number: u32::MAX }.pack(),
        );
        assert_eq!((id.index, id.generation, id.number), (513, 65535, u32::MAX));
        assert_eq!(id.shared_place(), None);
        assert_eq!(Identifier::unpack(shared_identifier(9)).shared_place(), Some(9));
    }

    #[test]
    fn a_status_that_nobody_knows_is_kept() {
        assert_eq!(status(4711), DtoStatus::Unknown(4711));
        assert_eq!(status(sys::IBV_WC_WR_FLUSH_ERR), DtoStatus::Flushed);
        assert_eq!(status(sys::IBV_WC_SUCCESS), DtoStatus::Success);
    }
}
