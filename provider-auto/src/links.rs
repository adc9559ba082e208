//! The links of one adapter: a connection gets a ring if its peer listens there, and a socket otherwise.

use std::net::IpAddr;

use dat_provider::attr::NamedAttr;
use dat_provider::error::Result;
use dat_provider_kit::engine::{Acceptor, Attempt, ConnectError, JoinedAcceptor, Transport};
use dat_provider_kit::handshake::Secret;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;
use dat_provider_shm::Rings;
use dat_provider_tcp::Sockets;

use crate::interface;
use crate::parameters::{self, Split};

/// Both kinds of links at the addresses of an adapter.
pub(crate) struct Links {
    /// They get an address for each listener and each attempt. `None` if the parameters forbid them.
    rings: Option<Rings>,
    sockets: Sockets,
}

impl Links {
    /// The links of an adapter, and its limits.
    pub(crate) fn open(name: &str, parameters: &str) -> Result<(Self, Limits)> {
        let Split { sockets, rings } = parameters::split(parameters)?;
        let interface = interface::default().0;
        let (sockets, limits) = Sockets::open_everywhere(name, &sockets, &interface)?;
        let rings = rings.map(|rings| Rings::open(&rings)).transpose()?.map(|(rings, _)| rings);
        Ok((Self { rings, sockets }, limits))
    }

    pub(crate) const fn address(&self) -> IpAddr {
        self.sockets.address()
    }

    /// What the provider over TCP reports of its network interface, and that over shared memory of
    /// direct access.
    pub(crate) fn named_attributes(&self) -> Vec<NamedAttr> {
        let direct = self.rings.as_ref().map(Rings::direct);
        let direct = NamedAttr::new(
            "direct",
            direct.unwrap_or_else(|| "no: the parameter shm=no".to_owned()),
        );
        self.sockets.named_attributes().into_iter().chain([direct]).collect()
    }
}

impl Links {
    /// Joins a listener over TCP with one in shared memory for each address.
    fn joined(&self, sockets: Box<dyn Acceptor>, at: &[IpAddr]) -> Result<Box<dyn Acceptor>> {
        let qualifier = sockets.qualifier();
        // Rings are closed before the sockets: a process that gets the port finds their names free.
        let mut all = Vec::new();
        if let Some(rings) = &self.rings {
            for address in at {
                all.push(rings.clone().beside_tcp(*address).listen(Some(qualifier))?);
            }
        }
        all.push(sockets);
        Ok(Box::new(JoinedAcceptor::new(qualifier, all)?))
    }
}

impl Transport for Links {
    fn connect(
        &self,
        address: IpAddr,
        qualifier: u64,
    ) -> std::result::Result<Attempt, ConnectError> {
        let Some(rings) = &self.rings else { return self.sockets.connect(address, qualifier) };
        let rings = rings.clone().beside_tcp(self.sockets.source(address)?);
        // What keeps this side from a ring may not keep it from a socket.
        rings.connect(address, qualifier).or_else(|_| self.sockets.connect(address, qualifier))
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

    fn has_datagrams(&self) -> bool {
        self.sockets.has_datagrams()
    }

    fn processors(&self) -> Processors {
        self.sockets.processors()
    }

    fn progress_mode(&self) -> ProgressMode {
        self.sockets.progress_mode()
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
