//! Failures: the queue pair gets into the state ERR, and all other requests are flushed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dat_provider::Completion;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::verbs::BreakCause;

use super::link::Phase;
use super::{QueuePair, QueuePairAttributes, QueuePairState, QueuePairType};
use crate::async_event::AsyncEventType;
use crate::log::explain;
use crate::work_completion::{WcOpcode, WorkCompletion};

/// The longest interval in which a queue pair looks for an arrival.
const LONGEST_LOOK: Duration = Duration::from_millis(64);

/// A request that the engine reports as a bind.
pub(super) struct Special {
    pub(super) kind: SpecialKind,
    /// True if its success is reported to the program.
    pub(super) is_reported: bool,
}

/// The operation of a [`Special`].
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

    /// A receive has completed, or another request of the peer: it considers the connection established. Reported once in
    /// the state RTR.
    pub(crate) fn note_arrival(&self) {
        let mut control = self.control.lock();
        let is_news = control.state == QueuePairState::Rtr && !control.has_arrival;
        control.has_arrival |= is_news;
        drop(control);
        if is_news {
            self.report(AsyncEventType::CommunicationEstablished);
        }
    }

    /// Looks for what arrives in the state RTR without a poll of the program, in intervals that get longer. A write that a
    /// peer on the same machine executes itself is not seen.
    pub(super) fn watch_for_arrival(&self, interval: Duration) {
        let control = self.control.lock();
        let waits = control.state == QueuePairState::Rtr
            && control.link.phase == Phase::Up
            && !control.has_arrival;
        drop(control);
        if !waits {
            return;
        }
        if self.kit.activity().received.requests != 0 {
            return self.note_arrival();
        }
        self.later(interval, move |queue_pair| {
            queue_pair.watch_for_arrival((interval * 2).min(LONGEST_LOOK));
        });
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
        self.control.lock().link.give_up();
        // The engine takes requests from now on.
        self.kit.for_verbs().give_up();
        let has_requests = !self.posting.lock().held.is_empty();
        if has_requests {
            self.explain_no_link();
        }
        self.pass_held();
        if has_requests && self.kind() == QueuePairType::Rc {
            self.kit.for_verbs().give_up();
            self.enter_error();
        }
    }

    /// The connection has ended: because of an error of this queue pair, or because the peer is lost.
    pub(super) fn note_end(&self) {
        match self.kit.for_verbs().break_cause() {
            // A peer that tries for too long to send without a receive of this side fails alone.
            None | Some(BreakCause::NoReceive) => return self.note_lost(),
            // A completion has the reason. A failed request of an unreliable queue pair stops only requests.
            Some(BreakCause::Request) if self.kind() != QueuePairType::Rc => {
                return self.note_lost();
            }
            Some(_) => self.enter_error(),
        }
        self.report_refusal();
    }

    /// Reports that the queue pair has refused a request of its peer, if that has broken the connection.
    pub(super) fn report_refusal(&self) {
        match self.kit.for_verbs().break_cause() {
            Some(BreakCause::Access) => self.report(AsyncEventType::QueuePairAccessError),
            Some(BreakCause::Operation) => self.report(AsyncEventType::QueuePairRequestError),
            _ => {}
        }
    }

    /// The peer is lost. A reliable queue pair repeats its requests for some time, in which other means may report the end
    /// to the program. An unreliable one loses its requests from now on.
    fn note_lost(&self) {
        let posting = self.posting.lock();
        self.is_open.store(false, Ordering::Release);
        drop(posting);
        self.limit_repetition();
    }

    /// If requests to a peer that is lost are outstanding, they fail after the time of their retries.
    #[cold]
    pub(super) fn limit_repetition(&self) {
        if self.kind() != QueuePairType::Rc || self.outstanding_requests() == 0 {
            return;
        }
        let mut control = self.control.lock();
        let time = repetition(&control.attributes);
        if control.link.phase != Phase::Lost || control.link.is_repeating {
            return;
        }
        control.link.is_repeating = true;
        let round = control.link.round;
        drop(control);
        let Some(time) = time else { return };
        self.later(time, move |queue_pair| {
            let control = queue_pair.control.lock();
            let is_same = control.link.round == round && control.link.phase == Phase::Lost;
            drop(control);
            if is_same {
                explain(format_args!(
                    "the requests of {queue_pair:?} fail, because its peer is lost"
                ));
                queue_pair.kit.for_verbs().give_up();
                queue_pair.enter_error();
            }
        });
    }
}

/// The time for which a request is repeated that the peer does not acknowledge; without limit if `None`.
pub(super) fn repetition(attributes: &QueuePairAttributes) -> Option<Duration> {
    let once = Duration::from_nanos(4096 << attributes.timeout.min(31));
    (attributes.timeout != 0).then(|| once * (u32::from(attributes.retry_cnt) + 1))
}
