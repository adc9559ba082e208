//! What was posted and is not complete: it is written, completed and flushed.

use dat_provider::Work;
use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::DtoStatus;
use dat_provider::triplet::RmrTriplet;

use super::conn::{Conn, How, Stage};
use super::responder::{Arrival, Arriving};
use super::side::Side;
use super::work::{Item, Task};
use crate::frame::{Body, MAX_PIECE, Reason, Remote as Place};
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;

/// The longest message, in bytes, that is sent to a shared queue without being announced, and the
/// most that are not acknowledged.
pub(super) const EAGER: u64 = 4096;
pub(super) const MOST_EAGER: usize = 16;

impl Conn {
    /// Whether the next message waits for a receive at the peer.
    pub(super) fn waits_for_credit(&self) -> bool {
        self.stage == Stage::Open && self.sent < self.work.len()
    }

    /// Completes the oldest requests, as far as they are executed.
    pub(super) fn complete(&mut self, side: &mut Side, upcalls: &mut Upcalls) {
        while let Some(front) = self.work.front() {
            let status = match (front.failed, front.wire) {
                (Some(status), _) => status,
                (None, Some(wire))
                    if self.sent > 0
                        && front.answered
                        && self.peer_done.wrapping_sub(wire) as i32 > 0 =>
                {
                    DtoStatus::Success
                }
                _ => return,
            };
            let Some(item) = self.work.pop_front() else { return };
            self.sent = self.sent.saturating_sub(1);
            side.finish(&item, status, upcalls);
            if status != DtoStatus::Success {
                let reason = Reason::Broken { request: 0, status: DtoStatus::Flushed };
                return self.end(How::Broken, Some(reason));
            }
        }
    }

    /// Writes the next frame of the oldest request that is not written wholly; whether there was
    /// progress.
    pub(super) fn write_request(&mut self, side: &mut Side) -> bool {
        let index = self.sent;
        let earlier_answers = self.work.iter().take(index).any(|item| !item.answered);
        let Some(item) = self.work.get_mut(index) else { return false };
        if item.failed.is_some() {
            return false;
        }
        if let Task::Bind(bind) = &item.task {
            if index > 0 {
                return false;
            }
            let bound = bind.execute(side.domain);
            // It was never on the link.
            item.failed = Some(if bound { DtoStatus::Success } else { DtoStatus::RmrFailed });
            return true;
        }
        if item.flags.contains(CompletionFlags::BARRIER_FENCE) && earlier_answers {
            return false;
        }
        let begins = item.wire.is_none();
        if begins && item.wants_answer() && self.reads >= self.peer_reads.min(side.reads.1.max(1)) {
            return false;
        }
        let is_eager = self.peer_shared && item.is_message() && item.length <= EAGER;
        if begins && is_eager {
            if self.eager.len() >= MOST_EAGER {
                return false;
            }
        } else if begins && !self.eager.is_empty() {
            // The peer may have to keep what was sent, and keeps nothing else.
            return false;
        } else if begins && item.takes_receive() {
            if self.peer_shared {
                if !self.granted {
                    let length = item.length;
                    if !self.asked && self.write(Body::Rts { length }, &[]) {
                        self.asked = true;
                    }
                    return false;
                }
            } else if self.credit == self.used {
                return false;
            }
        }
        let length = (item.length - item.sent).min(MAX_PIECE);
        let last = item.sent + length == item.length;
        let local = LocalMemory { segments: &item.segments, domain: side.domain };
        self.spans.clear();
        let part = (item.sent, length);
        if !transfer::local_spans(local, Privileges::LOCAL_READ, part, &mut self.spans) {
            item.failed = Some(DtoStatus::LocalProtection);
            return true;
        }
        let body = if begins { opening(item) } else { Some(Body::More { length, last }) };
        let Some(body) = body else {
            item.failed = Some(DtoStatus::LocalEndpoint);
            return true;
        };
        if !self.write_spans(body) {
            return false;
        }
        let Some(item) = self.work.get_mut(index) else { return false };
        if begins {
            item.wire = Some(self.next);
            if is_eager {
                self.eager.push_back(self.next);
            }
            if item.wants_answer() {
                self.reads += 1;
            }
            self.next = self.next.wrapping_add(1);
            if item.takes_receive() && !is_eager {
                self.used = self.used.wrapping_add(1);
                (self.asked, self.granted) = (false, false);
            }
        }
        item.sent += length;
        if last {
            self.sent += 1;
        }
        true
    }

    /// Flushes all that is outstanding, after a request that the peer says has failed.
    pub(super) fn flush(
        &mut self,
        failed: Option<(u32, DtoStatus)>,
        side: &mut Side,
        upcalls: &mut Upcalls,
    ) {
        if let Some(Arriving { what: Arrival::Message { taken, .. }, .. }) = self.arriving.take() {
            side.receives.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
        if let Some(taken) = self.buffer.take() {
            side.receives.fail(taken.posted, DtoStatus::Flushed, upcalls);
        }
        while let Some(item) = self.work.pop_front() {
            let status = match (failed, item.wire) {
                (Some((number, status)), Some(wire)) if wire == number => status,
                (_, Some(wire))
                    if item.answered
                        && item.sent == item.length
                        && item.failed.is_none()
                        && self.peer_done.wrapping_sub(wire) as i32 > 0 =>
                {
                    DtoStatus::Success
                }
                _ => DtoStatus::Flushed,
            };
            side.finish(&item, status, upcalls);
        }
        side.receives.flush(upcalls);
    }
}

/// The frame that a request begins with.
fn opening(item: &Item) -> Option<Body> {
    let Task::Work(work) = &item.task else { return None };
    let length = item.length;
    let solicited = item.flags.contains(CompletionFlags::SOLICITED_WAIT);
    let place = |at: &RmrTriplet| Place { context: at.context, address: at.address };
    Some(match work {
        Work::Send => Body::Send { length, solicited, invalidate: None },
        Work::SendInvalidate { key } => Body::Send { length, solicited, invalidate: Some(*key) },
        Work::RdmaWrite { remote } => Body::Write { length, remote: place(remote) },
        Work::RdmaWriteImmediate { remote, immediate } => {
            Body::WriteImmediate { length, remote: place(remote), immediate: *immediate, solicited }
        }
        Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. } => {
            Body::Read { length: remote.length, remote: place(remote) }
        }
        Work::FetchAdd { add, remote } => Body::FetchAdd { remote: place(remote), add: *add },
        Work::CompareSwap { compare, swap, remote } => {
            Body::CompareSwap { remote: place(remote), compare: *compare, swap: *swap }
        }
        _ => return None,
    })
}
