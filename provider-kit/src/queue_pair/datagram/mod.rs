//! Queue pairs for datagrams, which are never connected.
//!
//! Such a queue pair has a UDP socket for each address of the machine at which it exchanges datagrams: the addresses of the
//! links over which its own address was resolved. A datagram is one packet
//! ([`protocol::datagram`](crate::protocol::datagram)). It is received into memory of the queue pair, and copied to the
//! oldest receive once it is found to be genuine, so a stranger writes nowhere. While no receive is posted, packets stay
//! in the sockets, and their senders wait ([`flow`]).
//!
//! To resolve an address, a link to the listener is connected as for a connection. The two sides exchange port
//! and key in the handshake, and close the link.
//!
//! A queue pair whose owner announces its port and key to the peers has one socket for every address instead, and one
//! for each multicast group, all of which receive at the same port: a datagram for a group reaches all of them.
//!
//! # Modules
//! - `handle`, `create`: the object of the contract; `address`: a destination; `sockets`: the sockets.
//! - `send` (`backlog`, `transmit`, `flow`) and `receive`: datagrams, in the memory of `packet`; `route_header`: what
//!   precedes a message;
//! - `lease`: whether the driver or pollers receive them, with `driven` and `polled`.
//! - `resolve`, and `resolution`: an attempt of the active side.

mod address;
mod backlog;
mod create;
mod driven;
mod flow;
mod handle;
mod lease;
mod packet;
mod polled;
mod receive;
mod resolution;
mod resolve;
mod route_header;
mod send;
mod sockets;
mod transmit;

use std::sync::{Arc, Weak};

use dat_provider::error::{Result, Subtype};
use dat_provider::{ConnectionSink, LocalCause};
use dat_sync::Mutex;
use rustix::event::epoll::EventFlags;

use backlog::SendBacklog;
use flow::Flows;
use lease::Lease;
use packet::PacketBuffer;
use resolution::Resolution;
use sockets::Sockets;

use super::PolledBy;
use crate::datagram_counts::DatagramCounts;
use crate::domain::DomainUser;
use crate::errors::wrong_state;
use crate::progress::{Core, Driven};
use crate::shared_receive::Resume;
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

pub(super) use address::Destination;
pub(super) use handle::{DatagramHandle, downcast};

/// A queue pair for datagrams. The crate documentation has the order of its locks.
pub(super) struct DatagramQp {
    weak_self: Weak<Self>,
    /// This queue pair, as the driver refers to it.
    driven: Weak<dyn Driven>,
    core: Arc<Core>,
    /// The losses of the queue pairs of the adapter.
    lost: Arc<DatagramCounts>,
    state: Mutex<State>,
    /// The completion queues whose polls receive datagrams.
    polled_by: Mutex<Vec<PolledBy>>,
}

/// The state that the lock of a queue pair guards.
struct State {
    queues: WorkQueues,
    sink: Arc<dyn ConnectionSink>,
    /// The core has dropped the queue pair, or the adapter has failed.
    is_retired: bool,
    /// The key that datagrams must have (Q_Key).
    key: u64,
    sockets: Sockets,
    /// The attempts of this side to resolve an address.
    attempts: Vec<Arc<Resolution>>,
    buffer: PacketBuffer,
    backlog: SendBacklog,
    flows: Flows,
    lease: Lease,
    /// Number of packets that have arrived, modulo 2^32.
    arrivals: u32,
}

impl State {
    /// # Errors
    /// The queue pair was retired, or has no protection domain.
    fn check_usable(&self) -> Result<()> {
        if self.is_retired {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        if self.queues.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }
}

impl DatagramQp {
    /// Opens a socket.
    ///
    /// # Errors
    /// The queue pair was retired, or what keeps this side from the socket.
    fn open(
        &self,
        open: impl FnOnce(
            &mut Sockets,
            &Core,
            &Weak<dyn Driven>,
            &Arc<DatagramCounts>,
        ) -> std::result::Result<(), LocalCause>,
    ) -> Result<()> {
        self.with_state(|state, _| {
            if state.is_retired {
                return Err(wrong_state(Subtype::InvalidStateEpNotready));
            }
            open(&mut state.sockets, &self.core, &self.driven, &self.lost)
                .map_err(|cause| cause.error(Subtype::ResourceDevice))
        })
    }

    /// Runs `act` under the lock, and makes the upcalls after releasing it.
    fn with_state<T>(&self, act: impl FnOnce(&mut State, &mut Upcalls) -> T) -> T {
        let mut upcalls = Upcalls::default();
        let mut state = self.state.lock();
        let result = act(&mut state, &mut upcalls);
        let has_new_socket = self.update_interest(&mut state);
        drop(state);
        upcalls.deliver();
        if has_new_socket {
            self.announce_sockets();
        }
        result
    }

    /// Updates the events for which the driver waits. Returns true if pollers do not know one of the sockets, which
    /// the caller [announces](Self::announce_sockets) without the lock.
    fn update_interest(&self, state: &mut State) -> bool {
        let when = |is_awaited, events| if is_awaited { events } else { EventFlags::empty() };
        let readable = when(state.lease.is_with_driver(), EventFlags::IN);
        let writable = when(state.backlog.awaits_space(), EventFlags::OUT);
        // Pollers read the acknowledgements while they read the sockets.
        let acks = when(state.backlog.awaits_acks() && !state.lease.is_lent(), EventFlags::IN);
        state.sockets.set_interest(readable | writable, acks, &self.core)
    }

    /// The completion queues wait for a new socket.
    fn announce_sockets(&self) {
        self.polled_by.lock().iter().for_each(|one| one.queue.links.linked(one.key));
    }

    /// Ends everything: what is outstanding completes as flushed, and the sockets are closed.
    fn end(&self) {
        let (sockets, attempts) = self.with_state(|state, upcalls| {
            state.is_retired = true;
            state.lease.end(&state.queues);
            state.backlog.flush(&mut state.queues, upcalls);
            state.queues.receives.flush(upcalls);
            (std::mem::take(&mut state.sockets), std::mem::take(&mut state.attempts))
        });
        sockets.close(&self.core);
        attempts.iter().for_each(|attempt| attempt.abandon());
    }
}

/// A queue pair for datagrams, as domains and shared receive queues refer to it.
struct QpRef(Weak<DatagramQp>);

impl DomainUser for QpRef {
    fn wait_for_copies(&self) {
        if let Some(queue_pair) = self.0.upgrade() {
            drop(queue_pair.state.lock());
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        self.wait_for_copies();
        true
    }
}

impl Resume for QpRef {
    /// The driver, or a poll, receives what waits in the sockets.
    fn resume(&self) {
        let Some(queue_pair) = self.0.upgrade() else { return };
        queue_pair.with_state(|state, _| {
            state.lease.resume();
            if let Some(shared) = &mut state.queues.receives.shared {
                shared.set_resumed();
            }
        });
    }
}
