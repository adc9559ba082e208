//! The root of the provider.

use std::sync::Arc;

use dat_provider::attr::NamedAttr;
use dat_provider::decorate::faults::{FaultPlan, FaultyProvider};
use dat_provider::error::Result;
use dat_provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, Relationship,
};
use dat_provider_kit::engine::{self, Identity, MAX_DATAGRAM};

use crate::transport::Rings;

const VENDOR: &str = "DAT shared memory";

/// The provider over shared memory. Its adapter is `shm`, which every Linux has.
///
/// The parameters are `key=value` pairs, separated by blanks or commas: `address=` another address
/// of 127.0.0.0/8, `dir=` a folder for the sockets of listeners, `users=any` to accept peers of other
/// users, `direct=no` to access no memory of peers directly, `ptracer=any` to let Yama permit peers to
/// access this process, and the limits that the adapter reports. Those that begin with `fault.` make
/// things go wrong ([`faults`](dat_provider::decorate::faults)).
#[derive(Clone, Copy, Debug, Default)]
pub struct ShmProvider;

impl ShmProvider {
    /// The name of the provider, for the library field of dat.conf, and of its adapter.
    pub const NAME: &'static str = "shm";
}

/// The provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(ShmProvider)
}

/// The version of this crate, major and minor.
fn version() -> (u32, u32) {
    let number = |text: &str| text.parse().unwrap_or_default();
    (number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")))
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
        Description { name: Self::NAME, vendor: VENDOR, version: version(), reach: Reach::Host }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let summary = "shared memory between processes, address 127.0.0.1".to_owned();
        vec![DiscoveredAdapter { name: Self::NAME.to_owned(), summary, unusable: None }]
    }

    fn claims_name(&self, name: &str) -> bool {
        name == Self::NAME
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        if FaultyProvider::is_requested_by(request.parameters) {
            // It takes its parameters out, so this comes back here once.
            return FaultyProvider::new(Arc::new(*self), FaultPlan::new()).open(request);
        }
        let open = || {
            let (rings, limits) = Rings::open(request.parameters)?;
            let name = request.name.to_owned();
            let specific = named_attributes(&rings);
            let identity = Identity { name, vendor: VENDOR, version: version(), specific };
            engine::open(
                identity,
                rings.address(),
                limits,
                Box::new(rings),
                Arc::clone(&request.sink),
            )
        };
        open().map_err(|error| error.during("dat_ia_open").on(format!("IA {:?}", request.name)))
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
