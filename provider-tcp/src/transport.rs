//! The sockets of one adapter.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use dat_provider::Address;
use dat_provider::attr::NamedAttr;
use dat_provider::error::{Result, Subtype};
use dat_provider_kit::engine::{Acceptor, Attempt, ConnectError, Transport};
use dat_provider_kit::handshake::Secret;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;
use dat_provider_kit::qualifier;

use crate::connect::{Dialling, no_source};
use crate::discovery;
use crate::listener::listen;
use crate::parameters::Parameters;
use crate::place::Place;

/// Connects from, and listens at, the addresses of an adapter: those of a network interface or of the machine, or
/// one.
#[derive(Clone, Debug)]
pub struct Sockets {
    place: Place,
    /// After this time, a peer that cannot be reached counts as lost.
    pub(crate) timeout: Duration,
    /// The requirement for a peer to be accepted.
    pub(crate) secret: Option<Secret>,
    processors: Processors,
    progress_mode: ProgressMode,
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
        Self::at(parameters.place()?, parameters)
    }

    /// As [`open`](Self::open), of an adapter at every address of the machine, unless its parameters name an
    /// interface or an address. The adapter reports the address of `interface`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_everywhere(
        name: &str,
        parameters: &str,
        interface: &str,
    ) -> Result<(Self, Limits)> {
        let parameters = Parameters::parse(name, parameters)?;
        Self::at(parameters.place_or_everywhere(interface)?, parameters)
    }

    fn at(place: Place, parameters: Parameters) -> Result<(Self, Limits)> {
        let secret = parameters.secret()?;
        let Parameters { timeout, processors, progress_mode, limits, .. } = parameters;
        Ok((Self { place, timeout, secret, processors, progress_mode }, limits))
    }

    /// The address that the adapter reports.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.place.address
    }

    /// The addresses at which the adapter listens now; one that is unspecified denotes all of the machine.
    #[must_use]
    pub fn listening_at(&self) -> Vec<IpAddr> {
        self.place.listening_at().iter().map(SocketAddr::ip).collect()
    }

    /// The address from which the adapter connects to a peer.
    ///
    /// # Errors
    /// Why there is none.
    pub fn source(&self, peer: IpAddr) -> std::result::Result<IpAddr, ConnectError> {
        self.place.source(peer).map(|source| source.ip()).map_err(no_source)
    }

    /// The attributes that only this provider has: those of the network interface, if the adapter was
    /// opened by one.
    #[must_use]
    pub fn named_attributes(&self) -> Vec<NamedAttr> {
        discovery::named_attributes(self.place.interface.as_deref())
    }
}

impl Transport for Sockets {
    fn connect(
        &self,
        address: IpAddr,
        qualifier: u64,
    ) -> std::result::Result<Attempt, ConnectError> {
        let own = self.place.source(address).map_err(no_source)?;
        let peer = self.place.peer(address, qualifier::to_port(qualifier));
        Dialling::start(own, peer, address, self.timeout)
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        listen(&self.place.listening_at(), qualifier, self.timeout)
    }

    fn listen_at(&self, address: IpAddr, qualifier: u64) -> Result<Box<dyn Acceptor>> {
        let has = self.place.has(address);
        if !has.map_err(|cause| cause.error(Subtype::ResourceDevice))? {
            return Err(Address::Ip(address).not_of_adapter(self.address().into()));
        }
        listen(&[self.place.peer(address, 0)], Some(qualifier), self.timeout)
    }

    fn secret(&self) -> Option<Secret> {
        self.secret.clone()
    }

    fn has_datagrams(&self) -> bool {
        true
    }

    fn processors(&self) -> Processors {
        self.processors
    }

    fn progress_mode(&self) -> ProgressMode {
        self.progress_mode
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dat_provider_kit::engine::Connected;
    use dat_provider_kit::frame::{Body, Frame};
    use dat_provider_kit::link::{Budget, Destinations, End, FrameSink, Refused, WriteResult};

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
        let mut attempt = sockets().connect(LO, acceptor.qualifier()).expect("it listens");
        let mut active = loop {
            match attempt {
                Attempt::Connected(link) => break link,
                Attempt::Pending(dial) => attempt = dial.advance().expect("it listens"),
            }
        };
        let mut passive = accepted(&mut *acceptor);
        assert_eq!((passive.address, active.address), (LO, LO));
        assert_ne!(active.local_port, 0);
        for _ in 0..1000 {
            assert_eq!(active.writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
        }
        active.writer.shut_down().expect("alive");
        let mut kept = Kept::default();
        assert_eq!(ended(&mut passive, &mut kept), End::Closed);
        assert_eq!(kept.0, [Body::Ack; 1000]);
        // The other direction still works.
        assert_eq!(passive.writer.write(&Frame::new(Body::Cts), &[]), Ok(WriteResult::Taken));
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
