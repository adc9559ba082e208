//! The links of one adapter.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dat_provider::Address;
use dat_provider::error::Result;
use dat_provider_kit::direct::page;
use dat_provider_kit::engine::{Acceptor, Attempt, ConnectFailure, Connected, Dial, Transport};
use dat_provider_kit::fork::Private;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use rustix::io::Errno;

use crate::address::Space;
use crate::boards::Boards;
use crate::direct_support;
use crate::greeting;
use crate::link::{Link, LinkOptions};
use crate::listener::{Listening, connected, socket};
use crate::parameters::Parameters;
use crate::process_fence;
use crate::segment::Segment;

/// Connects from, and listens at, one address of this machine.
#[derive(Clone, Debug)]
pub struct Rings {
    /// The address of the adapter.
    pub(crate) address: IpAddr,
    /// Where the names of sockets are.
    pub(crate) space: Space,
    /// Where listeners are files, instead of abstract names.
    pub(crate) folder: Option<PathBuf>,
    /// Peers may belong to other users.
    pub(crate) any_user: bool,
    /// Yama permits every process of the user to access this one.
    any_tracer: bool,
    processors: Processors,
    pub(crate) options: LinkOptions,
}

impl Rings {
    /// The links of an adapter, and its limits, by its IA parameters.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a parameter that cannot be used.
    pub fn open(parameters: &str) -> Result<(Self, Limits)> {
        let parameters = Parameters::parse(parameters)?;
        // Registers the process before the adapter starts its thread, which would delay the first connection.
        let _ = process_fence::is_available();
        let Parameters {
            address, folder, any_user, is_direct, any_tracer, processors, limits, ..
        } = parameters;
        if is_direct {
            page::put_in_use();
            if any_tracer {
                direct_support::allow_any_process();
            }
        }
        let (address, space) = (address.into(), Space::Own);
        let options = LinkOptions { is_direct, boards: Arc::new(Boards::new()) };
        Ok((Self { address, space, folder, any_user, any_tracer, processors, options }, limits))
    }

    /// The same links for an adapter that listens over TCP too, at an address of this machine: it is
    /// found by exactly this address, by processes of the same user, and not by adapters `shm`. At the
    /// unspecified address it is found by each address of the machine.
    #[must_use]
    pub fn beside_tcp(self, address: IpAddr) -> Self {
        let address = if address.is_unspecified() { Ipv4Addr::UNSPECIFIED.into() } else { address };
        Self { address, space: Space::BesideTcp, ..self }
    }

    /// Whether connections access the memory of their peers directly: `yes`, or `no` and the reason.
    /// A peer may still forbid it.
    #[must_use]
    pub fn direct(&self) -> String {
        if self.options.is_direct {
            direct_support::describe(self.any_tracer)
        } else {
            "no: the parameter direct=no".to_owned()
        }
    }

    /// The address of the adapter.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }
}

impl Transport for Rings {
    fn dial(&self) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        let (socket, port) =
            bound(self.space, self.address).map_err(|_| ConnectFailure::Refused)?;
        Ok(Box::new(Dialling { socket, port, rings: self.clone() }))
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        Ok(Box::new(Listening::new(self, qualifier)?))
    }

    fn listen_at(&self, address: IpAddr, qualifier: u64) -> Result<Box<dyn Acceptor>> {
        if self.space.here(address) != Some(self.address) {
            return Err(Address::Ip(address).not_of_adapter(self.address.into()));
        }
        self.listen(Some(qualifier))
    }

    fn processors(&self) -> Processors {
        self.processors
    }
}

/// A socket with a name of its own, and the port in the name.
pub(crate) fn bound(space: Space, address: IpAddr) -> rustix::io::Result<(Private<OwnedFd>, u64)> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let socket = socket()?;
    let process = u64::from(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
    loop {
        // Processes of two namespaces may have one number; the next port is free then.
        let port = process << 32 | NEXT.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff;
        match rustix::net::bind(&socket, &space.dialler(address, port)?) {
            Ok(()) => return Ok((socket, port)),
            Err(Errno::ADDRINUSE) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// A socket that is bound and not connected.
struct Dialling {
    socket: Private<OwnedFd>,
    port: u64,
    rings: Rings,
}

impl Dial for Dialling {
    fn local_port(&self) -> u64 {
        self.port
    }

    fn connect_at_once(
        self: Box<Self>,
        peer: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> Attempt {
        Attempt::Ended(self.connect(peer, qualifier, timeout))
    }

    /// Never blocks.
    fn connect(
        self: Box<Self>,
        peer: IpAddr,
        qualifier: u64,
        _timeout: Duration,
    ) -> std::result::Result<Connected, ConnectFailure> {
        let Self { socket, port, rings } = *self;
        let found = rings.space.here(peer).ok_or(ConnectFailure::Unreachable)?;
        let refused = |_: Errno| ConnectFailure::Refused;
        let folder = rings.folder.as_deref();
        // Before the peer is woken, so that it finds the greeting when it accepts.
        let segment = Segment::create().map_err(refused)?;
        let connect = |at| {
            let name = rings.space.listener(folder, at, qualifier)?;
            rustix::net::connect(&socket, &name)
        };
        if !rings.space.listening_at(found).any(|at| connect(at).is_ok()) {
            return Err(ConnectFailure::Refused);
        }
        let is_same_user = greeting::is_same_user(&socket);
        if !rings.any_user && !is_same_user {
            return Err(ConnectFailure::Refused);
        }
        let link = Link::active(socket, segment, is_same_user, &rings.options).map_err(refused)?;
        Ok(connected(link, found, port))
    }
}

#[cfg(all(test, not(loom)))]
#[path = "transport_tests.rs"]
#[allow(unsafe_code, reason = "the rights of a thread are changed by a system call")]
mod tests;
