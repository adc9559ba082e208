//! The root of the provider.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, Relationship,
};
use dat_provider_kit::attributes::VERSION;
use dat_provider_kit::engine::{self, Identity};

use crate::interface;
use crate::links::Links;

const DESCRIPTION: Description = Description {
    name: AutoProvider::NAME,
    vendor: "DAT shared memory and TCP",
    version: VERSION,
    reach: Reach::Network,
};

/// The provider over shared memory and TCP. Its adapter is `auto`, which listens at every address of the
/// machine, and reports that of the network interface that leads to other machines.
///
/// The parameters are those of the provider over TCP: an interface or `address=`, to listen there only, and
/// other `key=value` pairs; and `direct=no`, with which shared memory is used for rings only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoProvider;

impl AutoProvider {
    /// The name of the provider, for the library field of dat.conf, and of its adapter.
    pub const NAME: &'static str = "auto";
}

/// The provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(AutoProvider)
}

impl Provider for AutoProvider {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let (interface, address) = interface::default();
        let address = address.map(|address| format!(", address {address}")).unwrap_or_default();
        let summary =
            format!("shared memory on this machine, and TCP beyond it by {interface}{address}");
        vec![DiscoveredAdapter { name: Self::NAME.to_owned(), summary, unusable: None }]
    }

    fn claims_name(&self, name: &str) -> bool {
        name == Self::NAME
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let (links, limits) = Links::open(request.name, request.parameters)?;
        let identity = Identity::new(request.name, DESCRIPTION, links.named_attributes());
        engine::open(identity, links.address(), limits, Box::new(links), request.sink)
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        if one == Self::NAME && other == Self::NAME {
            Relationship::Related
        } else {
            Relationship::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_name_is_auto() {
        assert!(AutoProvider.claims_name("auto"));
        for name in ["shm", "tcp-lo", "auto-lo", ""] {
            assert!(!AutoProvider.claims_name(name), "{name:?}");
        }
        assert_eq!(AutoProvider.discover()[0].name, "auto");
    }
}
