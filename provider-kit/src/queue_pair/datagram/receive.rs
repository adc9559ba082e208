//! Datagrams that arrive.

use dat_provider::status::{DtoStatus, Operation};

use super::packet::{PREFIX, PacketBuffer};
use super::{DatagramQp, State};
use crate::protocol::datagram::{self, Foreign};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// Number of packets that are read from each socket before others have their turn.
const MAX_PACKETS: u32 = 64;

/// What a read of the sockets has found.
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
                let length = match socket.receive(buffer.packet()) {
                    Ok(Some(length)) => length,
                    Ok(None) => break,
                    Err(errno) => {
                        self.core.fail(errno);
                        break;
                    }
                };
                count += 1;
                self.deliver(queues, buffer, length, *key, upcalls);
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
        length: usize,
        key: u64,
        upcalls: &mut Upcalls,
    ) {
        let packet = &buffer.packet()[..length];
        let (solicited, message) = match datagram::open(packet, key) {
            Ok((solicited, message)) => (solicited, message.len()),
            Err(Foreign) => return self.lost.count_foreign(),
        };
        let Some(taken) = queues.receives.take(upcalls) else { return self.lost.count_dropped(1) };
        let total = PREFIX + message;
        let status = if taken.posted.length < total as u64 {
            self.lost.count_dropped(1);
            DtoStatus::LocalLength
        } else {
            buffer.copy_to(&taken, total)
        };
        let (outcome, arrival) =
            ((total as u64, status), (Operation::ReceiveDatagram, 0, solicited));
        queues.receives.complete(taken.posted, outcome, arrival, upcalls);
    }
}
