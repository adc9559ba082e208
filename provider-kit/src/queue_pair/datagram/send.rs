//! Datagrams that are sent.

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{RemoteAddress, Request};

use super::address::Destination;
use super::backlog::Waiting;
use super::{DatagramQp, State};
use crate::datagram_socket::Sent;
use crate::errors::{foreign_object, no_credit};
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
        let Some(destination) = to.handle.downcast_ref::<Destination>() else {
            return Err(foreign_object("address", Subtype::InvalidArg4));
        };
        if request.length > MAX_DATAGRAM as u64 {
            return Err(too_long());
        }
        self.with_state(|state, upcalls| {
            state.check_usable()?;
            let State { queues, sockets, buffer, backlog, .. } = state;
            let Destination { from, to, key } = *destination;
            let socket = sockets
                .for_sending(from, &self.core, &self.driven(), &self.lost)
                .map_err(|cause| cause.error(Subtype::ResourceDevice))?;
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
            let status = match buffer.pack(key, request, queues.domain) {
                None => DtoStatus::LocalProtection,
                Some(packet) => {
                    let waits = !backlog.is_empty();
                    match if waits { Ok(Sent::Full) } else { socket.send(packet, from, &to) } {
                        Ok(Sent::Full) => match copy_of(packet) {
                            Some(packet) => {
                                let request = in_flight;
                                backlog.0.push_back(Waiting { from, to, packet, request });
                                return Ok(());
                            }
                            None => {
                                self.lost.count_not_sent();
                                DtoStatus::Success
                            }
                        },
                        outcome => self.status_of(outcome),
                    }
                }
            };
            queues.complete_request(&in_flight, 0, status, upcalls);
            Ok(())
        })
    }

    /// Sends the datagrams that wait, as far as the system has space.
    pub(super) fn send_waiting(&self, state: &mut State, upcalls: &mut Upcalls) {
        let State { queues, sockets, backlog, .. } = state;
        while let Some(Waiting { from, to, packet, request }) = backlog.0.front() {
            let status = match sockets.for_sending(*from, &self.core, &self.driven(), &self.lost) {
                Ok(socket) => match socket.send(packet, *from, to) {
                    Ok(Sent::Full) => return,
                    outcome => self.status_of(outcome),
                },
                Err(_) => DtoStatus::Flushed,
            };
            queues.complete_request(request, 0, status, upcalls);
            backlog.0.pop_front();
        }
    }

    /// The status of a datagram that was sent or refused. A sender is not notified of one that is lost.
    fn status_of(&self, outcome: rustix::io::Result<Sent>) -> DtoStatus {
        match outcome {
            Ok(_) => DtoStatus::Success,
            Err(errno) => {
                self.core.fail(errno);
                DtoStatus::Flushed
            }
        }
    }
}

/// A copy of a packet; nothing if there is no memory for it.
fn copy_of(packet: &[u8]) -> Option<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(packet.len()).ok()?;
    copy.extend_from_slice(packet);
    Some(copy.into_boxed_slice())
}
