//! A destination of datagrams.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

use dat_provider::{Address, RemoteAddress};

use crate::datagram_socket::GROUP_PORT;
use crate::handshake::DatagramPort;
use crate::network::interface_of;
use crate::transport::DatagramEnds;

/// Where datagrams for a queue pair go, and from where.
#[derive(Clone, Copy)]
pub(in crate::queue_pair) struct Destination {
    /// The address of this machine to send from; if it is of IPv6, its scope is the interface to send from. Nothing if
    /// the system chooses.
    pub(super) from: Option<SocketAddr>,
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
        let handle = Arc::new(Self { from: Some(from), to, key: port.key });
        RemoteAddress { address, number: u32::from(port.port), handle }
    }

    /// The queue pair with a port of its own that receives at `to`, or the members of a group.
    pub(in crate::queue_pair) fn at(
        from: Option<IpAddr>,
        mut to: SocketAddr,
        key: u64,
    ) -> RemoteAddress {
        let is_group = to.ip().is_multicast();
        if is_group {
            to.set_port(GROUP_PORT);
        }
        let from = from.map(|address| match (address, &mut to) {
            (IpAddr::V6(own), SocketAddr::V6(peer)) => {
                let needs_scope = is_group || peer.ip().is_unicast_link_local();
                let scope = if needs_scope { interface_of(own) } else { 0 };
                if peer.scope_id() == 0 {
                    peer.set_scope_id(scope);
                }
                SocketAddrV6::new(own, 0, 0, scope).into()
            }
            (address, _) => SocketAddr::new(address, 0),
        });
        let handle = Arc::new(Self { from, to, key });
        RemoteAddress { address: to.ip().into(), number: u32::from(to.port()), handle }
    }
}
