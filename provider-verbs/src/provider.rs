//! The root of the provider.

use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach, Relationship,
};
use dat_provider_kit::attributes::VERSION;

use crate::adapter::VerbsAdapter;
use crate::device::Device;
use crate::discovery;
use crate::errors::not_loaded;
use crate::port_lookup;
use crate::sys;

pub(crate) const DESCRIPTION: Description = Description {
    name: VerbsProvider::NAME,
    vendor: "DAT verbs",
    version: VERSION,
    reach: Reach::Rdma,
};

/// The provider over libibverbs and librdmacm, for InfiniBand, RoCE and iWARP adapters.
///
/// Each port of a device is a separate adapter, named by device and port: `rxe0-1`. Lines of
/// dat.conf select one by their IA parameters: a network device (`"ib0 0"`), a device and port
/// (`"mlx5_0 1"`), or an address or host name of this machine (`"10.0.0.1 0"`).
#[derive(Clone, Copy, Debug, Default)]
pub struct VerbsProvider;

impl VerbsProvider {
    /// The name of the provider, for the library field of dat.conf.
    pub const NAME: &'static str = "verbs";
}

/// The provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(VerbsProvider)
}

impl Provider for VerbsProvider {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        // On a machine without devices nothing is loaded.
        if !discovery::has_devices() {
            return Vec::new();
        }
        match sys::libraries() {
            Ok(_) => discovery::ports()
                .into_iter()
                .map(|port| DiscoveredAdapter {
                    name: port.name(),
                    summary: port.summary(),
                    unusable: port.unusable(),
                })
                .collect(),
            Err(failure) => vec![DiscoveredAdapter {
                name: Self::NAME.to_owned(),
                summary: "RDMA adapters".to_owned(),
                unusable: Some(not_loaded(failure)),
            }],
        }
    }

    fn claims_name(&self, name: &str) -> bool {
        discovery::split_name(name).is_some_and(|(device, _)| discovery::is_there(device))
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        sys::libraries().map_err(not_loaded)?;
        let target = port_lookup::find(request.name, request.parameters)?;
        let device = Device::open(target.context, target.port, target.address, request.sink)?;
        Ok(Arc::new(VerbsAdapter::new(request.name, device)))
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        let device = |name: &str| Some(discovery::split_name(name)?.0.to_owned());
        match (device(one), device(other)) {
            (Some(one), Some(other)) if one == other => Relationship::Related,
            (Some(_), Some(_)) => Relationship::Unrelated,
            _ => Relationship::Unknown,
        }
    }
}

/// The error of a name that denotes no adapter.
pub(crate) fn no_such(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
        .because(what)
        .advise("`dat list` shows the adapters of this machine")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_adapters_are_declined() {
        for name in ["loopback", "loopback-1", "", "-1", "no-such-device-1", "no-such-device"] {
            assert!(!VerbsProvider.claims_name(name), "{name:?}");
        }
    }
}
