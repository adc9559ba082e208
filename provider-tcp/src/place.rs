//! Where an adapter listens, and what it connects from.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dat_provider::LocalCause;
use dat_provider_kit::network::{
    interfaces, is_link_local, is_of_this_machine, on_interface, source_of,
};
use socket2::{Domain, Protocol, Socket, Type};

/// The addresses of an adapter.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The network interface, unless only an address was given.
    pub(crate) interface: Option<String>,
    /// The address that the adapter reports.
    pub(crate) address: IpAddr,
    pub(crate) extent: Extent,
}

/// How many addresses an adapter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The one that it reports.
    Address,
    /// The addresses of its network interface.
    Interface,
    /// All addresses of the machine.
    Machine,
}

impl Place {
    /// The addresses at which to listen now, with port 0.
    pub(crate) fn listening_at(&self) -> Vec<SocketAddr> {
        match self.extent {
            Extent::Address => vec![self.on_interface(self.address, 0)],
            Extent::Interface => self.of_interface(),
            Extent::Machine => vec![SocketAddr::new(everywhere(), 0)],
        }
    }

    /// Returns true if the adapter has the address now.
    ///
    /// # Errors
    /// The system does not list the addresses of this machine.
    pub(crate) fn has(&self, address: IpAddr) -> Result<bool, LocalCause> {
        match self.extent {
            Extent::Address => Ok(address == self.address),
            Extent::Interface => Ok(self.of_interface().iter().any(|own| own.ip() == address)),
            Extent::Machine => is_of_this_machine(address),
        }
    }

    /// The socket address of a peer. A link-local one is on the interface of the adapter; for an adapter of the
    /// machine, on the interface that has it, if there is one.
    pub(crate) fn peer(&self, address: IpAddr, port: u16) -> SocketAddr {
        self.on_interface(address, port)
    }

    /// The address to connect to a peer from, with port 0.
    ///
    /// # Errors
    /// The system's error if no route leads to the peer; `EAFNOSUPPORT` if the interface has no address of the
    /// peer's family.
    pub(crate) fn source(&self, peer: IpAddr) -> io::Result<SocketAddr> {
        /// Any but 0.
        const PORT: u16 = 9;
        let chosen = || source_of(self.peer(peer, PORT));
        let mut source = match self.extent {
            Extent::Address => self.on_interface(self.address, 0),
            Extent::Machine => chosen()?,
            Extent::Interface => {
                let chosen = chosen().ok().map(|chosen| chosen.ip());
                if chosen == Some(self.address) {
                    return Ok(SocketAddr::new(self.address, 0));
                }
                let mut own = self.of_interface();
                own.retain(|own| own.is_ipv4() == peer.is_ipv4());
                let is_like = |own: &&SocketAddr| is_link_local(own.ip()) == is_link_local(peer);
                let source = own.iter().find(|own| Some(own.ip()) == chosen);
                let source = source.or_else(|| own.iter().find(is_like)).or(own.first());
                *source.ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))?
            }
        };
        source.set_port(0);
        Ok(source)
    }

    /// The addresses of the interface now; the one that the adapter reports if the system lists none.
    fn of_interface(&self) -> Vec<SocketAddr> {
        let all = interfaces().into_iter();
        let mut own = all.filter(|one| Some(&one.name) == self.interface.as_ref());
        let addresses = own.next().map(|one| one.addresses).unwrap_or_default();
        if addresses.is_empty() { vec![SocketAddr::new(self.address, 0)] } else { addresses }
    }

    fn on_interface(&self, address: IpAddr, port: u16) -> SocketAddr {
        if self.extent == Extent::Machine && is_link_local(address) {
            let all = interfaces().into_iter().flat_map(|one| one.addresses);
            if let Some(mut own) = all.into_iter().find(|own| own.ip() == address) {
                own.set_port(port);
                return own;
            }
        }
        on_interface(address, port, self.interface.as_deref().unwrap_or_default())
    }
}

/// The unspecified address. A socket there takes IPv4 connections too, unless the kernel has no IPv6.
fn everywhere() -> IpAddr {
    match Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP)) {
        Ok(_) => Ipv6Addr::UNSPECIFIED.into(),
        Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn of_lo(extent: Extent) -> Place {
        Place { interface: Some("lo".to_owned()), address: LO, extent }
    }

    #[test]
    fn an_adapter_listens_at_one_address_at_those_of_its_interface_or_everywhere() {
        let at = |extent| of_lo(extent).listening_at().into_iter().map(|at| at.ip());
        assert_eq!(at(Extent::Address).collect::<Vec<_>>(), [LO]);
        assert!(at(Extent::Interface).all(|at| at.is_loopback()));
        assert!(at(Extent::Interface).any(|at| at == LO));
        assert!(at(Extent::Machine).all(|at| at.is_unspecified()));
    }

    #[test]
    fn it_connects_from_the_address_that_leads_to_the_peer() {
        let other: IpAddr = [127, 0, 0, 9].into();
        for extent in [Extent::Interface, Extent::Machine] {
            assert_eq!(of_lo(extent).source(LO).expect("local"), SocketAddr::new(LO, 0));
        }
        let narrow = Place { address: other, ..of_lo(Extent::Address) };
        assert_eq!(narrow.source(LO).expect("its own"), SocketAddr::new(other, 0));
        // An adapter of one interface does not leave it.
        let far = of_lo(Extent::Interface).source([192, 0, 2, 1].into()).expect("an address");
        assert_eq!(far.ip(), LO);
    }
}
