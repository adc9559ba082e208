//! The smallest provider: it compiles against the whole contract, appears in the listing and
//! refuses to open. A writer of a provider copies it and fills it in.

use std::sync::Arc;

use super::{Adapter, CONTRACT_VERSION, Description, Discovered, OpenRequest, Provider};
use crate::error::{Error, Result, ReturnType, Subtype};

/// The stub.
#[derive(Clone, Copy, Debug, Default)]
pub struct StubProvider;

impl StubProvider {
    /// The name of its one adapter.
    pub const ADAPTER: &'static str = "stub";

    fn refusal(operation: &'static str) -> Error {
        Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .during(operation)
            .on(format!("IA {:?}", Self::ADAPTER))
            .because("the stub provider has no transport")
            .advise("open another adapter; the stub is a template for writers of providers")
    }
}

impl Provider for StubProvider {
    fn describe(&self) -> Description {
        Description {
            name: "stub",
            vendor: "dat-core",
            version: (0, 1),
            contract: CONTRACT_VERSION,
        }
    }

    fn discover(&self) -> Vec<Discovered> {
        vec![Discovered {
            name: Self::ADAPTER.to_owned(),
            summary: "a template for writers of providers".to_owned(),
            unusable: Some(Self::refusal("discover")),
        }]
    }

    fn open(&self, _request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Err(Self::refusal("dat_ia_open"))
    }
}
