//! The frames of the peer: its requests are executed, its answers are stored.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_provider::Work;
use dat_provider::flags::Privileges;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;

use super::conn::{Conn, Established, How, Stage};
use super::receives::Taken;
use super::requester::{EAGER, MOST_EAGER};
use super::responder::{Answer, Answering, Arrival, Arriving, Current, Kept};
use super::side::Side;
use super::work::Task;
use crate::frame::{Body, Frame, Reason, Remote as Place};
use crate::handshake::Step;
use crate::link::{Destinations, FrameSink, Refused};
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::{bytes, window};

type Accepted = Result<(), Refused>;

/// A connection that reads.
pub(super) struct Sink<'a> {
    pub(super) conn: &'a mut Conn,
    pub(super) side: &'a mut Side,
    pub(super) upcalls: &'a mut Upcalls,
}

impl FrameSink for Sink<'_> {
    fn begin(&mut self, frame: &Frame) -> Accepted {
        if self.conn.ending.is_some() {
            return Err(Refused);
        }
        self.conn.current = Current::None;
        match (self.conn.stage, frame.body) {
            (Stage::Answer, Body::Answer { length, .. } | Body::Challenge { length }) => {
                self.conn.current = Current::Handshake(*frame, vec![0; length as usize]);
                Ok(())
            }
            (Stage::Ready, Body::Ready) => {
                if !self.conn.count(frame.done, frame.posted) {
                    return Err(Refused);
                }
                self.conn.stage = Stage::Open;
                self.conn.established = Some(Established {
                    private_data: Vec::new(),
                    peer: self.conn.peer,
                    local_port: self.conn.local_port,
                });
                Ok(())
            }
            (Stage::Ready, Body::End { .. }) => {
                self.conn.end(How::Disconnected, None);
                Err(Refused)
            }
            (Stage::Open, body) => {
                if !self.conn.count(frame.done, frame.posted) {
                    return Err(Refused);
                }
                self.open(body)
            }
            _ => Err(Refused),
        }
    }

    fn destinations(&mut self, offset: u64, places: &mut Destinations) {
        match &mut self.conn.current {
            Current::None => {}
            Current::Handshake(_, data) | Current::Kept(Kept { data, .. }) => {
                if let Some(rest) = data.get_mut(offset as usize..) {
                    places.push(bytes::target(rest));
                }
            }
            Current::Request(length) => {
                let left = *length - offset.min(*length);
                let Some(arriving) = &mut self.conn.arriving else { return };
                let part = (arriving.received + offset, left);
                let found = match &arriving.what {
                    Arrival::Message { taken, .. } => {
                        let local = LocalMemory { segments: &taken.segments, domain: taken.domain };
                        transfer::local_spans(local, Privileges::LOCAL_WRITE, part, places)
                    }
                    Arrival::Write { place, .. } => {
                        let remote = self.side.remote(place);
                        transfer::remote_spans(remote, Privileges::REMOTE_WRITE, part, places)
                    }
                };
                arriving.fault |= !found;
            }
            Current::Data(length, _) => {
                let left = *length - offset.min(*length);
                let Some(item) = self.conn.work.iter_mut().find(|item| !item.answered) else {
                    return;
                };
                let part = (item.received + offset, left);
                let found = match &item.task {
                    Task::Work(Work::RdmaReadToRmr { local, .. }) => {
                        let remote = self.side.remote(local);
                        transfer::remote_spans(remote, Privileges::REMOTE_WRITE, part, places)
                    }
                    _ => {
                        let local =
                            LocalMemory { segments: &item.segments, domain: self.side.domain };
                        transfer::local_spans(local, Privileges::LOCAL_WRITE, part, places)
                    }
                };
                if !found {
                    item.failed = Some(DtoStatus::LocalProtection);
                }
            }
        }
    }

    fn end(&mut self) -> Accepted {
        match std::mem::replace(&mut self.conn.current, Current::None) {
            Current::None => Ok(()),
            Current::Handshake(frame, data) => self.greeted(&frame, &data),
            Current::Kept(kept) => {
                self.conn.kept.push_back(kept);
                Ok(())
            }
            Current::Request(length) => self.piece(length),
            Current::Data(length, last) => {
                let Some(item) = self.conn.work.iter_mut().find(|item| !item.answered) else {
                    return Err(Refused);
                };
                item.received += length;
                item.answered = last;
                self.conn.reads -= u32::from(last && self.conn.reads > 0);
                if last && item.wanted() != Some(item.received) { Err(Refused) } else { Ok(()) }
            }
        }
    }
}

impl Sink<'_> {
    /// The passive side has challenged or answered.
    fn greeted(&mut self, frame: &Frame, payload: &[u8]) -> Accepted {
        let conn = &mut *self.conn;
        let Some(mut handshake) = conn.handshake.take() else { return Err(Refused) };
        let how = match handshake.receive(frame, payload) {
            Step::Send(message) => {
                conn.say(&message);
                conn.handshake = Some(handshake);
                return Ok(());
            }
            Step::Established(ready, side) => {
                conn.meet(&side);
                conn.stage = Stage::Open;
                conn.say(&ready);
                let (peer, local_port) = (conn.peer, conn.local_port);
                let private_data = side.private_data;
                conn.established = Some(Established { private_data, peer, local_port });
                return Ok(());
            }
            Step::Rejected(private_data) => How::Rejected(private_data),
            Step::Refused(_) | Step::Incoming(_) | Step::Refuse(_) => How::Refused,
        };
        conn.end(how, None);
        Err(Refused)
    }

    /// A frame of an established connection.
    fn open(&mut self, body: Body) -> Accepted {
        let begins = !matches!(
            body,
            Body::More { .. } | Body::Data { .. } | Body::Ack | Body::End { .. } | Body::Cts
        );
        if begins && self.conn.arriving.is_some() {
            return Err(Refused);
        }
        let is_request = begins && !matches!(body, Body::Ready);
        if is_request && !self.conn.kept.is_empty() && !matches!(body, Body::Send { .. }) {
            return Err(Refused);
        }
        match body {
            Body::Send { length, solicited, invalidate } => {
                self.message(length, solicited, invalidate)
            }
            Body::Write { length, remote } => self.write(length, remote, None),
            Body::WriteImmediate { length, remote, immediate, solicited } => {
                self.write(length, remote, Some((immediate, solicited)))
            }
            Body::More { length, last } => match &self.conn.arriving {
                Some(arriving)
                    if length <= arriving.length - arriving.received
                        && last == (length == arriving.length - arriving.received) =>
                {
                    self.conn.current = Current::Request(length);
                    Ok(())
                }
                _ => Err(Refused),
            },
            Body::Read { length, remote } => {
                let place = place(remote, length);
                if !transfer::is_permitted(self.side.remote(&place), Privileges::REMOTE_READ) {
                    return self.fail(DtoStatus::RemoteAccess);
                }
                self.owe(Answering::Read(place, 0))
            }
            Body::FetchAdd { remote, add } => {
                self.atomic(remote, |word| word.fetch_add(add, Ordering::SeqCst))
            }
            Body::CompareSwap { remote, compare, swap } => self.atomic(remote, |word| {
                let order = Ordering::SeqCst;
                word.compare_exchange(compare, swap, order, order).unwrap_or_else(|other| other)
            }),
            Body::Data { length, last } => {
                let wanting = self.conn.work.iter().find(|item| !item.answered);
                match wanting.and_then(|item| item.wire.and(item.wanted()).zip(Some(item))) {
                    Some((wanted, item)) if length <= wanted - item.received => {
                        self.conn.current = Current::Data(length, last);
                        Ok(())
                    }
                    _ => Err(Refused),
                }
            }
            Body::Rts { .. } => {
                let conn = &mut *self.conn;
                let is_shared = self.side.receives.shared.is_some();
                if !is_shared || conn.announced || conn.buffer.is_some() {
                    return Err(Refused);
                }
                conn.announced = true;
                Ok(())
            }
            Body::Cts => {
                if !self.conn.asked || self.conn.granted {
                    return Err(Refused);
                }
                self.conn.granted = true;
                Ok(())
            }
            Body::Ack => Ok(()),
            Body::End { reason } => {
                match reason {
                    Reason::Graceful => self.conn.end(How::Disconnected, Some(Reason::Graceful)),
                    Reason::Abrupt => self.conn.end(How::Disconnected, None),
                    Reason::Broken { request, status } => {
                        self.conn.complete(self.side, self.upcalls);
                        self.conn.flush(Some((request, status)), self.side, self.upcalls);
                        self.conn.end(How::Broken, None);
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

    /// The request that is being executed failed, and the connection with it.
    fn fail(&mut self, status: DtoStatus) -> Accepted {
        self.conn.fail(status);
        Err(Refused)
    }

    /// An answer is owed. The handshake told the peer how many unanswered requests it may have.
    fn owe(&mut self, what: Answering) -> Accepted {
        if self.conn.answers.len() >= self.side.reads.0 as usize {
            return Err(Refused);
        }
        let number = self.conn.executed;
        self.conn.answers.push_back(Answer { number, what });
        self.conn.executed = number.wrapping_add(1);
        Ok(())
    }

    fn atomic(&mut self, remote: Place, change: impl FnOnce(&AtomicU64) -> u64) -> Accepted {
        let place = place(remote, 8);
        match transfer::change_word(self.side.remote(&place), change) {
            Some(before) => self.owe(Answering::Word(before.to_ne_bytes())),
            None => self.fail(DtoStatus::RemoteAccess),
        }
    }

    /// A message begins: it takes a receive.
    fn message(&mut self, length: u64, solicited: bool, invalidate: Option<u32>) -> Accepted {
        let (domain, number) = (self.side.domain, self.side.number);
        let at_once = self.conn.kept.is_empty();
        if at_once && invalidate.is_some_and(|key| !window::is_bound(key, domain, number)) {
            return self.fail(DtoStatus::RemoteAccess);
        }
        let Some(taken) = self.take(length <= EAGER) else {
            if self.side.receives.shared.is_none() || length > EAGER {
                return self.fail(DtoStatus::ReceiverNotReady);
            }
            if self.conn.kept.len() >= MOST_EAGER {
                return Err(Refused);
            }
            let data = vec![0; length as usize];
            self.conn.current = Current::Kept(Kept { data, solicited, invalidate });
            return Ok(());
        };
        let local = LocalMemory { segments: &taken.segments, domain: taken.domain };
        let wrong = if length > taken.posted.length {
            Some(DtoStatus::LocalLength)
        } else if length > 0 && !local.permits(Privileges::LOCAL_WRITE) {
            Some(DtoStatus::LocalProtection)
        } else {
            None
        };
        if let Some(status) = wrong {
            self.side.receives.fail(taken.posted, status, self.upcalls);
            return self.fail(DtoStatus::RemoteResponder);
        }
        self.arrive(length, Arrival::Message { taken, solicited, invalidate })
    }

    fn write(&mut self, length: u64, remote: Place, immediate: Option<(u32, bool)>) -> Accepted {
        let place = place(remote, length);
        if !transfer::is_permitted(self.side.remote(&place), Privileges::REMOTE_WRITE) {
            return self.fail(DtoStatus::RemoteAccess);
        }
        self.arrive(length, Arrival::Write { place, immediate })
    }

    fn arrive(&mut self, length: u64, what: Arrival) -> Accepted {
        self.conn.arriving = Some(Arriving { what, length, received: 0, fault: false });
        self.conn.current = Current::Request(length.min(crate::frame::MAX_PIECE));
        Ok(())
    }

    /// Takes the receive of a message, which the peer announced if it is for a shared queue and not
    /// eager.
    fn take(&mut self, is_eager: bool) -> Option<Taken> {
        let is_shared = self.side.receives.shared.is_some();
        let taken = if is_shared && !is_eager {
            self.conn.buffer.take()
        } else if self.conn.kept.is_empty() {
            self.side.receives.take(self.upcalls)
        } else {
            None
        }?;
        self.conn.taken = self.conn.taken.wrapping_add(1);
        Some(taken)
    }

    /// A piece of a request is there; perhaps it is the last.
    fn piece(&mut self, length: u64) -> Accepted {
        let Some(mut arriving) = self.conn.arriving.take() else { return Err(Refused) };
        arriving.received += length;
        if !arriving.fault && arriving.received < arriving.length {
            self.conn.arriving = Some(arriving);
            return Ok(());
        }
        let Arriving { what, length, fault, .. } = arriving;
        match what {
            Arrival::Message { taken, .. } if fault => {
                self.side.receives.fail(taken.posted, DtoStatus::LocalProtection, self.upcalls);
                return self.fail(DtoStatus::RemoteResponder);
            }
            Arrival::Write { .. } if fault => return self.fail(DtoStatus::RemoteAccess),
            Arrival::Message { taken, solicited, invalidate } => {
                let (side, upcalls) = (&mut *self.side, &mut *self.upcalls);
                side.receive(taken.posted, length, invalidate, solicited, upcalls);
            }
            Arrival::Write { immediate: Some((immediate, solicited)), .. } => {
                let Some(taken) = self.take(false) else {
                    return self.fail(DtoStatus::ReceiverNotReady);
                };
                let outcome = (length, DtoStatus::Success);
                let told = (Operation::ReceiveImmediate, immediate.into(), solicited);
                self.side.receives.finish(taken.posted, outcome, told, self.upcalls);
            }
            Arrival::Write { .. } => {}
        }
        self.conn.executed = self.conn.executed.wrapping_add(1);
        Ok(())
    }
}

fn place(remote: Place, length: u64) -> RmrTriplet {
    RmrTriplet { address: remote.address, length, context: remote.context }
}
