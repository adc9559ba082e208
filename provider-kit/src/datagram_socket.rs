//! A UDP socket, which never blocks.
#![allow(unsafe_code, reason = "the counts of a socket are read by a raw system call")]

use std::mem::size_of_val;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::datagram_counts::DatagramCounts;
use crate::fork::Private;

/// Requested length of the receive queue, in bytes; `net.core.rmem_max` limits it.
const RECEIVE_BUFFER: usize = 4 << 20;

/// A socket bound to an address and a port of the system's choice.
pub(crate) struct DatagramSocket {
    socket: Arc<Private<OwnedFd>>,
    port: u16,
    counts: Arc<DatagramCounts>,
}

/// The result of sending a packet.
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
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            Private::create(|| rustix::net::socket_with(family, SocketType::DGRAM, flags, None))?;
        // Otherwise it has the length of the system's default.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
        rustix::net::bind(&socket, &at)?;
        let own = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        let socket = Arc::new(socket);
        counts.add(&socket);
        Ok(Self { socket, port: own.port(), counts: Arc::clone(counts) })
    }

    /// The port at which it receives; not 0.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        (*self.socket).as_fd()
    }

    /// Receives a packet, truncated to the length of the buffer, and returns its length; `None` if there is none.
    ///
    /// # Errors
    /// The program has closed the descriptor.
    pub(crate) fn receive(&self, into: &mut [u8]) -> Result<Option<usize>> {
        loop {
            match rustix::net::recv(&*self.socket, &mut *into, RecvFlags::DONTWAIT) {
                Ok((length, _)) => return Ok(Some(length)),
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::BADF | Errno::NOTSOCK)) => return Err(errno),
                // Nothing has arrived, or the system reports that an earlier packet has not.
                Err(_) => return Ok(None),
            }
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// The program has closed the descriptor.
    pub(crate) fn send(&self, packet: &[u8], to: &SocketAddr) -> Result<Sent> {
        loop {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::sendto(&*self.socket, packet, flags, to) {
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

/// The number of packets for which a socket had no space, modulo 2^32; 0 if the system does not report it.
pub(crate) fn overruns(socket: &Private<OwnedFd>) -> u64 {
    /// The index of the number among those of `SO_MEMINFO` (`SK_MEMINFO_DROPS`).
    const DROPS: usize = 8;
    let mut numbers = [0_u32; DROPS + 1];
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
    if result == 0 { u64::from(numbers[DROPS]) } else { 0 }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

    use super::*;

    fn at(address: impl Into<std::net::IpAddr>) -> SocketAddr {
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
                assert_eq!(one.send(packet, &to), Ok(Sent::Taken));
                assert_eq!(other.receive(&mut buffer), Ok(Some(expected)));
                assert_eq!(buffer[..expected], packet[..expected]);
            }
        }
        assert_eq!(counts.read(), Default::default());
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
        assert_eq!(socket.send(b"hello", &to), Ok(Sent::Refused));
        assert_eq!(counts.read().transmit_discards, 1);
    }
}
