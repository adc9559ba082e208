//! Executing the requests of the peer.

use dat_provider::flags::Privileges;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider::verbs::BreakCause;

use super::inbound::{
    Announced, AnswerData, CurrentFrame, InboundKind, InboundRequest, PendingAnswer, Unexpected,
};
use super::outbound::{MAX_EAGER, MAX_EAGER_IN_FLIGHT};
use super::receiver::{Accepted, Receiver};
use super::transmit::Transmit;
use crate::frame::{Extra, Remote};
use crate::link::Refused;
use crate::transfer::{self, AtomicOperation, LocalMemory};
use crate::window;
use crate::work_queues::TakenReceive;

impl<O: Transmit> Receiver<'_, O> {
    /// The current request of the peer is refused, which breaks the connection.
    #[cold]
    fn refuse(&mut self, refusal: BreakCause) -> Accepted {
        self.protocol.inbound.refuse(refusal);
        // A poll that has read nothing but plain frames would not report it.
        self.protocol.writes_at_once = false;
        Err(Refused)
    }

    /// The current request of the peer, whose payload of this length arrives, is refused: it breaks the connection, or is
    /// dropped if the connection is unreliable.
    #[cold]
    fn refuse_or_drop(&mut self, refusal: BreakCause, length: u64) -> Accepted {
        if !self.protocol.is_unreliable() {
            return self.refuse(refusal);
        }
        self.note_dropped();
        self.expect_payload(length, InboundKind::Dropped)
    }

    /// The peer has withdrawn a message: refuses it, unless it has got a receive by now.
    pub(super) fn refuse_withdrawn(&mut self, request: u32) -> Accepted {
        let inbound = &mut self.protocol.inbound;
        if inbound.unexpected.is_empty() || request != inbound.executed {
            return Ok(());
        }
        inbound.unexpected.clear();
        self.refuse(BreakCause::NoReceive)
    }

    #[cold]
    fn note_dropped(&mut self) {
        let dropped = &mut self.protocol.inbound.dropped;
        *dropped = dropped.saturating_add(1);
    }

    /// Queues an answer. The handshake limits how many the peer may wait for.
    fn answer_later(&mut self, data: AnswerData) -> Accepted {
        let inbound = &mut self.protocol.inbound;
        if inbound.answers.len() >= self.queues.max_reads.0 as usize {
            return Err(Refused);
        }
        let number = inbound.executed;
        inbound.answers.push_back(PendingAnswer { number, data });
        inbound.note_executed();
        Ok(())
    }

    /// Executes an atomic operation.
    pub(super) fn atomic(&mut self, remote: Remote, operation: AtomicOperation) -> Accepted {
        if !self.queues.peer_privileges.contains(Privileges::REMOTE_ATOMIC) {
            return self.refuse(BreakCause::Operation);
        }
        let target = remote_range(remote, 8);
        match transfer::execute_atomic(self.queues.remote(&target), operation) {
            Some(before) => self.answer_later(AnswerData::Word(before.to_ne_bytes())),
            None => self.refuse(BreakCause::Access),
        }
    }

    /// A message begins, and consumes a receive.
    pub(super) fn begin_message(&mut self, length: u64, solicited: bool, extra: Extra) -> Accepted {
        let (domain, number) = (self.queues.domain, self.queues.number);
        let is_next = self.protocol.inbound.unexpected.is_empty();
        if let Extra::Invalidate(key) = extra {
            if is_next && !window::is_bound(key, domain, number) {
                return self.refuse_or_drop(BreakCause::Access, length);
            }
        }
        let Some(receive) = self.take_receive(length <= MAX_EAGER) else {
            let has_own = self.queues.receives.shared.is_none();
            if has_own || length > MAX_EAGER || self.protocol.is_unreliable() {
                return self.refuse_or_drop(BreakCause::NoReceive, length);
            }
            if self.protocol.inbound.unexpected.len() >= MAX_EAGER_IN_FLIGHT {
                return Err(Refused);
            }
            // It is executed later, when the peer may wait for it.
            self.protocol.inbound.is_quiet = false;
            let data = vec![0; length as usize];
            self.protocol.inbound.current =
                CurrentFrame::Unexpected(Unexpected { data, solicited, extra });
            return Ok(());
        };
        let local = LocalMemory { segments: &receive.segments, domain: receive.domain };
        let error = if length > receive.posted.length {
            Some(DtoStatus::LocalLength)
        } else if length > 0 && !local.permits(Privileges::LOCAL_WRITE) {
            Some(DtoStatus::LocalProtection)
        } else {
            None
        };
        if let Some(status) = error {
            self.queues.receives.fail(receive.posted, status, self.upcalls);
            return self.refuse_or_drop(BreakCause::Receive, length);
        }
        self.expect_payload(length, InboundKind::Message { receive, solicited, extra })
    }

    /// Returns true if a message comes in one frame and fits into the oldest receive of the queue pair.
    #[inline]
    pub(super) fn fits_oldest_receive(&self, length: u64) -> bool {
        let receives = &self.queues.receives;
        self.protocol.is_open()
            && self.protocol.inbound.arriving.is_none()
            && receives.shared.is_none()
            && length <= self.protocol.max_first_piece
            && receives.ring.front().is_some_and(|(posted, _)| length <= posted.length)
    }

    /// A message is complete that came in one frame, for the oldest receive.
    pub(super) fn finish_message(
        &mut self,
        length: u64,
        solicited: bool,
        has_lost_memory: bool,
    ) -> Accepted {
        let (receives, upcalls) = (&mut self.queues.receives, &mut *self.upcalls);
        let Some(posted) = receives.ring.pop() else { return Err(Refused) };
        self.protocol.counts.note_taken();
        if has_lost_memory {
            receives.fail(posted, DtoStatus::LocalProtection, upcalls);
            if !self.protocol.is_unreliable() {
                return self.refuse(BreakCause::Receive);
            }
            self.note_dropped();
            self.protocol.inbound.note_executed();
            return Ok(());
        }
        receives.succeed(posted, length, solicited, upcalls);
        self.protocol.inbound.note_executed();
        Ok(())
    }

    /// Queues the answer to an RDMA read.
    pub(super) fn begin_read(&mut self, length: u64, remote: Remote) -> Accepted {
        if !self.queues.peer_privileges.contains(Privileges::REMOTE_READ) {
            return self.refuse(BreakCause::Operation);
        }
        let source = remote_range(remote, length);
        if !transfer::is_permitted(self.queues.remote(&source), Privileges::REMOTE_READ) {
            return self.refuse(BreakCause::Access);
        }
        self.answer_later(AnswerData::Read(source, 0))
    }

    /// An RDMA write begins.
    pub(super) fn begin_write(
        &mut self,
        length: u64,
        remote: Remote,
        immediate: Option<(u32, bool)>,
    ) -> Accepted {
        if !self.queues.peer_privileges.contains(Privileges::REMOTE_WRITE) {
            return self.refuse_or_drop(BreakCause::Operation, length);
        }
        let target = remote_range(remote, length);
        if !transfer::is_permitted(self.queues.remote(&target), Privileges::REMOTE_WRITE) {
            return self.refuse_or_drop(BreakCause::Access, length);
        }
        self.expect_payload(length, InboundKind::Write { target, immediate })
    }

    fn expect_payload(&mut self, length: u64, kind: InboundKind) -> Accepted {
        self.protocol.inbound.arriving =
            Some(InboundRequest { kind, length, received: 0, has_lost_memory: false });
        let first = length.min(self.protocol.max_first_piece);
        self.protocol.inbound.current = CurrentFrame::Request(first);
        Ok(())
    }

    /// Takes the receive of a message. For a message to a shared receive queue that is not eager, it
    /// was taken when the peer announced the message.
    fn take_receive(&mut self, is_eager: bool) -> Option<TakenReceive> {
        let is_shared = self.queues.receives.shared.is_some();
        let receive = if is_shared && !is_eager && !self.protocol.is_unreliable() {
            self.take_granted()
        } else if self.protocol.inbound.unexpected.is_empty() {
            self.queues.receives.take(self.upcalls)
        } else {
            None
        }?;
        self.protocol.counts.note_taken();
        Some(receive)
    }

    /// Takes the receive of an announced message whose `CTS` was sent.
    fn take_granted(&mut self) -> Option<TakenReceive> {
        let inbound = &mut self.protocol.inbound;
        match inbound.announced {
            Announced::Granted(_) => inbound.take_announced(),
            _ => None,
        }
    }

    /// The memory of the inbound request is lost, and the connection is unreliable: its receive fails, and what is left
    /// of it is dropped.
    #[cold]
    fn drop_rest(&mut self, arriving: &mut InboundRequest) {
        arriving.has_lost_memory = false;
        match std::mem::replace(&mut arriving.kind, InboundKind::Dropped) {
            InboundKind::Dropped => return,
            InboundKind::Write { .. } => {}
            InboundKind::Message { receive, .. } => {
                self.queues.receives.fail(receive.posted, DtoStatus::LocalProtection, self.upcalls);
            }
        }
        self.note_dropped();
    }

    /// A piece of the inbound request is complete; completes the request after the last one.
    pub(super) fn finish_piece(&mut self, length: u64) -> Accepted {
        let Some(mut arriving) = self.protocol.inbound.arriving.take() else { return Err(Refused) };
        arriving.received += length;
        if arriving.has_lost_memory && self.protocol.is_unreliable() {
            self.drop_rest(&mut arriving);
        }
        if !arriving.has_lost_memory && arriving.received < arriving.length {
            self.protocol.inbound.arriving = Some(arriving);
            return Ok(());
        }
        let InboundRequest { kind, length, has_lost_memory, .. } = arriving;
        match kind {
            InboundKind::Message { receive, .. } if has_lost_memory => {
                self.queues.receives.fail(receive.posted, DtoStatus::LocalProtection, self.upcalls);
                return self.refuse(BreakCause::Receive);
            }
            InboundKind::Write { .. } if has_lost_memory => {
                return self.refuse(BreakCause::Access);
            }
            InboundKind::Message { receive, solicited, extra } => {
                let (queues, upcalls) = (&mut *self.queues, &mut *self.upcalls);
                queues.complete_message(receive.posted, length, extra, solicited, upcalls);
            }
            InboundKind::Write { immediate: Some((immediate, solicited)), .. } => {
                if let Some(receive) = self.take_receive(false) {
                    let outcome = (length, DtoStatus::Success);
                    let arrival = (Operation::ReceiveImmediate, immediate.into(), solicited);
                    self.queues.receives.complete(receive.posted, outcome, arrival, self.upcalls);
                } else if self.protocol.is_unreliable() {
                    self.note_dropped();
                } else {
                    return self.refuse(BreakCause::NoReceive);
                }
            }
            InboundKind::Write { .. } | InboundKind::Dropped => {}
        }
        self.protocol.inbound.note_executed();
        Ok(())
    }
}

/// The memory range that the peer names.
fn remote_range(remote: Remote, length: u64) -> RmrTriplet {
    RmrTriplet { address: remote.address, length, context: remote.context }
}
