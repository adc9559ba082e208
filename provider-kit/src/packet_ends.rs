//! The addresses of packets, for sockets that receive at every address of the machine.

use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg,
};

/// Where a packet came from, and where it was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketEnds {
    pub(crate) from: SocketAddr,
    pub(crate) to: IpAddr,
}

/// Receives a packet, cut off at the length of the buffer, and returns its length. There are no ends if the system does
/// not tell them.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
) -> nix::Result<(usize, Option<PacketEnds>)> {
    let mut control = nix::cmsg_space!(libc::in6_pktinfo);
    let mut parts = [IoSliceMut::new(into)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let to = message.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::Ipv4PacketInfo(info) => {
            Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into())
        }
        ControlMessageOwned::Ipv6PacketInfo(info) => {
            Some(IpAddr::from(Ipv6Addr::from(info.ipi6_addr.s6_addr)).to_canonical())
        }
        _ => None,
    });
    let from = message.address.as_ref().and_then(address);
    let ends = from.zip(to).map(|(from, to)| PacketEnds { from, to });
    Ok((message.bytes, ends))
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddr::V4((*v4).into()));
    }
    let v6 = SocketAddrV6::from(*storage.as_sockaddr_in6()?);
    Some(match v6.ip().to_ipv4_mapped() {
        Some(v4) => SocketAddr::new(v4.into(), v6.port()),
        None => v6.into(),
    })
}

/// Sends a packet from an address of this machine, on a socket of both families (`is_dual`) or of IPv4. The scope of an
/// address of IPv6 is the interface to send from.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    is_dual: bool,
    packet: &[u8],
    from: SocketAddr,
    to: SocketAddr,
) -> nix::Result<usize> {
    let (parts, flags) = ([IoSlice::new(packet)], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
    let to = SockaddrStorage::from(to);
    let send = |control| sendmsg(socket.as_raw_fd(), &parts, &[control], flags, Some(&to));
    match from {
        SocketAddr::V4(from) if !is_dual => {
            let address = |v4: Ipv4Addr| libc::in_addr { s_addr: u32::from(v4).to_be() };
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: address(*from.ip()),
                ipi_addr: address(Ipv4Addr::UNSPECIFIED),
            };
            send(ControlMessage::Ipv4PacketInfo(&info))
        }
        from => {
            let (own, interface) = match from {
                SocketAddr::V4(v4) => (v4.ip().to_ipv6_mapped(), 0),
                SocketAddr::V6(v6) => (*v6.ip(), v6.scope_id()),
            };
            let ipi6_addr = libc::in6_addr { s6_addr: own.octets() };
            let info = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: interface };
            send(ControlMessage::Ipv6PacketInfo(&info))
        }
    }
}

/// An address as a socket of both families has it.
pub(crate) fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}
