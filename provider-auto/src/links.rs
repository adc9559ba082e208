//! The links of one adapter: a connection gets a ring if its peer listens there, and a socket otherwise.

use std::net::IpAddr;
use std::time::Duration;

use dat_provider::attr::NamedAttr;
use dat_provider::error::Result;
use dat_provider_kit::engine::{
    Acceptor, Attempt, ConnectFailure, Connected, Dial, JoinedAcceptor, Transport,
};
use dat_provider_kit::handshake::Secret;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use dat_provider_shm::Rings;
use dat_provider_tcp::Sockets;

use crate::interface;
use crate::parameters;
use crate::recent_ports::RecentPorts;

/// Maximum number of recently used ports that a new connection passes over.
const MAX_TAKEN: usize = 8;

/// Both kinds of links at the addresses of an adapter.
pub(crate) struct Links {
    /// They get an address for each listener and each attempt.
    rings: Rings,
    sockets: Sockets,
    recent: RecentPorts,
}

impl Links {
    /// The links of an adapter, and its limits.
    pub(crate) fn open(name: &str, parameters: &str) -> Result<(Self, Limits)> {
        let (of_sockets, of_rings) = parameters::split(parameters);
        let interface = interface::default().0;
        let (sockets, limits) = Sockets::open_everywhere(name, &of_sockets, &interface)?;
        let (rings, _) = Rings::open(&of_rings)?;
        Ok((Self { rings, sockets, recent: RecentPorts::default() }, limits))
    }

    pub(crate) const fn address(&self) -> IpAddr {
        self.sockets.address()
    }

    /// What the provider over TCP reports of its network interface, and that over shared memory of
    /// direct access.
    pub(crate) fn named_attributes(&self) -> Vec<NamedAttr> {
        let direct = NamedAttr::new("direct", self.rings.direct());
        self.sockets.named_attributes().into_iter().chain([direct]).collect()
    }
}

impl Links {
    /// Reserves a port that was not used recently. `next` reserves any.
    fn dial_from(
        &self,
        own: IpAddr,
        next: impl Fn() -> std::result::Result<Box<dyn Dial>, ConnectFailure>,
    ) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        let mut taken = Vec::new();
        let mut socket = next()?;
        while taken.len() < MAX_TAKEN && !self.recent.add(socket.local_port()) {
            let Ok(next) = next() else { break };
            taken.push(std::mem::replace(&mut socket, next));
        }
        Ok(Box::new(Dialling { socket, rings: self.rings.clone().beside_tcp(own) }))
    }
}

impl Links {
    /// Joins a listener over TCP with one in shared memory for each address.
    fn joined(&self, sockets: Box<dyn Acceptor>, at: &[IpAddr]) -> Result<Box<dyn Acceptor>> {
        let qualifier = sockets.qualifier();
        // Rings are closed before the sockets: a process that gets the port finds their names free.
        let mut all = Vec::new();
        for address in at {
            all.push(self.rings.clone().beside_tcp(*address).listen(Some(qualifier))?);
        }
        all.push(sockets);
        Ok(Box::new(JoinedAcceptor::new(qualifier, all)?))
    }
}

impl Transport for Links {
    fn dial(&self) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        self.dial_from(self.address(), || self.sockets.dial())
    }

    fn dial_towards(&self, peer: IpAddr) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        self.dial_from(self.sockets.source(peer)?, || self.sockets.dial_towards(peer))
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        // A process that has the port is the only one that listens on the qualifier.
        self.joined(self.sockets.listen(qualifier)?, &self.sockets.listening_at())
    }

    fn listen_at(&self, address: IpAddr, qualifier: u64) -> Result<Box<dyn Acceptor>> {
        self.joined(self.sockets.listen_at(address, qualifier)?, &[address])
    }

    fn secret(&self) -> Option<Secret> {
        self.sockets.secret()
    }

    fn processors(&self) -> Processors {
        self.sockets.processors()
    }
}

/// A port to connect from.
struct Dialling {
    socket: Box<dyn Dial>,
    rings: Rings,
}

impl Dial for Dialling {
    fn local_port(&self) -> u64 {
        self.socket.local_port()
    }

    fn connect_at_once(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> Attempt {
        let Self { socket, rings } = *self;
        // Connecting a ring never blocks.
        let ring = rings.dial().and_then(|dial| dial.connect(address, qualifier, timeout));
        match ring {
            Ok(link) => {
                let local_port = socket.local_port();
                Attempt::Ended(Ok(Connected { address, local_port, ..link }))
            }
            Err(_) => socket.connect_at_once(address, qualifier, timeout),
        }
    }

    fn connect(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> std::result::Result<Connected, ConnectFailure> {
        match self.connect_at_once(address, qualifier, timeout) {
            Attempt::Ended(link) => link,
            Attempt::Blocks(socket) => socket.connect(address, qualifier, timeout),
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
