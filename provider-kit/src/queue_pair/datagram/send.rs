//! Datagrams that are sent.

use std::sync::Weak;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{RemoteAddress, Request};

use super::address::Destination;
use super::backlog::{Obstacle, SendBacklog, Waiting};
use super::transmit::Attempt;
use super::{DatagramQp, State};
use crate::errors::{foreign_object, no_credit};
use crate::progress::Job;
use crate::protocol::datagram::MAX_DATAGRAM;
use crate::upcalls::Upcalls;
use crate::work_queues::InFlight;

/// The error of a message that no datagram can carry.
fn too_long() -> Error {
    Error::new(ReturnType::LengthError, Subtype::NoSubtype)
        .because(format!("datagrams of this adapter have at most {MAX_DATAGRAM} bytes"))
        .advise("send smaller datagrams: the transport attribute MAX_DATAGRAM is the limit")
}

impl DatagramQp {
    /// Posts a datagram.
    ///
    /// # Errors
    /// As [`QueuePair::post_datagram`](dat_provider::QueuePair::post_datagram).
    pub(super) fn post(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        let Some(to) = to.handle.downcast_ref::<Destination>() else {
            return Err(foreign_object("address", Subtype::InvalidArg4));
        };
        if request.length > MAX_DATAGRAM as u64 {
            return Err(too_long());
        }
        self.with_state(|state, upcalls| {
            state.check_usable()?;
            self.send_waiting(state, upcalls);
            state.lease.note_post();
            let State { queues, sockets, buffer, backlog, flows, .. } = state;
            // An obstacle on this side is an error of the post, even if earlier datagrams wait.
            sockets
                .for_sending(to.from, &self.core, &self.driven, &self.lost)
                .map_err(|cause| cause.error(Subtype::ResourceDevice))?;
            if backlog.waiting.try_reserve(1).is_err() {
                return Err(Error::no_memory("the datagrams of the endpoint that wait"));
            }
            if !queues.credits.try_take() {
                return Err(no_credit());
            }
            let in_flight = InFlight {
                cookie: request.cookie,
                length: request.length as u32,
                operation: Operation::SendDatagram,
                flags: request.flags,
                expects_answer: false,
            };
            let packet = buffer.pack(to.key, request, queues.domain);
            let mut packet = packet.ok_or(DtoStatus::LocalProtection);
            let is_first = backlog.is_empty();
            if is_first {
                let attempt = match &mut packet {
                    Ok(packet) => self.transmit(flows, sockets, packet, to),
                    Err(status) => Attempt::Done(*status),
                };
                match attempt {
                    Attempt::Waits(obstacle) => backlog.obstacle = obstacle,
                    Attempt::Done(status) => {
                        queues.complete_request(&in_flight, 0, status, upcalls);
                        return Ok(());
                    }
                }
            }
            let packet = packet.and_then(|packet| self.copy_of(packet));
            backlog.waiting.push_back(Waiting { to: *to, packet, request: in_flight });
            if is_first {
                self.arrange_retry(backlog);
                self.lend_to_sender(state);
            }
            Ok(())
        })
    }

    /// Sends the datagrams that wait, as far as the system and their receivers have space. Returns true if one has completed.
    pub(super) fn send_waiting(&self, state: &mut State, upcalls: &mut Upcalls) -> bool {
        let State { queues, sockets, backlog, flows, .. } = state;
        let mut has_completed = false;
        while let Some(Waiting { to, packet, request }) = backlog.waiting.front_mut() {
            let attempt = match packet {
                Ok(packet) => self.transmit(flows, sockets, packet, to),
                Err(status) => Attempt::Done(*status),
            };
            match attempt {
                Attempt::Waits(obstacle) => {
                    backlog.obstacle = obstacle;
                    self.arrange_retry(backlog);
                    break;
                }
                Attempt::Done(status) => {
                    queues.complete_request(request, 0, status, upcalls);
                    backlog.waiting.pop_front();
                    has_completed = true;
                }
            }
        }
        has_completed
    }

    /// A datagram waits. If the consumer polls, it reads the acknowledgements, and not the driver.
    fn lend_to_sender(&self, state: &mut State) {
        if let Some(first_check) = state.lease.begin(&state.queues, state.arrivals) {
            self.core.submit(Job::CheckLease(Weak::clone(&self.driven), first_check));
        }
    }

    /// Makes the driver send the datagrams that wait, at the latest when the first one waits no more for its receiver.
    fn arrange_retry(&self, backlog: &mut SendBacklog) {
        let Obstacle::Window(until) = backlog.obstacle else { return };
        if backlog.retry.is_none_or(|retry| until < retry) {
            backlog.retry = Some(until);
            self.core.submit(Job::Retry(until, Weak::clone(&self.driven)));
        }
    }

    /// A copy of a packet, or the status with which the datagram completes if there is no memory for it: it is lost.
    fn copy_of(&self, packet: &[u8]) -> std::result::Result<Box<[u8]>, DtoStatus> {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(packet.len()).is_err() {
            self.lost.count_not_sent();
            return Err(DtoStatus::Success);
        }
        copy.extend_from_slice(packet);
        Ok(copy.into_boxed_slice())
    }
}
