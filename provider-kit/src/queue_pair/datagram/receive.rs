//! Datagrams that arrive.

use std::net::{IpAddr, SocketAddr};

use dat_provider::Completion;
use dat_provider::status::{DtoStatus, Operation};

use super::packet::{PREFIX, PacketBuffer};
use super::route_header::route_header;
use super::{DatagramQp, State};
use crate::datagram_socket::{DatagramSocket, Received};
use crate::packet_ends::PacketEnds;
use crate::protocol::datagram::{self, Ack, AckRequest, Datagram};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// Number of packets that are read from each socket before others have their turn.
const MAX_PACKETS: u32 = 64;
/// More packets than a socket holds, so that a peer which never stops sending delays no one for long.
const MAX_DISCARDED: usize = 1 << 14;

/// The result of a read of the sockets.
#[derive(Clone, Copy, Default)]
pub(super) struct Arrived {
    /// There were packets.
    pub(super) any: bool,
    /// There may be more.
    pub(super) more: bool,
}

impl DatagramQp {
    /// Receives the packets that have arrived, while there are receives.
    pub(super) fn receive(&self, state: &mut State, upcalls: &mut Upcalls) -> Arrived {
        let State { queues, sockets, buffer, arrivals, key, lease, .. } = state;
        let mut arrived = Arrived::default();
        for socket in sockets.iter() {
            let mut count = 0;
            while count < MAX_PACKETS && queues.receives.is_posted() {
                let Some(received) = self.read(socket, buffer) else { break };
                count += 1;
                self.deliver(queues, socket, buffer, received, *key, upcalls);
            }
            *arrivals = arrivals.wrapping_add(count);
            arrived.any |= count > 0;
            arrived.more |= count == MAX_PACKETS;
        }
        // A receive is often posted again before the next packet arrives, so a queue pair stalls only if nothing was read.
        if !arrived.any && !queues.receives.is_posted() {
            lease.stall();
        }
        arrived
    }

    /// Reads a packet.
    fn read(&self, socket: &DatagramSocket, buffer: &mut PacketBuffer) -> Option<Received> {
        socket.receive(buffer.packet()).unwrap_or_else(|errno| {
            self.core.fail(errno);
            None
        })
    }

    /// Drops what waits in the sockets.
    pub(super) fn discard(&self, state: &mut State) {
        for socket in state.sockets.iter() {
            let waiting = std::iter::from_fn(|| self.read(socket, &mut state.buffer));
            self.lost.count_dropped(waiting.take(MAX_DISCARDED).count() as u32);
        }
    }

    /// Completes the oldest receive with a packet, if it is a datagram for this queue pair.
    fn deliver(
        &self,
        queues: &mut WorkQueues,
        socket: &DatagramSocket,
        buffer: &mut PacketBuffer,
        received: Received,
        key: u64,
        upcalls: &mut Upcalls,
    ) {
        let packet = &buffer.packet()[..received.length];
        let Ok(Datagram { head, message, request }) = datagram::open(packet, key) else {
            return self.lost.count_foreign();
        };
        if let Some((request, from)) = request.zip(received.from) {
            acknowledge(socket, request, from, received.to, key);
        }
        let ends = received.ends();
        let (length, message) = (head.len() + message.len(), message.len());
        // Another queue pair may have taken the last receive of a shared queue since.
        let Some(taken) = queues.receives.take(upcalls) else { return self.lost.count_dropped(1) };
        let total = PREFIX + message;
        let status = if taken.posted.length < total as u64 {
            self.lost.count_dropped(1);
            DtoStatus::LocalLength
        } else {
            let prefix = ends.map_or([0; PREFIX], |ends| route_header(&ends, length));
            buffer.copy_to(&taken, (&prefix, head), total)
        };
        let family =
            |ends: &PacketEnds| if ends.to.is_ipv4() { Completion::DATAGRAM_IPV4 } else { 0 };
        let port = ends.map_or(0, |ends| u64::from(ends.from.port()) | family(&ends));
        let (operation, extra) = match head.immediate {
            Some(immediate) if ends.is_some() => {
                (Operation::ReceiveDatagramImmediate, port | u64::from(immediate) << 32)
            }
            _ => (Operation::ReceiveDatagram, port),
        };
        let (outcome, arrival) = ((total as u64, status), (operation, extra, head.solicited));
        queues.receives.complete(taken.posted, outcome, arrival, upcalls);
    }
}

/// Acknowledges a packet that was read from a socket. One that is lost, or that the system does not send, is made up for by
/// the next one.
fn acknowledge(
    socket: &DatagramSocket,
    AckRequest { port, flow, position }: AckRequest,
    mut from: SocketAddr,
    own: Option<IpAddr>,
    key: u64,
) {
    let ack = Ack { key, flow, position, space: socket.space() }.write();
    from.set_port(port);
    let own = own.map(|own| SocketAddr::new(own, 0));
    let _ = socket.send(&ack, own, &from);
}
