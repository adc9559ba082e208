//! The root of the provider.

use std::sync::Arc;

use dat_core::error::Result;
use dat_core::provider::decorate::faults::{FaultPlan, FaultyProvider};
use dat_core::provider::{Adapter, Description, Discovered, OpenRequest, Provider, Reach};

use crate::adapter::Loopback;
use crate::parameters::Parameters;

pub(crate) const VENDOR: &str = "DAT loopback";

/// The provider inside one process: every adapter of it reaches every other, and nothing else.
///
/// Any name can be opened. The parameters are `key=value` pairs, separated by blanks or
/// commas, which set the limits that the adapter reports and its address (`address=127.0.0.2`).
/// Those that begin with `fault.` make things go wrong
/// ([`faults`](dat_core::provider::decorate::faults)): `loopback?fault.connect=refuse`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopbackProvider;

impl LoopbackProvider {
    /// The name of the adapter that is always there, and of the provider.
    pub const NAME: &'static str = "loopback";
}

/// The provider, ready to be registered.
#[must_use]
pub fn provider() -> Arc<dyn Provider> {
    Arc::new(LoopbackProvider)
}

/// The version of this crate, major and minor.
pub(crate) fn version() -> (u32, u32) {
    let number = |text: &str| text.parse().unwrap_or_default();
    (number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")))
}

impl Provider for LoopbackProvider {
    fn describe(&self) -> Description {
        Description { name: Self::NAME, vendor: VENDOR, version: version(), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<Discovered> {
        vec![Discovered {
            name: Self::NAME.to_owned(),
            summary: format!("inside this process, address {}", Parameters::default().address),
            unusable: None,
        }]
    }

    fn may_have(&self, name: &str) -> bool {
        name == Self::NAME
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        if FaultyProvider::is_asked_by(request.parameters) {
            // It takes its parameters out, so this comes back here once.
            return FaultyProvider::new(Arc::new(*self), FaultPlan::new()).open(request);
        }
        let parameters = Parameters::parse(request.parameters)
            .map_err(|error| error.during("dat_ia_open").on(format!("IA {:?}", request.name)))?;
        Ok(Arc::new(Loopback::new(request.name, parameters)))
    }
}
