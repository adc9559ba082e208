//! Packets that are handed to the system, as far as their receivers have space.

use std::net::SocketAddr;

use dat_provider::status::DtoStatus;

use super::DatagramQp;
use super::address::Destination;
use super::backlog::Obstacle;
use super::flow::{Admission, Flows};
use super::sockets::Sockets;
use crate::datagram_socket::{Received, Sent};
use crate::protocol::datagram::{ACK, Ack, AckRequest, REQUEST};

/// Maximum number of acknowledgements that are read at once, so that a stranger cannot delay a sender for long.
const MAX_ACKS: usize = 256;

/// The result of an attempt to send a datagram.
pub(super) enum Attempt {
    Done(DtoStatus),
    Waits(Obstacle),
}

impl DatagramQp {
    /// Sends a packet, behind which is space for a request.
    pub(super) fn transmit(
        &self,
        flows: &mut Flows,
        sockets: &mut Sockets,
        packet: &mut [u8],
        Destination { from, to, key }: &Destination,
    ) -> Attempt {
        let length = packet.len() - REQUEST;
        let flow = self.flow(flows, sockets, *to, *key);
        let (mut total, mut ack_request) = (length, None);
        if let Some((flow, port)) = flow {
            match self.admit(flows, sockets, flow, length, port) {
                Admission::Wait(until) => return Attempt::Waits(Obstacle::Window(until)),
                Admission::Send(request) => ack_request = request,
            }
        }
        if let Some(request) = ack_request {
            total = request.append(packet, length);
        }
        let socket = sockets.for_sending(*from, &self.core, &self.driven, &self.lost);
        let Ok(socket) = socket else { return Attempt::Done(DtoStatus::Flushed) };
        match socket.send(&packet[..total], *from, to) {
            Ok(Sent::Full) => {
                AckRequest::remove(packet);
                Attempt::Waits(Obstacle::Space)
            }
            outcome => {
                if let Some((flow, _)) = flow {
                    flows.sent(flow, length, ack_request);
                }
                Attempt::Done(self.status_of(outcome))
            }
        }
    }

    /// The flow of the datagrams for a destination, and the port that receives acknowledgements. Nothing for a group,
    /// whose members would all acknowledge.
    fn flow(
        &self,
        flows: &mut Flows,
        sockets: &mut Sockets,
        to: SocketAddr,
        key: u64,
    ) -> Option<(usize, u16)> {
        if to.ip().is_multicast() {
            return None;
        }
        let port = sockets.acks(&self.core, &self.driven)?.port();
        Some((flows.find(to, key)?, port))
    }

    /// Decides about the next packet of a flow, and reads acknowledgements: one for each that is requested, and all before
    /// the packet has to wait.
    fn admit(
        &self,
        flows: &mut Flows,
        sockets: &mut Sockets,
        flow: usize,
        length: usize,
        port: u16,
    ) -> Admission {
        let admission = flows.admit(flow, length, port);
        let count = match admission {
            Admission::Send(None) => return admission,
            Admission::Send(Some(_)) => 1,
            Admission::Wait(_) => MAX_ACKS,
        };
        let Some(socket) = sockets.acks(&self.core, &self.driven) else { return admission };
        let mut packet = [0; ACK + 1];
        for _ in 0..count {
            let Ok(Some(Received { length, .. })) = socket.receive(&mut packet) else { break };
            if let Some(ack) = Ack::read(&packet[..length]) {
                flows.acknowledge(&ack);
            }
        }
        flows.admit(flow, length, port)
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
