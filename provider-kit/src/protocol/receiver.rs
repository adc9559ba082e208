//! The frames of the peer: where each belongs, and where its payload goes.

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use dat_provider::{RefusalCause, Work};

use super::inbound::{Announced, CurrentFrame, InboundKind, Unexpected};
use super::request::Task;
use super::state::{EndCause, Protocol, Stage};
use super::transmit::Transmit;
use crate::bytes;
use crate::frame::{AckHead, Body, Extra, Frame, MessageHead, Reason};
use crate::handshake::Step;
use crate::link::{Destinations, FrameSink, Refused};
use crate::transfer::{self, AtomicOperation, LocalMemory};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// The acceptance of a frame by the connection, or the reason against it.
pub(super) type Accepted = Result<(), Refused>;

/// The receiver of the frames of a connection.
pub(crate) struct Receiver<'a, O> {
    pub(crate) protocol: &'a mut Protocol,
    /// For the replies of the handshake, and to fetch messages.
    pub(crate) out: &'a mut O,
    pub(crate) queues: &'a mut WorkQueues,
    pub(crate) upcalls: &'a mut Upcalls,
}

impl<O: Transmit> FrameSink for Receiver<'_, O> {
    fn message(&mut self, head: &MessageHead, payload: Span) -> Result<bool, Refused> {
        let Self { protocol, queues, upcalls, .. } = self;
        let receives = &mut queues.receives;
        let is_plain = protocol.is_open()
            && protocol.ending.is_none()
            && protocol.inbound.arriving.is_none()
            && receives.shared.is_none();
        let Some((posted, place)) = receives.front_span(head.length).filter(|_| is_plain) else {
            return Ok(false);
        };
        if !protocol.outbound.apply_counts(head.done, head.posted) {
            return Err(Refused);
        }
        if !transfer::copy_span(payload, place) {
            return Ok(false);
        }
        receives.ring.remove_front();
        protocol.counts.note_taken();
        receives.succeed(posted, head.length, head.solicited, upcalls);
        protocol.inbound.note_executed();
        Ok(true)
    }

    fn ack(&mut self, head: &AckHead) -> Result<bool, Refused> {
        let is_plain = self.protocol.is_open() && self.protocol.ending.is_none();
        if is_plain {
            self.apply_counts(head.done, head.posted)?;
        }
        Ok(is_plain)
    }

    #[inline]
    fn begin(&mut self, frame: &Frame) -> Accepted {
        if self.protocol.ending.is_some() {
            return Err(Refused);
        }
        if frame.body == Body::Ack && self.protocol.is_open() {
            self.protocol.inbound.current = CurrentFrame::Empty;
            return self.apply_counts(frame.done, frame.posted);
        }
        self.protocol.inbound.is_quiet |= frame.quiet;
        if let Body::Send { length, solicited, extra: Extra::None } = frame.body {
            if self.fits_oldest_receive(length) {
                self.apply_counts(frame.done, frame.posted)?;
                self.protocol.inbound.current =
                    CurrentFrame::Message { length, solicited, has_lost_memory: false };
                return Ok(());
            }
        }
        self.protocol.inbound.current = CurrentFrame::Empty;
        self.protocol.has_read_plain = false;
        match (self.protocol.stage, frame.body) {
            (Stage::AwaitAnswer, Body::Answer { length, .. } | Body::Challenge { length }) => {
                self.protocol.inbound.current =
                    CurrentFrame::Handshake(*frame, vec![0; length as usize]);
                Ok(())
            }
            (Stage::AwaitReady, Body::Ready) => {
                self.apply_counts(frame.done, frame.posted)?;
                self.protocol.open(self.out, self.queues, Vec::new());
                Ok(())
            }
            (Stage::AwaitReady, Body::End { .. }) => {
                self.protocol.end(EndCause::Disconnected, None);
                Err(Refused)
            }
            (Stage::Open, body) => {
                self.apply_counts(frame.done, frame.posted)?;
                self.dispatch(body)
            }
            _ => Err(Refused),
        }
    }

    fn destinations(&mut self, offset: u64, destinations: &mut Destinations) {
        match &mut self.protocol.inbound.current {
            CurrentFrame::Empty => {}
            CurrentFrame::Message { length, has_lost_memory, .. } => {
                if *has_lost_memory {
                    return;
                }
                let range = (offset, length.saturating_sub(offset));
                *has_lost_memory |= !self.queues.receives.front_spans(range, destinations);
            }
            CurrentFrame::Handshake(_, data)
            | CurrentFrame::Offer(data, _)
            | CurrentFrame::Unexpected(Unexpected { data, .. }) => {
                if let Some(rest) = data.get_mut(offset as usize..) {
                    destinations.push(bytes::target(rest));
                }
            }
            CurrentFrame::Request(length) => {
                let left = length.saturating_sub(offset);
                let Some(arriving) = &mut self.protocol.inbound.arriving else { return };
                if arriving.has_lost_memory {
                    return;
                }
                let range = (arriving.received + offset, left);
                let found = match &arriving.kind {
                    InboundKind::Message { receive, .. } => {
                        let local =
                            LocalMemory { segments: &receive.segments, domain: receive.domain };
                        transfer::local_spans(local, Privileges::LOCAL_WRITE, range, destinations)
                    }
                    InboundKind::Dropped => return,
                    InboundKind::Write { target, .. } => {
                        let remote = self.queues.remote(target);
                        transfer::remote_spans(
                            remote,
                            Privileges::REMOTE_WRITE,
                            range,
                            destinations,
                        )
                    }
                };
                arriving.has_lost_memory |= !found;
            }
            CurrentFrame::Answer(length, _) => {
                let left = length.saturating_sub(offset);
                let Some(read) = self.protocol.outbound.sends.current_read() else { return };
                if read.local_status.is_some() {
                    return;
                }
                let range = (read.received + offset, left);
                let found = match &read.task {
                    Task::Work(Work::RdmaReadToRmr { local, .. }) => {
                        let remote = self.queues.remote(local);
                        transfer::remote_spans(
                            remote,
                            Privileges::REMOTE_WRITE,
                            range,
                            destinations,
                        )
                    }
                    _ => {
                        let local =
                            LocalMemory { segments: &read.segments, domain: self.queues.domain };
                        transfer::local_spans(local, Privileges::LOCAL_WRITE, range, destinations)
                    }
                };
                if !found {
                    read.local_status = Some(DtoStatus::LocalProtection);
                }
            }
        }
    }

    #[cold]
    fn lose_memory(&mut self) {
        match &mut self.protocol.inbound.current {
            CurrentFrame::Message { has_lost_memory, .. } => *has_lost_memory = true,
            CurrentFrame::Request(_) => {
                if let Some(arriving) = &mut self.protocol.inbound.arriving {
                    arriving.has_lost_memory = true;
                }
            }
            CurrentFrame::Answer(..) => {
                if let Some(read) = self.protocol.outbound.sends.current_read() {
                    read.local_status = Some(DtoStatus::LocalProtection);
                }
            }
            // Their payload goes to memory of this library.
            CurrentFrame::Empty
            | CurrentFrame::Handshake(..)
            | CurrentFrame::Offer(..)
            | CurrentFrame::Unexpected(_) => {}
        }
    }

    fn end(&mut self) -> Accepted {
        match std::mem::replace(&mut self.protocol.inbound.current, CurrentFrame::Empty) {
            CurrentFrame::Empty => Ok(()),
            CurrentFrame::Message { length, solicited, has_lost_memory } => {
                self.finish_message(length, solicited, has_lost_memory)
            }
            CurrentFrame::Handshake(frame, data) => self.continue_handshake(&frame, &data),
            CurrentFrame::Offer(list, epoch) => self.finish_offer(&list, epoch),
            CurrentFrame::Unexpected(kept) => {
                self.protocol.inbound.unexpected.push_back(kept);
                Ok(())
            }
            CurrentFrame::Request(length) => self.finish_piece(length),
            CurrentFrame::Answer(length, last) => {
                let Some(read) = self.protocol.outbound.sends.current_read() else {
                    return Err(Refused);
                };
                read.received += length;
                read.is_answered = last;
                let is_complete = read.received == read.length;
                self.protocol.outbound.sends.unanswered -=
                    u32::from(last && self.protocol.outbound.sends.unanswered > 0);
                if last && !is_complete { Err(Refused) } else { Ok(()) }
            }
        }
    }
}

impl<O: Transmit> Receiver<'_, O> {
    /// Applies the counts in a frame.
    #[inline]
    fn apply_counts(&mut self, done: u32, posted: u32) -> Accepted {
        if self.protocol.outbound.apply_counts(done, posted) { Ok(()) } else { Err(Refused) }
    }

    /// The passive side has sent `CHALLENGE` or `ANSWER`.
    fn continue_handshake(&mut self, frame: &Frame, payload: &[u8]) -> Accepted {
        let protocol = &mut *self.protocol;
        let Some(mut handshake) = protocol.handshake.take() else { return Err(Refused) };
        let cause = match handshake.receive(frame, payload) {
            Step::Send(message) => {
                protocol.send_handshake(&message, self.out);
                protocol.handshake = Some(handshake);
                return Ok(());
            }
            Step::Established(_, side) if side.is_unreliable != protocol.is_unreliable() => {
                EndCause::Refused(RefusalCause::Protocol)
            }
            Step::Established(ready, side) => {
                protocol.outbound.apply_peer_info(&side);
                protocol.open(self.out, self.queues, side.private_data);
                protocol.send_handshake(&ready, self.out);
                return Ok(());
            }
            Step::Rejected(private_data) => EndCause::Rejected(private_data),
            Step::Refused(why) => EndCause::Refused(why.into()),
            Step::Incoming(_) | Step::Refuse(_) => EndCause::Refused(RefusalCause::Protocol),
        };
        protocol.end(cause, None);
        Err(Refused)
    }

    /// A frame of an established connection.
    fn dispatch(&mut self, body: Body) -> Accepted {
        let is_first = !matches!(
            body,
            Body::More { .. }
                | Body::Data { .. }
                | Body::Ack
                | Body::End { .. }
                | Body::Cts
                | Body::NoReceive
                | Body::Withdraw { .. }
        );
        if is_first && self.protocol.inbound.arriving.is_some() {
            return Err(Refused);
        }
        let is_request = is_first && !matches!(body, Body::Ready);
        if is_request
            && !self.protocol.inbound.unexpected.is_empty()
            && !matches!(body, Body::Send { .. })
        {
            return Err(Refused);
        }
        let is_reliable_only = matches!(
            body,
            Body::Read { .. }
                | Body::FetchAdd { .. }
                | Body::CompareSwap { .. }
                | Body::Rts { .. }
                | Body::Offer { .. }
        );
        if is_reliable_only && self.protocol.is_unreliable() {
            return Err(Refused);
        }
        match body {
            Body::Send { length, solicited, extra } => self.begin_message(length, solicited, extra),
            Body::Write { length, remote } => self.begin_write(length, remote, None),
            Body::WriteImmediate { length, remote, immediate, solicited } => {
                self.begin_write(length, remote, Some((immediate, solicited)))
            }
            Body::More { length, last } => match &self.protocol.inbound.arriving {
                Some(arriving)
                    if length <= arriving.length - arriving.received
                        && last == (length == arriving.length - arriving.received) =>
                {
                    self.protocol.inbound.current = CurrentFrame::Request(length);
                    Ok(())
                }
                _ => Err(Refused),
            },
            Body::Read { length, remote } => self.begin_read(length, remote),
            Body::FetchAdd { remote, add } => self.atomic(remote, AtomicOperation::Add(add)),
            Body::CompareSwap { remote, compare, swap } => {
                self.atomic(remote, AtomicOperation::CompareSwap(compare, swap))
            }
            Body::Data { length, last } => match self.protocol.outbound.sends.current_read() {
                Some(read) if length <= read.length - read.received => {
                    self.protocol.inbound.current = CurrentFrame::Answer(length, last);
                    Ok(())
                }
                _ => Err(Refused),
            },
            Body::Rts { .. } => {
                let announced = &mut self.protocol.inbound.announced;
                let is_shared = self.queues.receives.shared.is_some();
                if !is_shared || !matches!(announced, Announced::Nothing) {
                    return Err(Refused);
                }
                *announced = Announced::Waiting;
                Ok(())
            }
            Body::Offer { length, solicited, extents, epoch } => {
                self.begin_offer((length, solicited), (extents, epoch))
            }
            Body::Cts => {
                let outbound = &mut self.protocol.outbound;
                let is_expected = outbound.withdraw_offer() || outbound.grant();
                if is_expected { Ok(()) } else { Err(Refused) }
            }
            Body::NoReceive if !self.protocol.outbound.peer_uses_srq => Err(Refused),
            Body::NoReceive => {
                self.protocol.note_no_receive(self.queues);
                Ok(())
            }
            Body::Withdraw { .. } if self.queues.receives.shared.is_none() => Err(Refused),
            Body::Withdraw { request } => self.refuse_withdrawn(request),
            Body::Ack => Ok(()),
            Body::End { reason } => {
                self.protocol.note_end(reason);
                match reason {
                    Reason::Graceful => {
                        self.protocol.end(EndCause::Disconnected, Some(Reason::Graceful))
                    }
                    Reason::Abrupt => self.protocol.end(EndCause::Disconnected, None),
                    Reason::Broken { request, status } => {
                        self.protocol.complete(self.queues, self.upcalls);
                        // The peer has a reason of its own: it is lost.
                        if status != DtoStatus::Flushed {
                            let failed = Some((request, status));
                            self.protocol.flush_requests(failed, self.queues, self.upcalls);
                        }
                        self.protocol.end(EndCause::Broken, None);
                    }
                }
                Err(Refused)
            }
            Body::Hello { .. }
            | Body::Challenge { .. }
            | Body::Proof { .. }
            | Body::Ready
            | Body::Answer { .. } => Err(Refused),
        }
    }
}
