//! The provider.

use std::sync::Arc;

use dat_provider::decorate::faults::{FaultPlan, FaultyProvider};
use dat_provider::error::Result;
use dat_provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use dat_provider_kit::attributes::Identity;

use crate::adapter::LoopbackAdapter;
use crate::parameters::Parameters;

const VENDOR: &str = "DAT loopback";

/// The in-process provider: its adapters reach each other, and nothing else.
///
/// Any name can be opened. The parameters are `key=value` pairs, separated by blanks or commas. They set
/// the limits that the adapter reports, and its address (`address=127.0.0.2`). Those that begin with
/// `fault.` inject [faults](dat_provider::decorate::faults): `loopback?fault.connect=refuse`.
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

/// The version of this crate, major and minor.
fn version() -> (u32, u32) {
    let number = |text: &str| text.parse().unwrap_or_default();
    (number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")))
}

impl Provider for LoopbackProvider {
    fn describe(&self) -> Description {
        Description { name: Self::NAME, vendor: VENDOR, version: version(), reach: Reach::Process }
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
        if FaultyProvider::is_requested_by(request.parameters) {
            // It removes the fault parameters before it opens this provider.
            return FaultyProvider::new(Arc::new(*self), FaultPlan::new()).open(request);
        }
        let parameters = Parameters::parse(request.parameters)
            .map_err(|error| error.during("dat_ia_open").on(format!("IA {:?}", request.name)))?;
        parameters.limits.faults.apply();
        let identity = Identity {
            name: request.name.to_owned(),
            vendor: VENDOR,
            version: version(),
            specific: Vec::new(),
        };
        Ok(Arc::new(LoopbackAdapter::new(identity, parameters)))
    }
}
