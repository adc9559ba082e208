//! The root of the provider.

use std::sync::Arc;

use dat_provider::attr::NamedAttr;
use dat_provider::error::Result;
use dat_provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, Relationship,
};
use dat_provider_kit::attributes::VERSION;
use dat_provider_kit::engine::{self, Identity, MAX_DATAGRAM};

use crate::transport::Rings;

const DESCRIPTION: Description = Description {
    name: ShmProvider::NAME,
    vendor: "DAT shared memory",
    version: VERSION,
    reach: Reach::Host,
};

/// The provider over shared memory. Its adapter is `shm`, which every Linux has.
///
/// The parameters are `key=value` pairs, separated by blanks or commas: `address=` another address
/// of 127.0.0.0/8, `dir=` a folder for the sockets of listeners, `users=any` to accept peers of other
/// users, `direct=no` to access no memory of peers directly, `ptracer=any` to let Yama permit peers to
/// access this process, and the limits that the adapter reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShmProvider;

impl ShmProvider {
    /// The name of the provider, for the library field of dat.conf, and of its adapter.
    pub const NAME: &'static str = "shm";
}

/// Returns the provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(ShmProvider)
}

/// The attributes that programs with the InfiniBand extensions look for: the name of the device, and
/// the longest packet in bytes, which is a datagram; and whether memory of peers is accessed
/// directly.
fn named_attributes(rings: &Rings) -> Vec<NamedAttr> {
    vec![
        NamedAttr::new("DAT_IB_DEVICE_NAME", ShmProvider::NAME),
        NamedAttr::new("DAT_IB_TRANSPORT_MTU", MAX_DATAGRAM.to_string()),
        NamedAttr::new("direct", rings.direct()),
    ]
}

impl Provider for ShmProvider {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let summary = "shared memory between processes, address 127.0.0.1".to_owned();
        vec![DiscoveredAdapter { name: Self::NAME.to_owned(), summary, unusable: None }]
    }

    fn claims_name(&self, name: &str) -> bool {
        name == Self::NAME
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let (rings, limits) = Rings::open(request.parameters)?;
        let identity = Identity::new(request.name, DESCRIPTION, named_attributes(&rings));
        engine::open(identity, rings.address(), limits, Box::new(rings), request.sink)
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        if one == Self::NAME && other == Self::NAME {
            Relationship::Related
        } else {
            Relationship::Unknown
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn its_name_is_shm() {
        assert!(ShmProvider.claims_name("shm"));
        for name in ["loopback", "shm0", ""] {
            assert!(!ShmProvider.claims_name(name), "{name:?}");
        }
        assert_eq!(ShmProvider.discover()[0].name, "shm");
    }
}
