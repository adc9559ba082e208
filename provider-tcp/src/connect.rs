//! Connecting a socket.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use dat_provider_kit::engine::ConnectFailure;
use dat_provider_kit::fork::Private;
use socket2::{Domain, Protocol, Type};

/// A socket that a child of fork does not keep.
pub(crate) type Socket = Private<socket2::Socket>;

/// A peer that has not answered after this time cannot be reached.
const LONGEST: Duration = Duration::from_secs(8);

/// A new TCP socket, bound to an address and port; 0 for a port of the system's choice. At the unspecified
/// address of IPv6 it takes IPv4 connections too.
pub(crate) fn bound(own: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(own);
    let socket = || socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP));
    let socket = Private::create(socket)?;
    // A port with connections that are closed is free; one that is listened on is not.
    socket.set_reuse_address(true)?;
    if own.is_ipv6() && own.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&own.into())?;
    Ok(socket)
}

/// Connects a bound socket.
pub(crate) fn connect(
    socket: Socket,
    peer: SocketAddr,
    timeout: Duration,
) -> Result<Socket, ConnectFailure> {
    let own = socket.local_addr().map_err(|error| failure(&error))?;
    if own.is_ipv4() != peer.is_ipv4() || peer.port() == 0 {
        return Err(ConnectFailure::Unreachable);
    }
    if timeout < LONGEST {
        socket.connect_timeout(&peer.into(), timeout).map_err(|error| failure(&error))?;
    } else {
        socket.connect_timeout(&peer.into(), LONGEST).map_err(|error| match failure(&error) {
            ConnectFailure::TimedOut => ConnectFailure::Unreachable,
            other => other,
        })?;
    }
    // Without a listener, TCP connects a socket with itself if both ports are the same.
    let local = socket.local_addr().ok().and_then(|address| address.as_socket());
    if local == Some(peer) {
        return Err(ConnectFailure::Refused);
    }
    Ok(socket)
}

/// What an error of `connect` means for the attempt.
pub(crate) fn failure(error: &io::Error) -> ConnectFailure {
    match error.raw_os_error() {
        None if error.kind() == io::ErrorKind::TimedOut => ConnectFailure::TimedOut,
        Some(libc::ETIMEDOUT) => ConnectFailure::TimedOut,
        Some(
            libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENETDOWN
            | libc::EADDRNOTAVAIL
            | libc::EACCES
            | libc::EPERM
            | libc::EINVAL,
        ) => ConnectFailure::Unreachable,
        _ => ConnectFailure::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const LO: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    fn try_connect(peer: SocketAddr) -> Option<ConnectFailure> {
        connect(bound(LO).expect("a port"), peer, SECOND).err()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_a_listener_the_connection_is_refused() {
        // Bound and not listening: no other test can take the port meanwhile.
        let taken = bound(LO).expect("a port");
        let peer = taken.local_addr().expect("bound").as_socket().expect("an IP address");
        assert_eq!(try_connect(peer), Some(ConnectFailure::Refused));
    }

    #[test]
    fn an_address_without_a_way_is_unreachable() {
        // A socket of the loopback address cannot leave the machine.
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        assert_eq!(try_connect(peer), Some(ConnectFailure::Unreachable));
        let peer = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9));
        assert_eq!(try_connect(peer), Some(ConnectFailure::Unreachable), "IPv6");
    }
}
