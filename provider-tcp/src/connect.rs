//! Connecting a socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use dat_provider::LocalCause;
use dat_provider_kit::engine::{Attempt, ConnectError, Connector, ConnectorEvent};
use dat_provider_kit::fork::Private;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Type};

use crate::listener::connected;

/// A socket that a child of fork does not keep.
pub(crate) type Socket = Private<socket2::Socket>;

/// A socket that is being connected.
pub(crate) struct Dialling {
    socket: Socket,
    peer: SocketAddr,
    /// The address of the peer, as the consumer has it.
    address: IpAddr,
    port: u64,
    timeout: Duration,
}

impl Dialling {
    /// Starts to connect from an address. A peer that cannot be reached later counts as lost after `timeout`.
    pub(crate) fn start(
        own: SocketAddr,
        peer: SocketAddr,
        address: IpAddr,
        timeout: Duration,
    ) -> Result<Attempt, ConnectError> {
        if own.is_ipv4() != peer.is_ipv4() || peer.port() == 0 {
            return Err(ConnectError::Unreachable);
        }
        let domain = Domain::for_address(own);
        let socket = || socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP));
        let socket = Private::create(socket).map_err(failed("open a socket"))?;
        socket.set_nonblocking(true).map_err(failed("set up a socket"))?;
        // A service point may listen on the port while the connection exists, and after it.
        socket.set_reuse_address(true).map_err(failed("set up a socket"))?;
        // The system chooses the port when the peer is known: connections to different peers share ports, and a
        // closed connection blocks its port for its own peer only. A kernel without the option chooses now.
        let _ = setsockopt(&*socket, sockopt::IpBindAddressNoPort, &true);
        socket.bind(&own.into()).map_err(failed("use the address of the adapter"))?;
        match socket.connect(&peer.into()) {
            Err(error) if !is_in_progress(&error) => {
                return Err(failed("connect from a local port")(error));
            }
            _ => {}
        }
        let own = socket.local_addr().map_err(failed("read the port of a socket"))?;
        let port = own.as_socket().map_or(0, |own| u64::from(own.port()));
        // Within the machine the answer is usually there already.
        Box::new(Self { socket, peer, address, port, timeout }).advance()
    }
}

impl Connector for Dialling {
    fn local_port(&self) -> u64 {
        self.port
    }

    fn awaits(&self) -> ConnectorEvent<'_> {
        ConnectorEvent::Writable(self.socket.as_fd())
    }

    fn advance(self: Box<Self>) -> Result<Attempt, ConnectError> {
        let failed = failed("connect a socket");
        if let Some(error) = self.socket.take_error().map_err(failed)? {
            return Err(failed(error));
        }
        if self.socket.peer_addr().is_err() {
            return Ok(Attempt::Pending(self));
        }
        // Without a listener, TCP connects a socket with itself if both ports are the same.
        let local = self.socket.local_addr().ok().and_then(|address| address.as_socket());
        if local == Some(self.peer) {
            return Err(ConnectError::Refused);
        }
        let Self { socket, address, timeout, .. } = *self;
        connected(socket, address, timeout).map(Attempt::Connected).map_err(failed)
    }
}

/// Returns true if the system goes on connecting.
fn is_in_progress(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR))
}

/// The meaning of an error for the attempt, if it came when this side tried to do that.
pub(crate) fn failed(what: &'static str) -> impl Fn(io::Error) -> ConnectError + Copy {
    move |error| match error.raw_os_error() {
        // The listener, or the process that has it, ended before it accepted.
        Some(libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE) => ConnectError::Refused,
        // EINVAL: a socket of the loopback address cannot leave the machine. ETIMEDOUT: no answer as long as
        // the system asks.
        Some(
            libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENETDOWN
            | libc::EINVAL
            | libc::ETIMEDOUT,
        ) => ConnectError::Unreachable,
        _ => ConnectError::Local(LocalCause::new(what, &error)),
    }
}

/// The meaning of an error of the search for a source address.
pub(crate) fn no_source(error: io::Error) -> ConnectError {
    match error.raw_os_error() {
        // No address of the peer's family, or a peer that is not a machine.
        Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT | libc::EACCES) => ConnectError::Unreachable,
        _ => failed("find a route")(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use rustix::event::{PollFd, PollFlags, Timespec};

    use super::*;

    const LO: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    const SECOND: Duration = Duration::from_secs(1);

    fn start(peer: SocketAddr) -> Result<Attempt, ConnectError> {
        Dialling::start(LO, peer, peer.ip(), SECOND)
    }

    #[test]
    fn without_a_listener_the_connection_is_refused() {
        // Bound and not listening: no other test can take the port meanwhile.
        let taken = crate::listener::bound(LO).expect("a port");
        let peer = taken.local_addr().expect("bound").as_socket().expect("an IP address");
        assert_eq!(finish(start(peer)).err(), Some(ConnectError::Refused));
    }

    #[test]
    fn the_port_of_a_connection_can_be_listened_on() {
        let listener = TcpListener::bind(LO).expect("a port");
        let link = finish(start(listener.local_addr().expect("bound"))).expect("it listens");
        let own = SocketAddr::new(LO.ip(), u16::try_from(link.local_port).expect("a port"));
        let second = crate::listener::bound(own).expect("no listener has it");
        second.listen(1).expect("no listener has it");
        // The side that closes first keeps the port for a minute (TIME-WAIT).
        drop((second, link));
        drop(listener.accept().expect("connected"));
        crate::listener::bound(own).expect("no listener has it").listen(1).expect("as before");
    }

    #[test]
    fn an_address_without_a_way_is_unreachable() {
        // A socket of the loopback address cannot leave the machine.
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        assert_eq!(start(peer).err(), Some(ConnectError::Unreachable));
        let peer = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9));
        assert_eq!(start(peer).err(), Some(ConnectError::Unreachable), "IPv6");
    }

    #[test]
    fn an_attempt_waits_for_a_listener_that_drops_requests() {
        let listener = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        listener.bind(&LO.into()).expect("a port");
        listener.listen(0).expect("bound");
        let peer = listener.local_addr().expect("bound").as_socket().expect("an IP address");
        let listener = TcpListener::from(listener);
        let first = TcpStream::connect(peer).expect("the backlog takes one");
        let Ok(Attempt::Pending(dial)) = start(peer) else { panic!("the backlog is not full") };
        assert!(matches!(dial.awaits(), ConnectorEvent::Writable(_)));
        let Ok(Attempt::Pending(dial)) = dial.advance() else { panic!("the backlog is not full") };
        drop((listener.accept().expect("the first"), first));
        assert!(finish(Ok(Attempt::Pending(dial))).is_ok());
    }

    /// Continues an attempt until it ends.
    fn finish(
        mut attempt: Result<Attempt, ConnectError>,
    ) -> Result<dat_provider_kit::engine::Connected, ConnectError> {
        loop {
            let dial = match attempt? {
                Attempt::Connected(link) => return Ok(link),
                Attempt::Pending(dial) => dial,
            };
            if let ConnectorEvent::Writable(descriptor) = dial.awaits() {
                let wait = Timespec { tv_sec: 10, tv_nsec: 0 };
                let mut fds = [PollFd::new(&descriptor, PollFlags::OUT)];
                assert_eq!(rustix::event::poll(&mut fds, Some(&wait)), Ok(1), "no answer");
            }
            attempt = dial.advance();
        }
    }

    #[test]
    fn every_errno_that_is_not_known_is_a_local_cause() {
        for errno in [libc::EMFILE, libc::EADDRNOTAVAIL, libc::ENOBUFS, libc::EPERM, 133] {
            let failure = failed("try")(io::Error::from_raw_os_error(errno));
            let cause = LocalCause { what: "try", errno };
            assert_eq!(failure, ConnectError::Local(cause));
        }
    }
}
