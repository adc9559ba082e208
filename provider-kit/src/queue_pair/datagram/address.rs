//! A destination of datagrams.

use std::net::SocketAddr;
use std::sync::Arc;

use dat_provider::{Address, RemoteAddress};

use crate::handshake::DatagramPort;
use crate::transport::DatagramEnds;

/// Where datagrams for a queue pair go, and from where.
pub(super) struct Destination {
    /// The address of this machine to send from.
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    /// The key of the queue pair.
    pub(super) key: u64,
}

impl Destination {
    /// The queue pair of a peer that receives at a port; the consumer knows the peer by `address`. Its number is the port:
    /// no other queue pair at the address has it.
    pub(super) fn of(address: Address, ends: DatagramEnds, port: DatagramPort) -> RemoteAddress {
        let DatagramEnds { own: from, peer: mut to } = ends;
        to.set_port(port.port);
        let handle = Arc::new(Self { from, to, key: port.key });
        RemoteAddress { address, number: u32::from(port.port), handle }
    }
}
