//! The provider.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use dat_provider_kit::attributes::{Identity, VERSION};

use crate::adapter::LoopbackAdapter;
use crate::parameters::Parameters;

const DESCRIPTION: Description = Description {
    name: LoopbackProvider::NAME,
    vendor: "DAT loopback",
    version: VERSION,
    reach: Reach::Process,
};

/// The in-process provider: its adapters reach each other, and nothing else.
///
/// Any name can be opened. The parameters are `key=value` pairs, separated by blanks or commas. They set
/// the limits that the adapter reports, and its address (`address=127.0.0.2`).
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopbackProvider;

impl LoopbackProvider {
    /// The name of the provider, and of the adapter that it reports.
    pub const NAME: &'static str = "loopback";
}

/// The provider, which a program adds with `Registry::add_provider` of dat-core.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(LoopbackProvider)
}

impl Provider for LoopbackProvider {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: Self::NAME.to_owned(),
            summary: format!("inside this process, address {}", Parameters::default().address),
            unusable: None,
        }]
    }

    fn claims_name(&self, name: &str) -> bool {
        name == Self::NAME
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let parameters = Parameters::parse(request.parameters)?;
        parameters.limits.faults.apply();
        let identity = Identity::new(request.name, DESCRIPTION, Vec::new());
        Ok(Arc::new(LoopbackAdapter::new(identity, parameters)))
    }
}
