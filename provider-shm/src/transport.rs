//! The links of one adapter.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use dat_provider::Address;
use dat_provider::error::{Result, Subtype};
use dat_provider_kit::direct::page;
use dat_provider_kit::engine::{Acceptor, Attempt, ConnectError, DatagramEnds, Transport};
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;

use crate::address::Space;
use crate::boards::Boards;
use crate::connect::Dialling;
use crate::direct_support;
use crate::link::LinkOptions;
use crate::listener::Listening;
use crate::parameters::Parameters;
use crate::process_fence;

/// Connects from, and listens at, one address of this machine.
#[derive(Clone, Debug)]
pub struct Rings {
    /// The address of the adapter.
    pub(crate) address: IpAddr,
    /// The space of socket names.
    pub(crate) space: Space,
    /// The folder of listeners' sockets, instead of abstract names.
    pub(crate) folder: Option<PathBuf>,
    /// True if peers may belong to other users.
    pub(crate) any_user: bool,
    /// True if Yama permits every process of the user to access this one.
    any_tracer: bool,
    processors: Processors,
    progress_mode: ProgressMode,
    pub(crate) options: LinkOptions,
}

impl Rings {
    /// Creates the transport of an adapter, and its limits, from its IA parameters.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a parameter that cannot be used.
    pub fn open(parameters: &str) -> Result<(Self, Limits)> {
        let parameters = Parameters::parse(parameters)?;
        // Registers the process before the adapter starts its thread, which would delay the first connection.
        let _ = process_fence::is_available();
        let Parameters {
            address,
            folder,
            any_user,
            is_direct,
            any_tracer,
            processors,
            progress_mode,
            limits,
            ..
        } = parameters;
        if is_direct {
            page::put_in_use();
            if any_tracer {
                direct_support::allow_any_process();
            }
        }
        let (address, space) = (address.into(), Space::Own);
        let (boards, kept) = (Arc::new(Boards::new()), Arc::default());
        let options = LinkOptions { is_direct, boards, kept };
        Ok((
            Self {
                address,
                space,
                folder,
                any_user,
                any_tracer,
                processors,
                progress_mode,
                options,
            },
            limits,
        ))
    }

    /// Returns the same transport for an adapter that also listens over TCP, at an address of this machine. It is found
    /// by exactly this address, by processes of the same user, and not by adapters `shm`. At the unspecified address,
    /// it is found by every address of the machine.
    #[must_use]
    pub fn beside_tcp(self, address: IpAddr) -> Self {
        let address = if address.is_unspecified() { Ipv4Addr::UNSPECIFIED.into() } else { address };
        Self { address, space: Space::BesideTcp, ..self }
    }

    /// Returns `yes` if connections access the memory of their peers directly, or `no` and the reason. A peer may still
    /// forbid it.
    #[must_use]
    pub fn direct(&self) -> String {
        if self.options.is_direct {
            direct_support::describe(self.any_tracer)
        } else {
            "no: the parameter direct=no".to_owned()
        }
    }

    /// The addresses at which the adapter exchanges datagrams with a peer. Datagrams use the loopback interface, which
    /// peers that find each other in a folder need not share.
    pub(crate) fn datagrams_with(&self, peer: IpAddr) -> Option<DatagramEnds> {
        let own = match (self.address.is_unspecified(), peer) {
            (false, _) => self.address,
            (true, IpAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
            (true, IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // The unspecified address of a machine leads to the address from which it connects.
        let peer = if peer.is_unspecified() { own } else { peer };
        let [own, peer] = [own, peer].map(|address| SocketAddr::new(address, 0));
        self.folder.is_none().then_some(DatagramEnds { own, peer })
    }

    /// The address of the adapter.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }
}

impl Transport for Rings {
    fn connect(&self, peer: IpAddr, qualifier: u64) -> std::result::Result<Attempt, ConnectError> {
        Dialling::start(self, peer, qualifier)
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        Ok(Box::new(Listening::new(self, qualifier)?))
    }

    fn listen_at(&self, address: IpAddr, qualifier: u64) -> Result<Box<dyn Acceptor>> {
        let here = self.space.here(address);
        if here.map_err(|cause| cause.error(Subtype::ResourceDevice))? != Some(self.address) {
            return Err(Address::Ip(address).not_of_adapter(self.address.into()));
        }
        self.listen(Some(qualifier))
    }

    fn has_datagrams(&self) -> bool {
        self.folder.is_none()
    }

    fn processors(&self) -> Processors {
        self.processors
    }

    fn progress_mode(&self) -> ProgressMode {
        self.progress_mode
    }
}

#[cfg(all(test, not(loom)))]
#[path = "transport_tests.rs"]
#[allow(unsafe_code, reason = "the rights of a thread are changed by a system call")]
mod tests;
