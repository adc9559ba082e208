//! The root of the provider.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, Relationship,
};
use dat_provider_kit::attributes::VERSION;
use dat_provider_kit::engine::{self, Identity};

use crate::discovery;
use crate::transport::Sockets;

const DESCRIPTION: Description = Description {
    name: TcpProvider::NAME,
    vendor: "DAT TCP",
    version: VERSION,
    reach: Reach::Network,
};

/// The provider over TCP. Each network interface that is up and has an address is an adapter:
/// `tcp-lo`, `tcp-eth0`.
///
/// The parameters are an interface (for lines of dat.conf, whose names are free) and `key=value`
/// pairs, separated by blanks or commas: `address=` of the interface, `timeout=` in seconds after
/// which a peer that cannot be reached counts as lost, `secret=` a file with a secret that both
/// sides must have, and the limits that the adapter reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpProvider;

impl TcpProvider {
    /// The name of the provider, for the library field of dat.conf.
    pub const NAME: &'static str = "tcp";
}

/// The provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(TcpProvider)
}

impl Provider for TcpProvider {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        discovery::adapters()
    }

    fn claims_name(&self, name: &str) -> bool {
        discovery::interface_of(name).is_some_and(discovery::is_there)
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let (sockets, limits) = Sockets::open(request.name, request.parameters)?;
        let identity = Identity::new(request.name, DESCRIPTION, sockets.named_attributes());
        engine::open(identity, sockets.address(), limits, Box::new(sockets), request.sink)
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        match (discovery::interface_of(one), discovery::interface_of(other)) {
            (Some(one), Some(other)) if one == other => Relationship::Related,
            (Some(_), Some(_)) => Relationship::Unrelated,
            _ => Relationship::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_names_are_those_of_interfaces() {
        assert!(TcpProvider.claims_name("tcp-lo"));
        for name in ["loopback", "tcp-", "tcp-no-such-interface", "lo", ""] {
            assert!(!TcpProvider.claims_name(name), "{name:?}");
        }
    }
}
