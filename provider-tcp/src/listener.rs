//! Listening on a port, at one or several addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::engine::{Acceptor, Connected, DatagramEnds, JoinedAcceptor};
use dat_provider_kit::fork::Private;
use dat_provider_kit::qualifier;
use dat_provider_kit::stream_link::halves;
use socket2::{Domain, Protocol, Type};

use crate::connect;
use crate::socket::Socket;

/// Connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;

/// How often another port is tried, if the one that the system chose at the first address is in use at another.
const TRIES: usize = 64;

/// Listens at all addresses on the port of a qualifier, or on one that is free at all of them. An address that is
/// not available, for example a new one of IPv6 until it is verified, is left out unless all are.
pub(crate) fn listen(
    addresses: &[SocketAddr],
    wanted: Option<u64>,
    timeout: Duration,
) -> Result<Box<dyn Acceptor>> {
    let is_in_use = |error: &Error| error.return_type() == ReturnType::ConnQualInUse;
    let mut tries = if wanted.is_none() { TRIES } else { 1 };
    loop {
        tries -= 1;
        match listen_at_all(addresses, wanted, timeout) {
            Err(error) if tries > 0 && is_in_use(&error) => {}
            listening => return listening,
        }
    }
}

fn listen_at_all(
    addresses: &[SocketAddr],
    mut wanted: Option<u64>,
    timeout: Duration,
) -> Result<Box<dyn Acceptor>> {
    if wanted == Some(0) {
        return Err(Error::new(ReturnType::ConnQualUnavailable, Subtype::NoSubtype)
            .because("connection qualifier 0 is not a port"));
    }
    let mut all = Vec::<Box<dyn Acceptor>>::new();
    for address in addresses {
        match PortListener::new(*address, wanted, timeout) {
            Ok(listener) => {
                wanted = Some(listener.qualifier);
                all.push(Box::new(listener));
            }
            Err((_, libc::EADDRNOTAVAIL)) => {}
            Err((call, errno)) => return Err(qualifier::refused(call, errno, wanted)),
        }
    }
    let (Some(listener), Some(qualifier)) = (all.pop(), wanted) else {
        return Err(qualifier::refused("bind", libc::EADDRNOTAVAIL, wanted));
    };
    if all.is_empty() {
        return Ok(listener);
    }
    all.push(listener);
    Ok(Box::new(JoinedAcceptor::new(qualifier, all)?))
}

/// A new TCP socket, bound to an address and port; 0 for a port of the system's choice. At the unspecified
/// address of IPv6 it takes IPv4 connections too.
pub(crate) fn bound(own: SocketAddr) -> io::Result<connect::Socket> {
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

/// A listening socket.
struct PortListener {
    socket: connect::Socket,
    qualifier: u64,
    timeout: Duration,
    /// A descriptor in reserve: where none is free, it is closed to refuse a connection, which
    /// would otherwise keep the listener readable.
    reserve: Option<Private<UnixDatagram>>,
}

impl PortListener {
    /// Listens on the port of a qualifier, or on one that the system chooses.
    ///
    /// # Errors
    /// The system call that failed, and its error.
    fn new(
        mut own: SocketAddr,
        wanted: Option<u64>,
        timeout: Duration,
    ) -> std::result::Result<Self, (&'static str, i32)> {
        let refused =
            |call: &'static str| move |error: io::Error| (call, error.raw_os_error().unwrap_or(0));
        let port = wanted.map_or(0, qualifier::to_port);
        own.set_port(port);
        let socket = bound(own).map_err(refused("bind"))?;
        socket.listen(BACKLOG).map_err(refused("listen"))?;
        socket.set_nonblocking(true).map_err(refused("fcntl"))?;
        let own = socket.local_addr().map_err(refused("getsockname"))?;
        let chosen = own.as_socket().map_or(port, |own| own.port());
        let qualifier = wanted.unwrap_or_else(|| u64::from(chosen));
        Ok(Self { socket, qualifier, timeout, reserve: reserve() })
    }

    /// Closes the oldest waiting connection with the descriptor in reserve.
    fn refuse_one(&mut self) {
        drop(self.reserve.take());
        // A child of a fork must not hold it open.
        drop(Private::create(|| self.socket.accept().map(|(socket, _)| socket)));
        self.reserve = reserve();
    }
}

/// A socket, since files such as /dev/null are opened by programs too.
fn reserve() -> Option<Private<UnixDatagram>> {
    Private::create(UnixDatagram::unbound).ok()
}

impl Acceptor for PortListener {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn is_there(&self) -> bool {
        self.socket.is_there()
    }

    fn accept(&mut self) -> Option<Connected> {
        loop {
            let (socket, peer) = match Private::create_with(|| self.socket.accept()) {
                Ok(accepted) => accepted,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE) => {
                        self.refuse_one();
                        return None;
                    }
                    // The connection ended before it was accepted; another one may wait.
                    Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO) => continue,
                    _ => return None,
                },
            };
            // A socket that takes both kinds of connections sees IPv4 addresses as mapped ones.
            let address = peer.as_socket()?.ip().to_canonical();
            if let Ok(connected) = connected(socket, address, self.timeout) {
                return Some(connected);
            }
        }
    }
}

/// The link of a connected socket.
pub(crate) fn connected(
    socket: connect::Socket,
    address: IpAddr,
    timeout: Duration,
) -> io::Result<Connected> {
    let own = socket.local_addr()?.as_socket();
    let local_port = own.map_or(0, |own| u64::from(own.port()));
    let peer = socket.peer_addr()?.as_socket();
    let ends = |(own, peer)| DatagramEnds { own: unmapped(own), peer: unmapped(peer) };
    let datagrams = own.zip(peer).map(ends);
    let (reader, writer) = halves(&Arc::new(Socket::new(socket, timeout)?));
    Ok(Connected { reader, writer, address, local_port, datagrams })
}

/// The address of a socket: one that takes both kinds of connections has mapped addresses for IPv4.
fn unmapped(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
