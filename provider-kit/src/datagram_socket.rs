//! A UDP socket, which never blocks.
#![allow(unsafe_code, reason = "the counts of a socket are read by a raw system call")]

use std::mem::size_of_val;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::datagram_counts::DatagramCounts;
use crate::fork::Private;
use crate::network::{interface_of, interfaces};
use crate::packet_ends::{self, PacketEnds};

/// Requested length of the receive queue, in bytes; `net.core.rmem_max` limits it.
const RECEIVE_BUFFER: usize = 4 << 20;

/// The port at which the members of multicast groups receive what is sent to them. All of them need the same one, so it
/// is none of those that the system assigns.
pub(crate) const GROUP_PORT: u16 = 17_473;

/// A socket that is bound to a port.
pub(crate) struct DatagramSocket {
    socket: Arc<Private<OwnedFd>>,
    port: u16,
    at: At,
    counts: Arc<DatagramCounts>,
}

/// Where a socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// At one address.
    Address,
    /// At every address, also those of IPv6 (`is_dual`).
    Everywhere { is_dual: bool },
    /// At a multicast group.
    Group(IpAddr),
}

/// A packet that has arrived, or as much of it as the buffer has space for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Length in bytes.
    pub(crate) length: usize,
    /// `None` if the system does not say.
    pub(crate) from: Option<SocketAddr>,
    /// `None` if the socket receives at one address.
    pub(crate) to: Option<IpAddr>,
}

impl Received {
    /// Where the packet came from, and where it was sent to, if both are known.
    pub(crate) fn ends(&self) -> Option<PacketEnds> {
        let (from, to) = self.from.zip(self.to)?;
        Some(PacketEnds { from, to })
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The system has accepted it.
    Taken,
    /// It can be sent when the socket is writable.
    Full,
    /// The system has refused it, for example because there is no route to its destination.
    Refused,
}

impl DatagramSocket {
    /// Opens a socket at an address, ignoring its port. Counts the packets that it drops.
    ///
    /// # Errors
    /// The system's error, for example if the address is not of this machine or no descriptor is free.
    pub(crate) fn bind(mut at: SocketAddr, counts: &Arc<DatagramCounts>) -> Result<Self> {
        at.set_port(0);
        Self::open(at, At::Address, counts, |_| Ok(()))
    }

    /// Opens a socket at every address, with this port, or one of the system's choice if it is 0.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and if another socket has the port.
    pub(crate) fn bind_everywhere(port: u16, counts: &Arc<DatagramCounts>) -> Result<Self> {
        let at = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        let both = Self::open(at, At::Everywhere { is_dual: true }, counts, |socket| {
            sockopt::set_ipv6_v6only(socket, false)?;
            setsockopt(socket, Ipv6RecvPacketInfo, &true).map_err(of_nix)
        });
        match both {
            // The system has no IPv6.
            Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {}
            both => return both,
        }
        let at = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        Self::open(at, At::Everywhere { is_dual: false }, counts, |socket| {
            setsockopt(socket, Ipv4PacketInfo, &true).map_err(of_nix)
        })
    }

    /// Opens a socket that receives what is sent to a multicast group, at the network interface with an address, or at
    /// every interface if that is unspecified.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and if no interface has the address, or the first one is not that of a group.
    pub(crate) fn bind_group(
        group: IpAddr,
        at: IpAddr,
        counts: &Arc<DatagramCounts>,
    ) -> Result<Self> {
        if !group.is_multicast() {
            return Err(Errno::INVAL);
        }
        let place = SocketAddr::new(group, GROUP_PORT);
        Self::open(place, At::Group(group), counts, |socket| {
            sockopt::set_socket_reuseaddr(socket, true)?;
            receive_own_groups(socket, group);
            if !at.is_unspecified() {
                return join(socket, group, at);
            }
            let all = interfaces().into_iter().filter(|one| one.is_up);
            let places = all.flat_map(|one| one.addresses).map(|own| own.ip());
            // An interface that has two addresses is joined once, and one may not carry groups.
            let joined = places.map(|at| join(socket, group, at));
            joined.fold(Err(Errno::NODEV), Result::or)
        })
    }

    fn open(
        at: SocketAddr,
        place: At,
        counts: &Arc<DatagramCounts>,
        prepare: impl FnOnce(&Private<OwnedFd>) -> Result<()>,
    ) -> Result<Self> {
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            Private::create(|| rustix::net::socket_with(family, SocketType::DGRAM, flags, None))?;
        // Otherwise it has the length of the system's default.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
        prepare(&socket)?;
        rustix::net::bind(&socket, &at)?;
        let own = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        let socket = Arc::new(socket);
        counts.add(&socket);
        Ok(Self { socket, port: own.port(), at: place, counts: Arc::clone(counts) })
    }

    /// The port at which it receives; not 0.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        (*self.socket).as_fd()
    }

    fn try_receive(&self, into: &mut [u8]) -> Result<Received> {
        match self.at {
            At::Address | At::Group(_) => {
                let (length, _, from) =
                    rustix::net::recvfrom(&*self.socket, into, RecvFlags::DONTWAIT)?;
                let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                let to = match self.at {
                    At::Group(to) => Some(to),
                    _ => None,
                };
                Ok(Received { length, from, to })
            }
            At::Everywhere { .. } => {
                let received = packet_ends::receive(self.descriptor(), into);
                let (length, ends) = received.map_err(of_nix)?;
                let (from, to) = (ends.map(|ends| ends.from), ends.map(|ends| ends.to));
                Ok(Received { length, from, to })
            }
        }
    }

    /// Receives a packet, cut off at the length of the buffer. Nothing if there is none.
    ///
    /// # Errors
    /// The program has closed the descriptor.
    pub(crate) fn receive(&self, into: &mut [u8]) -> Result<Option<Received>> {
        loop {
            match self.try_receive(into) {
                Ok(received) => return Ok(Some(received)),
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::BADF | Errno::NOTSOCK)) => return Err(errno),
                // Nothing has arrived, or the system reports that an earlier packet has not.
                Err(_) => return Ok(None),
            }
        }
    }

    /// Free bytes of the receive queue; 0 if the system does not say.
    pub(crate) fn space(&self) -> u32 {
        let MemoryInfo(numbers) = MemoryInfo::of(&self.socket);
        numbers[MemoryInfo::LENGTH].saturating_sub(numbers[MemoryInfo::WAITING])
    }

    fn try_send(&self, packet: &[u8], from: Option<SocketAddr>, to: &SocketAddr) -> Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let At::Everywhere { is_dual } = self.at else {
            return rustix::net::sendto(&*self.socket, packet, flags, to);
        };
        let to = if is_dual { packet_ends::mapped(*to) } else { *to };
        match from.filter(|from| !from.ip().is_unspecified()) {
            None => rustix::net::sendto(&*self.socket, packet, flags, &to),
            Some(from) => {
                packet_ends::send(self.descriptor(), is_dual, packet, from, to).map_err(of_nix)
            }
        }
    }

    /// Sends a packet; a socket at every address does so from one of them.
    ///
    /// # Errors
    /// The program has closed the descriptor.
    pub(crate) fn send(
        &self,
        packet: &[u8],
        from: Option<SocketAddr>,
        to: &SocketAddr,
    ) -> Result<Sent> {
        loop {
            match self.try_send(packet, from, to) {
                Ok(_) => return Ok(Sent::Taken),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Sent::Full),
                Err(errno @ (Errno::BADF | Errno::NOTSOCK)) => return Err(errno),
                Err(_) => {
                    self.counts.count_not_sent();
                    return Ok(Sent::Refused);
                }
            }
        }
    }
}

impl Drop for DatagramSocket {
    fn drop(&mut self) {
        self.counts.close(&self.socket);
    }
}

/// The same error as the other library has it.
fn of_nix(errno: nix::Error) -> Errno {
    Errno::from_raw_os_error(errno as i32)
}

/// Makes a socket a member of a group at the interface with an address.
fn join(socket: &Private<OwnedFd>, group: IpAddr, at: IpAddr) -> Result<()> {
    match (group, at) {
        (IpAddr::V4(group), IpAddr::V4(at)) => sockopt::set_ip_add_membership(socket, &group, &at),
        (IpAddr::V6(group), IpAddr::V6(at)) => match interface_of(at) {
            0 => Err(Errno::NODEV),
            interface => sockopt::set_ipv6_add_membership(socket, &group, interface),
        },
        _ => Err(Errno::AFNOSUPPORT),
    }
}

/// Makes a socket receive only at interfaces at which it is a member itself. Without the option, which old systems do not
/// have, it also receives what is sent to its group at those at which other sockets are members.
fn receive_own_groups(socket: &Private<OwnedFd>, group: IpAddr) {
    let (level, option) = match group {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MULTICAST_ALL),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_ALL),
    };
    let no: libc::c_int = 0;
    // SAFETY: the call reads the integer, whose size it is given, and nothing else.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const no).cast(),
            size_of_val(&no) as libc::socklen_t,
        )
    };
}

/// The memory of a socket, as `SO_MEMINFO` has it.
struct MemoryInfo([u32; 9]);

impl MemoryInfo {
    /// Bytes that wait to be received (`SK_MEMINFO_RMEM_ALLOC`).
    const WAITING: usize = 0;
    /// Length of the receive queue in bytes (`SK_MEMINFO_RCVBUF`).
    const LENGTH: usize = 1;
    /// Packets for which there was no space (`SK_MEMINFO_DROPS`).
    const DROPS: usize = 8;

    /// All is 0 if the system does not say.
    fn of(socket: &Private<OwnedFd>) -> Self {
        let mut numbers = [0; Self::DROPS + 1];
        let mut length = size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: the call writes at most `length` bytes to `numbers`, and the length written to `length`; both outlive it.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                numbers.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        Self(if result == 0 { numbers } else { Default::default() })
    }
}

/// The number of packets for which a socket had no space, modulo 2^32; 0 if the system does not say.
pub(crate) fn overruns(socket: &Private<OwnedFd>) -> u64 {
    MemoryInfo::of(socket).0[MemoryInfo::DROPS].into()
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::net::{SocketAddrV6, UdpSocket};

    use super::*;

    fn at(address: impl Into<IpAddr>) -> SocketAddr {
        SocketAddr::new(address.into(), 0)
    }

    #[test]
    fn a_packet_arrives_and_is_cut_off_at_the_length_of_the_buffer() {
        let counts = DatagramCounts::new();
        let local: [SocketAddr; 2] = [at(Ipv4Addr::LOCALHOST), at(Ipv6Addr::LOCALHOST)];
        for at in local {
            let [one, other] = [0; 2].map(|_| DatagramSocket::bind(at, &counts).expect("a port"));
            let mut buffer = [0; 8];
            assert_eq!(other.receive(&mut buffer), Ok(None));
            let to = SocketAddr::new(at.ip(), other.port());
            for (packet, expected) in [(&b"hello"[..], 5), (b"0123456789", 8), (b"", 0)] {
                assert_eq!(one.send(packet, None, &to), Ok(Sent::Taken));
                let from = Some(SocketAddr::new(at.ip(), one.port()));
                let received = Received { length: expected, from, to: None };
                assert_eq!(other.receive(&mut buffer), Ok(Some(received)));
                assert_eq!(buffer[..expected], packet[..expected]);
            }
        }
        assert_eq!(counts.read(), Default::default());
    }

    #[test]
    fn a_socket_at_every_address_knows_both_ends_of_a_packet() {
        let counts = DatagramCounts::new();
        let [one, other] =
            [0; 2].map(|port| DatagramSocket::bind_everywhere(port, &counts).expect("a port"));
        assert!(DatagramSocket::bind_everywhere(one.port(), &counts).is_err(), "it is in use");
        let mut buffer = [0; 8];
        for text in ["127.0.0.1", "127.0.0.2", "::1"] {
            let to: IpAddr = text.parse().expect("an address");
            for from in [None, Some(SocketAddr::new(to, 0))] {
                let peer = SocketAddr::new(to, other.port());
                assert_eq!(one.send(b"hello", from, &peer), Ok(Sent::Taken));
                let received = other.receive(&mut buffer).expect("it is open");
                let received = received.filter(|received| received.length == 5);
                let Some(ends) = received.and_then(|received| received.ends()) else {
                    panic!("nothing from {text}")
                };
                assert_eq!((ends.to, ends.from.port()), (to, one.port()));
                assert!(ends.from.ip() == to || from.is_none(), "{ends:?}");
            }
        }
    }

    #[test]
    fn each_member_of_a_group_gets_what_is_sent_to_it() {
        let counts = DatagramCounts::new();
        let lo = IpAddr::from(Ipv4Addr::LOCALHOST);
        let group = IpAddr::from([239, 77, 68, 65]);
        let [one, other] =
            [(); 2].map(|()| DatagramSocket::bind_group(group, lo, &counts).expect("a member"));
        let sender = DatagramSocket::bind_everywhere(0, &counts).expect("a port");
        let (to, from) = (SocketAddr::new(group, GROUP_PORT), Some(SocketAddr::new(lo, 0)));
        assert_eq!(sender.send(b"hello", from, &to), Ok(Sent::Taken));
        let mut buffer = [0; 8];
        for member in [&one, &other] {
            let from = SocketAddr::new(lo, sender.port());
            let received = Received { length: 5, from: Some(from), to: Some(group) };
            assert_eq!(member.receive(&mut buffer), Ok(Some(received)));
        }
        let another = SocketAddr::new([239, 77, 68, 66].into(), GROUP_PORT);
        assert_eq!(sender.send(b"hello", from, &another), Ok(Sent::Taken));
        assert_eq!(one.receive(&mut buffer), Ok(None));
        assert!(DatagramSocket::bind_group(lo, lo, &counts).is_err(), "not a group");
        let elsewhere = [192, 0, 2, 77].into();
        assert!(DatagramSocket::bind_group(group, elsewhere, &counts).is_err(), "not here");
    }

    #[test]
    fn a_member_at_every_interface_gets_each_packet_once() {
        let counts = DatagramCounts::new();
        let sender = DatagramSocket::bind_everywhere(0, &counts).expect("a port");
        let own: Vec<SocketAddr> = interfaces().into_iter().flat_map(|one| one.addresses).collect();
        for (group, any) in [
            (IpAddr::from([239, 77, 68, 67]), IpAddr::from(Ipv4Addr::UNSPECIFIED)),
            ("ff05::4441".parse().expect("an address"), Ipv6Addr::UNSPECIFIED.into()),
        ] {
            let Ok(member) = DatagramSocket::bind_group(group, any, &counts) else {
                assert!(group.is_ipv6(), "every system has IPv4");
                continue;
            };
            let mut buffer = [0; 8];
            let mut reached = 0;
            for from in own.iter().filter(|own| own.is_ipv4() == group.is_ipv4()) {
                let scope = match from.ip() {
                    IpAddr::V6(v6) => interface_of(v6),
                    IpAddr::V4(_) => 0,
                };
                let from = match from {
                    SocketAddr::V6(v6) => SocketAddrV6::new(*v6.ip(), 0, 0, scope).into(),
                    v4 => *v4,
                };
                let to = SocketAddr::new(group, GROUP_PORT);
                if sender.send(b"hello", Some(from), &to) != Ok(Sent::Taken) {
                    continue;
                }
                let received = member.receive(&mut buffer).expect("it is open");
                let ends = received.and_then(|received| received.ends());
                assert!(ends.is_none_or(|ends| ends.from.ip() == from.ip()), "{ends:?}");
                reached += u32::from(ends.is_some());
                assert_eq!(member.receive(&mut buffer), Ok(None), "twice");
            }
            assert!(reached > 0 || group.is_ipv6(), "no interface carries {group}");
        }
    }

    #[test]
    fn what_finds_no_space_is_counted_while_the_socket_is_open_and_afterwards() {
        let counts = DatagramCounts::new();
        let full = DatagramSocket::bind(at(Ipv4Addr::LOCALHOST), &counts).expect("a port");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let mut sent = 0_u64;
        while counts.read().dropped_datagrams < 5 {
            sender.send_to(&[0; 16 << 10], ("127.0.0.1", full.port())).expect("it is there");
            sent += 1;
            assert!(sent < 1 << 20, "the queue never fills up");
        }
        let before = counts.read();
        let mut buffer = [0; 1];
        let received =
            std::iter::from_fn(|| full.receive(&mut buffer).expect("it is open")).count();
        assert_eq!(received as u64 + before.dropped_datagrams, sent);
        drop(full);
        assert_eq!(counts.read(), before);
    }

    #[test]
    fn a_packet_that_the_system_refuses_is_counted() {
        let counts = DatagramCounts::new();
        let socket = DatagramSocket::bind(at(Ipv4Addr::LOCALHOST), &counts).expect("a port");
        // A socket of the loopback address cannot leave the machine.
        let to = SocketAddr::from(([192, 0, 2, 77], 9));
        assert_eq!(socket.send(b"hello", None, &to), Ok(Sent::Refused));
        assert_eq!(counts.read().transmit_discards, 1);
    }
}
