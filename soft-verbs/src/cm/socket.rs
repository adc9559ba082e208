//! The sockets of the connection manager.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};
use std::sync::Arc;

use dat_provider_kit::network::source_of;
use dat_sync::Private;
use socket2::{Domain, Protocol, Type};

use crate::error::{Error, Result};

/// A socket that a child of fork does not keep. A listener's socket is also the one that connects.
pub(super) type Socket = Arc<Private<socket2::Socket>>;

/// The longest queue of connections that the system keeps for a listener.
const SYSTEM_BACKLOG: i32 = 1024;

/// How an address is bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BindOptions {
    /// True if another identifier may be bound to the address.
    pub(super) may_share: bool,
    /// True if `::` leaves out the addresses of IPv4; `None` is the default of the system.
    pub(super) is_family_only: Option<bool>,
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket =
        Private::create(|| socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP)))?;
    socket.set_nonblocking(true)?;
    Ok(Arc::new(socket))
}

/// A socket that is bound to an address, whose port may be 0, and does not [reserve](reserve) it. Connections that ended a
/// short time ago do not keep the port.
fn open_at(address: SocketAddr, prepare: impl Fn(&Socket) -> io::Result<()>) -> io::Result<Socket> {
    let bind = |address: SocketAddr, may_share: bool| {
        let socket = open(address)?;
        socket.set_reuse_address(may_share)?;
        prepare(&socket)?;
        socket.bind(&address.into())?;
        socket.set_reuse_address(true)?;
        Ok(socket)
    };
    // If the first socket of a port permits others from the beginning, the system admits all that do, whatever became of it.
    let chosen = match bind(address, false) {
        Err(error) if errno(&error) == libc::EADDRINUSE => bind(address, true)?,
        chosen => chosen?,
    };
    if address.port() != 0 {
        return Ok(chosen);
    }
    // A socket keeps only a port that it was bound to by number when it stops listening or its attempt is refused.
    bind(with_port(address, local(&chosen)?.port()), true)
}

/// Keeps other sockets from the port of one that does not listen, or permits them again: at the end, so that the
/// connection does not keep the port when it has ended.
fn reserve(socket: &Socket, is_reserved: bool) -> io::Result<()> {
    socket.set_reuse_address(!is_reserved)
}

/// Binds a socket to an address, whose port may be 0, and reserves it unless it may be shared. A reserved socket listens.
///
/// # Errors
/// `EADDRINUSE`, or `EADDRNOTAVAIL` for a port of the unspecified address that is in use; `EADDRNOTAVAIL` for an address
/// of another machine, or if no port is free; `EACCES` for a port below 1024; or a shortage of descriptors.
pub(super) fn bind(address: SocketAddr, options: BindOptions) -> Result<(Socket, SocketAddr)> {
    let attempt = || {
        let socket = open_at(address, |socket| match (address, options.is_family_only) {
            (SocketAddr::V6(_), Some(is_only)) => socket.set_only_v6(is_only),
            _ => Ok(()),
        })?;
        if !options.may_share {
            socket.listen(SYSTEM_BACKLOG)?;
        }
        let bound = local(&socket)?;
        Ok((socket, bound))
    };
    attempt().map_err(|error| not_bound("bind to", address, &error))
}

/// Lets a bound socket listen.
///
/// # Errors
/// `EADDRINUSE` if another one listens there already.
pub(super) fn listen(socket: &Socket) -> Result<()> {
    socket.listen(SYSTEM_BACKLOG).map_err(|error| failed("listen", &error))
}

/// Ends the listening of a socket, which keeps its port and may connect.
///
/// # Errors
/// A shortage of memory.
pub(super) fn stop_listening(socket: &Socket) -> Result<()> {
    let stopped = reserve(socket, true).and_then(|()| socket.shutdown(Shutdown::Both));
    stopped.map_err(|error| failed("stop listening", &error))
}

/// Ends the connection of a socket. What was sent arrives.
pub(super) fn close(socket: &Socket) {
    let _ = reserve(socket, false);
    let _ = socket.shutdown(Shutdown::Both);
}

/// A socket that connects from a port of that address; the port may be 0.
///
/// # Errors
/// As [`bind`].
pub(super) fn from_address(address: SocketAddr) -> Result<(Socket, SocketAddr)> {
    let attempt = || {
        let socket = open_at(address, |_| Ok(()))?;
        reserve(&socket, true)?;
        let bound = local(&socket)?;
        Ok((socket, bound))
    };
    attempt().map_err(|error| not_bound("take a port of", address, &error))
}

/// Starts to connect.
///
/// # Errors
/// The system's error, if it is known at once.
pub(super) fn connect(socket: &Socket, peer: SocketAddr) -> io::Result<()> {
    // The messages are few and each of them is waited for.
    let _ = socket.set_tcp_nodelay(true);
    match socket.connect(&peer.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Starts to connect from an address, with the socket that keeps its port if there is one, or from another port of it if
/// that one is in use or its last connection to the peer has not ended. Returns the socket, its address, and whether the
/// attempt has begun.
///
/// # Errors
/// As [`bind`].
pub(super) fn connect_from(
    kept: Option<Socket>,
    address: SocketAddr,
    peer: SocketAddr,
) -> Result<(Socket, SocketAddr, io::Result<()>)> {
    let own = kept.map_or_else(|| from_address(address), |socket| Ok((socket, address)));
    if let Ok((socket, bound)) = own {
        let started = connect(&socket, peer);
        if !matches!(&started, Err(error) if errno(error) == libc::EADDRNOTAVAIL) {
            return Ok((socket, bound, started));
        }
    }
    let (socket, bound) = from_address(with_port(address, 0))?;
    let started = connect(&socket, peer);
    Ok((socket, bound, started))
}

/// Checks that a socket that was writable is connected, or returns the error of the attempt.
pub(super) fn outcome(socket: &Socket) -> io::Result<()> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    let peer = socket.peer_addr()?;
    // Without a listener, TCP connects a socket with itself if both ports are the same.
    if socket.local_addr()?.as_socket() == peer.as_socket() {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}

/// Takes a connection of a listening socket; `None` if there is none.
pub(super) fn accept(listener: &Socket) -> io::Result<Option<(Socket, SocketAddr)>> {
    match Private::create_with(|| listener.accept()) {
        Ok((socket, peer)) => {
            socket.set_nonblocking(true)?;
            let _ = socket.set_tcp_nodelay(true);
            Ok(peer.as_socket().map(|peer| (Arc::new(socket), peer)))
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// The local address of a socket.
pub(super) fn local(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?;
    address.as_socket().ok_or_else(|| ErrorKind::AddrNotAvailable.into())
}

/// The address of the peer of a socket.
pub(super) fn peer(socket: &Socket) -> io::Result<SocketAddr> {
    socket.peer_addr()?.as_socket().ok_or_else(|| ErrorKind::AddrNotAvailable.into())
}

/// The address from which the system sends to a peer, with port 0.
///
/// # Errors
/// `ENETUNREACH` and others, if no way leads there.
pub(super) fn source_towards(peer: SocketAddr) -> Result<SocketAddr> {
    // The port means nothing, and must not be 0.
    let some = with_port(peer, peer.port().max(9));
    let source =
        source_of(some).map_err(|error| failed(&format!("find a way to {peer}"), &error))?;
    Ok(with_port(source, 0))
}

/// An address of the loopback device for an unspecified destination, as sockets have it.
pub(super) fn destination(peer: SocketAddr) -> SocketAddr {
    let mut peer = peer;
    match peer.ip() {
        IpAddr::V4(address) if address.is_unspecified() => peer.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(address) if address.is_unspecified() => peer.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    peer
}

/// The address with another port.
pub(super) fn with_port(address: SocketAddr, port: u16) -> SocketAddr {
    let mut address = address;
    address.set_port(port);
    address
}

/// The errno of a system call.
pub(super) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::UnexpectedEof => libc::ECONNRESET,
        _ => libc::EIO,
    })
}

/// The error of a call that a system call made fail.
pub(super) fn failed(what: &str, error: &io::Error) -> Error {
    let advice = match error.raw_os_error() {
        Some(libc::EADDRINUSE) => "; choose another port, or 0 for a free one",
        Some(libc::EADDRNOTAVAIL) => "; use an address of this machine (ip address)",
        Some(libc::EMFILE) => "; raise the limit of descriptors (ulimit -n)",
        _ => "",
    };
    Error::new(errno(error), format!("cannot {what}: {error}{advice}"))
}

/// The error of a bind. The connection manager of the kernel has `EADDRNOTAVAIL` for a port of all addresses that is in
/// use, and if no port is free.
fn not_bound(what: &str, address: SocketAddr, error: &io::Error) -> Error {
    let failed = failed(&format!("{what} {address}"), error);
    if failed.errno != libc::EADDRINUSE {
        return failed;
    }
    if address.port() == 0 {
        let why = format!(
            "cannot {what} {address}: no port is free; the port of a connection becomes free a minute after its end: \
             connect less often, or widen net.ipv4.ip_local_port_range"
        );
        return Error::new(libc::EADDRNOTAVAIL, why);
    }
    let is_of_all = address.ip().is_unspecified();
    if is_of_all { Error::new(libc::EADDRNOTAVAIL, failed.to_string()) } else { failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lo() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[test]
    fn a_bound_port_is_reserved_unless_it_is_shared() {
        let (_first, at) = bind(lo(), BindOptions::default()).expect("a free port");
        assert_ne!(at.port(), 0);
        let taken = bind(at, BindOptions::default()).expect_err("taken");
        assert_eq!(taken.errno, libc::EADDRINUSE);
        let everywhere = SocketAddr::from(([0, 0, 0, 0], at.port()));
        let taken = bind(everywhere, BindOptions::default()).expect_err("taken at one address");
        assert_eq!(taken.errno, libc::EADDRNOTAVAIL);
        let options = BindOptions { may_share: true, ..BindOptions::default() };
        let (first, at) = bind(lo(), options).expect("a free port");
        let (second, _) = bind(at, options).expect("shared");
        listen(&first).expect("the first that listens");
        assert_eq!(listen(&second).expect_err("the second").errno, libc::EADDRINUSE);
    }

    #[test]
    fn the_port_of_a_connection_is_kept_until_it_ends() {
        let server = std::net::TcpListener::bind(lo()).expect("a free port");
        let peer = server.local_addr().expect("it is bound");
        let stopped = || {
            let (socket, at) = bind(lo(), BindOptions::default()).expect("a free port");
            stop_listening(&socket).expect("it listens");
            (socket, at)
        };
        for (socket, at) in [from_address(lo()).expect("a free port"), stopped()] {
            let taken = || bind(at, BindOptions::default()).expect_err("it is reserved").errno;
            assert_eq!(taken(), libc::EADDRINUSE);
            socket.set_nonblocking(false).expect("a socket");
            connect(&socket, peer).expect("its own port");
            let (accepted, _) = server.accept().expect("a connection");
            assert_eq!(taken(), libc::EADDRINUSE);
            // The side that ends first keeps the port for a minute.
            close(&socket);
            drop((socket, accepted));
            bind(at, BindOptions::default()).expect("free again");
        }
    }

    #[test]
    fn the_connections_of_a_listener_do_not_keep_its_port() {
        let (listener, at) = bind(lo(), BindOptions::default()).expect("a free port");
        listener.set_nonblocking(false).expect("a socket");
        let _peer = std::net::TcpStream::connect(at).expect("it listens");
        let _accepted = accept(&listener).expect("accepted").expect("a connection");
        drop(listener);
        bind(at, BindOptions::default()).expect("free again");
    }

    #[test]
    fn a_socket_keeps_its_port_when_it_stops_listening_and_when_its_attempt_is_refused() {
        let stopped = || {
            let (socket, at) = bind(lo(), BindOptions::default()).expect("a free port");
            stop_listening(&socket).expect("it listens");
            assert_eq!(local(&socket).expect("it is bound"), at);
            (socket, at)
        };
        let (socket, at) = stopped();
        let (_nobody, closed) = stopped();
        let refused = connect(&socket, closed).and_then(|()| outcome(&socket));
        assert_eq!(refused.expect_err("no listener").raw_os_error(), Some(libc::ECONNREFUSED));
        assert_eq!(local(&socket).expect("it is bound"), at);
    }

    #[test]
    fn ports_that_are_bound_and_connected_at_the_same_time_differ() {
        let server = std::net::TcpListener::bind(lo()).expect("a free port");
        let peer = server.local_addr().expect("it is bound");
        let attempts = || {
            let one = || {
                let (socket, at) = bind(lo(), BindOptions::default()).expect("a free port");
                stop_listening(&socket).expect("it listens");
                socket.set_nonblocking(false).expect("a socket");
                connect(&socket, peer).expect("its own port");
                assert_eq!(local(&socket).expect("it is bound"), at);
                server.accept().expect("a connection");
            };
            (0..200).for_each(|_| one());
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(attempts);
            }
        });
    }

    #[test]
    fn a_lack_of_free_ports_names_their_range() {
        let in_use = io::Error::from_raw_os_error(libc::EADDRINUSE);
        let none = not_bound("take a port of", lo(), &in_use);
        assert_eq!(none.errno, libc::EADDRNOTAVAIL);
        assert!(none.to_string().contains("widen net.ipv4.ip_local_port_range"), "{none}");
        let taken = not_bound("bind to", ([127, 0, 0, 1], 5).into(), &in_use);
        assert_eq!(taken.errno, libc::EADDRINUSE);
        assert!(taken.to_string().contains("choose another port"), "{taken}");
    }

    #[test]
    fn a_foreign_address_cannot_be_bound() {
        let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
        let refused = bind(foreign, BindOptions::default()).expect_err("not of this machine");
        assert_eq!(refused.errno, libc::EADDRNOTAVAIL);
    }

    #[test]
    fn an_unspecified_destination_is_this_machine() {
        assert_eq!(destination(([0, 0, 0, 0], 5).into()), ([127, 0, 0, 1], 5).into());
        assert_eq!(source_towards(([127, 0, 0, 1], 5).into()).expect("a way"), lo());
    }
}
