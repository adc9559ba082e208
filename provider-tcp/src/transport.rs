//! The sockets of one adapter.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use dat_provider::attr::NamedAttr;
use dat_provider::error::Result;
use dat_provider_kit::engine::{Acceptor, Attempt, ConnectFailure, Connected, Dial, Transport};
use dat_provider_kit::handshake::Secret;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use dat_provider_kit::qualifier;

use crate::connect::{bound, connect, failure};
use crate::discovery;
use crate::listener::{PortListener, connected};
use crate::parameters::Parameters;

/// Connects from, and listens at, one address.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// The network interface, unless only an address was given.
    interface: Option<String>,
    /// The address of the adapter.
    pub(crate) address: IpAddr,
    /// After this time, a peer that cannot be reached counts as lost.
    pub(crate) timeout: Duration,
    /// What a peer must have to be accepted.
    pub(crate) secret: Option<Secret>,
    processors: Processors,
}

impl Sockets {
    /// The sockets of an adapter, and its limits, by its name and IA parameters.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` if there is no such interface, `DAT_INVALID_PARAMETER` for a
    /// parameter that cannot be used, `DAT_INSUFFICIENT_RESOURCES` if the interface has no
    /// address.
    pub fn open(name: &str, parameters: &str) -> Result<(Self, Limits)> {
        let parameters = Parameters::parse(name, parameters)?;
        let (address, secret) = (parameters.address()?, parameters.secret()?);
        let interface = parameters.interface.clone();
        let Parameters { timeout, processors, limits, .. } = parameters;
        let sockets = Self { interface, address, timeout, secret, processors };
        Ok((sockets, limits))
    }

    /// The address of the adapter.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The attributes that only this provider has: those of the network interface, if the adapter was
    /// opened by one.
    #[must_use]
    pub fn named_attributes(&self) -> Vec<NamedAttr> {
        discovery::named_attributes(self.interface.as_deref())
    }
}

impl Transport for Sockets {
    fn dial(&self) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        let socket = bound(self.address, 0).map_err(|error| failure(&error))?;
        let own = socket.local_addr().map_err(|error| failure(&error))?;
        let port = own.as_socket().map_or(0, |own| u64::from(own.port()));
        Ok(Box::new(Bound { socket, port, timeout: self.timeout }))
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        Ok(Box::new(PortListener::new(self.address, qualifier, self.timeout)?))
    }

    fn secret(&self) -> Option<Secret> {
        self.secret.clone()
    }

    fn processors(&self) -> Processors {
        self.processors
    }
}

/// A socket that is bound and not connected.
struct Bound {
    socket: socket2::Socket,
    port: u64,
    timeout: Duration,
}

impl Dial for Bound {
    fn local_port(&self) -> u64 {
        self.port
    }

    fn connect_at_once(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> Attempt {
        // Within one host a link connects or fails at once.
        if address.is_loopback() {
            Attempt::Ended(self.connect(address, qualifier, timeout))
        } else {
            Attempt::Blocks(self)
        }
    }

    fn connect(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> std::result::Result<Connected, ConnectFailure> {
        let peer = SocketAddr::new(address, qualifier::to_port(qualifier));
        let socket = connect(self.socket, peer, timeout)?;
        // The peer was there; if the options cannot be set, the connection has ended already.
        connected(socket, address, self.timeout).map_err(|_| ConnectFailure::Refused)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dat_provider_kit::frame::{Body, Frame};
    use dat_provider_kit::link::{Budget, Destinations, End, FrameSink, Refused, Written};

    use super::*;

    const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn sockets() -> Sockets {
        Sockets::open("tcp-lo", "").expect("every Linux has it").0
    }

    #[derive(Default)]
    struct Kept(Vec<Body>);

    impl FrameSink for Kept {
        fn begin(&mut self, frame: &Frame) -> std::result::Result<(), Refused> {
            self.0.push(frame.body);
            Ok(())
        }

        fn destinations(&mut self, _: u64, _: &mut Destinations) {}

        fn end(&mut self) -> std::result::Result<(), Refused> {
            Ok(())
        }
    }

    fn accepted(acceptor: &mut dyn Acceptor) -> Connected {
        loop {
            if let Some(connected) = acceptor.accept() {
                return connected;
            }
            std::thread::yield_now();
        }
    }

    fn ended(link: &mut Connected, kept: &mut Kept) -> End {
        loop {
            if let Err(end) = link.reader.read(kept, Budget::default()) {
                return end;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn frames_cross_and_the_end_follows_them() {
        let mut acceptor = sockets().listen(None).expect("a free port");
        let wait = Duration::from_secs(5);
        let dial = sockets().dial().expect("a free port");
        let port = dial.local_port();
        let mut active = dial.connect(LO, acceptor.qualifier(), wait).expect("it listens");
        let mut passive = accepted(&mut *acceptor);
        assert_eq!((passive.address, active.address, active.local_port), (LO, LO, port));
        for _ in 0..1000 {
            assert_eq!(active.writer.write(&Frame::new(Body::Ack), &[]), Ok(Written::Taken));
        }
        active.writer.shut_down().expect("alive");
        let mut kept = Kept::default();
        assert_eq!(ended(&mut passive, &mut kept), End::Closed);
        assert_eq!(kept.0, [Body::Ack; 1000]);
        // The other direction still works.
        assert_eq!(passive.writer.write(&Frame::new(Body::Cts), &[]), Ok(Written::Taken));
        drop(passive);
        let mut kept = Kept::default();
        assert_eq!(ended(&mut active, &mut kept), End::Closed);
        assert_eq!(kept.0, [Body::Cts]);
    }

    #[test]
    fn a_qualifier_is_listened_on_once_and_is_free_again_afterwards() {
        let first = sockets().listen(Some(0x12_0000_0001)).expect("free");
        assert_eq!(first.qualifier(), 0x12_0000_0001);
        let error = sockets().listen(Some(0x12_0000_0001)).err().expect("in use");
        assert_eq!(error.return_type(), dat_provider::error::ReturnType::ConnQualInUse);
        drop(first);
        drop(sockets().listen(Some(0x12_0000_0001)).expect("free again"));
        assert!(sockets().listen(Some(0)).is_err());
    }
}
