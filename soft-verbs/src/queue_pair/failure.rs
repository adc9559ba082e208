//! What a failure causes: the queue pair gets into the state ERR, and the rest is flushed.

use std::sync::atomic::Ordering;

use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{BreakCause, Completion};

use super::{QueuePair, QueuePairState, QueuePairType};
use crate::async_event::AsyncEventType;
use crate::completion_queue::failed;
use crate::work_completion::{WcOpcode, WcStatus, WorkCompletion};

/// A request that the engine reports as a bind.
pub(super) struct Special {
    pub(super) kind: SpecialKind,
    /// True if its success is reported to the program.
    pub(super) is_reported: bool,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecialKind {
    /// A bind.
    Bind,
    /// A local invalidation.
    LocalInvalidate,
}

impl QueuePair {
    /// Completes the translation of a bind or a failure. Returns true if it is reported to the program.
    #[cold]
    pub(crate) fn note_special(&self, from: &Completion, into: &mut WorkCompletion) -> bool {
        let mut control = self.control.lock();
        let mut is_reported = true;
        if from.operation == Operation::Bind {
            if let Some(special) = control.special.pop_front() {
                is_reported = special.is_reported;
                if special.kind == SpecialKind::LocalInvalidate {
                    into.opcode = WcOpcode::LOCAL_INV;
                }
            }
        }
        if from.status == DtoStatus::Success {
            return is_reported;
        }
        let is_first = !matches!(control.state, QueuePairState::Err | QueuePairState::Reset);
        drop(control);
        if is_first {
            self.note_failure(from.operation);
        }
        true
    }

    /// An operation has failed. If it is a request of an unreliable queue pair, receives go on (SQE).
    fn note_failure(&self, operation: Operation) {
        if self.kind() == QueuePairType::Rc || !operation.is_request() {
            return self.enter_error();
        }
        let _posting = self.posting.lock();
        let mut control = self.control.lock();
        // The engine may have ended the connection because of it.
        if control.state == QueuePairState::Rts {
            self.set_state(&mut control, QueuePairState::Sqe);
            self.is_open.store(false, Ordering::Release);
        }
    }

    /// A receive has completed: the peer considers the connection established. Reported once in the state RTR.
    pub(crate) fn note_arrival(&self) {
        let mut control = self.control.lock();
        let is_news = control.state == QueuePairState::Rtr && !control.has_arrival;
        control.has_arrival |= is_news;
        drop(control);
        if is_news {
            self.report(AsyncEventType::CommunicationEstablished);
        }
    }

    /// An operation has failed.
    #[cold]
    pub(super) fn enter_error(&self) {
        let mut control = self.control.lock();
        if matches!(control.state, QueuePairState::Err | QueuePairState::Reset) {
            return;
        }
        self.set_state(&mut control, QueuePairState::Err);
        drop(control);
        self.flush();
    }

    /// The peer did not connect in time: the oldest request that waits fails, and the rest is flushed. Those of an
    /// unreliable queue pair are lost.
    pub(super) fn fail_held(&self) {
        if self.kind() != QueuePairType::Rc {
            let mut posting = self.posting.lock();
            posting.to_drain = 0;
            let held = std::mem::take(&mut posting.held);
            drop(posting);
            for request in held {
                // It never fails.
                let _ = request.post(|request| {
                    self.fail_lost(request);
                    Ok(())
                });
            }
            return;
        }
        let oldest = self.posting.lock().held.pop_front();
        if let Some(request) = oldest {
            let status = WcStatus::RETRY_EXC_ERR;
            self.init.send_queue.push(failed(request.wr_id, self.number, status));
            self.enter_error();
        }
    }

    /// The connection has ended: because of an error of this queue pair, or because the peer is lost.
    pub(super) fn note_end(&self) {
        let event = match self.kit.break_cause() {
            // A peer that tries for too long to send without a receive of this side fails alone.
            None | Some(BreakCause::NoReceive) => return self.note_lost(),
            Some(BreakCause::Access) => Some(AsyncEventType::QueuePairAccessError),
            Some(BreakCause::Operation) => Some(AsyncEventType::QueuePairRequestError),
            // A completion has the reason. A failed request of an unreliable queue pair stops only requests.
            Some(BreakCause::Request) if self.kind() != QueuePairType::Rc => {
                return self.note_lost();
            }
            Some(_) => None,
        };
        self.enter_error();
        if let Some(event) = event {
            self.report(event);
        }
    }

    /// The connection has ended. The engine fails the next request of a reliable queue pair; those of an unreliable one
    /// are lost from now on.
    fn note_lost(&self) {
        if self.kind() == QueuePairType::Rc {
            return;
        }
        let _posting = self.posting.lock();
        self.is_open.store(false, Ordering::Release);
    }
}
