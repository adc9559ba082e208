//! Addresses: binding, and the resolution of the peer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::Identifier;
use super::event::{EventKind, Parameters};
use super::identifier::Inner;
use super::listener::Listener;
use super::socket::{self, with_port};
use super::state::{Input, State, Step};
use crate::error::{Error, Result};

impl Identifier {
    /// Binds it to a local address (rdma_bind_addr(3)). The port 0 means a free one, and the unspecified address means
    /// all.
    ///
    /// # Errors
    /// `EINVAL` if it is bound already, `EADDRINUSE`, `EADDRNOTAVAIL` for an address of another machine.
    pub fn bind(self: &Arc<Self>, address: SocketAddr) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.state != State::Idle {
            return Err(inner.refusal("bind the identifier"));
        }
        self.bind_locked(&mut inner, address)?;
        inner.state = State::Bound;
        Ok(())
    }

    fn bind_locked(self: &Arc<Self>, inner: &mut Inner, address: SocketAddr) -> Result<()> {
        let options = inner.options.of_bind();
        // A port space has ports of its own, as far as this process is concerned.
        if !options.may_share {
            if let Some(seat) = Listener::join(address, self) {
                (inner.listener, inner.local) = (Some(seat), Some(address));
                return Ok(());
            }
        }
        let (socket, bound) = socket::bind(address, options)?;
        if options.may_share {
            inner.reserved = Some(socket);
        } else {
            inner.listener = Some(Listener::open(socket, bound, self)?);
        }
        inner.local = Some(bound);
        Ok(())
    }

    /// Resolves the address of a peer, and binds the identifier to a local address that leads there
    /// (rdma_resolve_addr(3)). The outcome is an event.
    ///
    /// # Errors
    /// `EINVAL` in another state, or if the addresses are of different families; `ENETUNREACH` if no way leads there;
    /// those of [`bind`](Self::bind) for a source.
    pub fn resolve_address(
        self: &Arc<Self>,
        source: Option<SocketAddr>,
        destination: SocketAddr,
    ) -> Result<()> {
        let mut inner = self.inner.lock();
        if let Step::Refuse = inner.state.step(Input::ResolveAddress) {
            return Err(inner.refusal("resolve an address"));
        }
        let destination = socket::destination(destination);
        if inner.state == State::Idle {
            if let Some(source) = source.filter(|source| !is_unknown(*source)) {
                check_families(source, destination)?;
                let (socket, bound) = socket::from_address(source)?;
                (inner.reserved, inner.local) = (Some(socket), Some(bound));
            }
        }
        if let Some(local) = inner.local {
            check_families(local, destination)?;
        }
        let local = match inner.local {
            Some(local) if !local.ip().is_unspecified() => local,
            // What is bound to a port alone gets the address, and keeps the port.
            Some(local) => with_port(socket::source_towards(destination)?, local.port()),
            None => {
                let source = socket::source_towards(destination)?;
                let (socket, bound) = socket::from_address(source)?;
                inner.reserved = Some(socket);
                bound
            }
        };
        (inner.local, inner.peer) = (Some(local), Some(destination));
        inner.state = State::AddressResolved;
        self.report(&inner, EventKind::AddressResolved, 0, Parameters::None);
        Ok(())
    }

    /// Resolves the route to the peer (rdma_resolve_route(3)), which the system does. The outcome is an event.
    ///
    /// # Errors
    /// `EINVAL` if the address is not resolved.
    pub fn resolve_route(self: &Arc<Self>) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.step(Input::ResolveRoute, "resolve a route")? {
            self.report(&inner, EventKind::RouteResolved, 0, Parameters::None);
        }
        Ok(())
    }

    /// Takes requests (rdma_listen(3)). At most `backlog` of them wait for the program; others are rejected. An
    /// identifier that is not bound gets a free port of all addresses of IPv4.
    ///
    /// # Errors
    /// `EINVAL` in another state, `EADDRINUSE` if another identifier that shares the address listens.
    pub fn listen(self: &Arc<Self>, backlog: i32) -> Result<()> {
        /// The maximum of the kernel, for any other number, too.
        const MAX: i32 = 1024;
        let mut inner = self.inner.lock();
        if inner.state == State::Idle {
            self.bind_locked(&mut inner, SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))?;
            inner.state = State::Bound;
        }
        if let Step::Refuse = inner.state.step(Input::Listen) {
            return Err(inner.refusal("listen"));
        }
        if let (Some(socket), Some(bound)) = (inner.reserved.take(), inner.local) {
            if let Err(error) = socket::listen(&socket) {
                inner.reserved = Some(socket);
                return Err(error);
            }
            inner.listener = Some(Listener::open(socket, bound, self)?);
        }
        inner.backlog = if (1..=MAX).contains(&backlog) { backlog } else { MAX } as usize;
        inner.state = State::Listening;
        Ok(())
    }
}

/// Returns true if neither the address nor the port is specified.
fn is_unknown(address: SocketAddr) -> bool {
    address.ip().is_unspecified() && address.port() == 0
}

fn check_families(local: SocketAddr, peer: SocketAddr) -> Result<()> {
    if local.is_ipv4() == peer.is_ipv4() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "cannot reach {peer} from {local}: the addresses are of different families"
    )))
}

/// The address without the form of IPv6 for addresses of IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
