//! Datagrams that arrive.

use dat_provider::Completion;
use dat_provider::status::{DtoStatus, Operation};

use super::packet::{PREFIX, PacketBuffer};
use super::route_header::route_header;
use super::{DatagramQp, State};
use crate::datagram_socket::Received;
use crate::packet_ends::PacketEnds;
use crate::protocol::datagram::{self, Foreign};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// Number of packets that are read from each socket before others have their turn.
const MAX_PACKETS: u32 = 64;

/// The result of a read of the sockets.
#[derive(Clone, Copy, Default)]
pub(super) struct Arrived {
    /// There were packets.
    pub(super) any: bool,
    /// There may be more.
    pub(super) more: bool,
}

impl DatagramQp {
    /// Receives the packets that have arrived.
    pub(super) fn receive(&self, state: &mut State, upcalls: &mut Upcalls) -> Arrived {
        let State { queues, sockets, buffer, arrivals, key, .. } = state;
        let mut arrived = Arrived::default();
        for socket in sockets.iter() {
            let mut count = 0;
            while count < MAX_PACKETS {
                let received = match socket.receive(buffer.packet()) {
                    Ok(Some(received)) => received,
                    Ok(None) => break,
                    Err(errno) => {
                        self.core.fail(errno);
                        break;
                    }
                };
                count += 1;
                self.deliver(queues, buffer, received, *key, upcalls);
            }
            *arrivals = arrivals.wrapping_add(count);
            arrived.any |= count > 0;
            arrived.more |= count == MAX_PACKETS;
        }
        arrived
    }

    /// Completes the oldest receive with a packet, if it is a datagram for this queue pair.
    fn deliver(
        &self,
        queues: &mut WorkQueues,
        buffer: &mut PacketBuffer,
        Received { length, ends }: Received,
        key: u64,
        upcalls: &mut Upcalls,
    ) {
        let packet = &buffer.packet()[..length];
        let (head, message) = match datagram::open(packet, key) {
            Ok((head, message)) => (head, message.len()),
            Err(Foreign) => return self.lost.count_foreign(),
        };
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
