//! The smallest provider: a template for new providers.
//!
//! It compiles against the whole contract. Its adapter opens and describes itself; domains,
//! completion queues and queue pairs can be created; whatever needs a transport returns "not
//! supported". Copy the folder, and replace that error by your transport, file by file.

mod adapter;
mod queues;

use std::sync::Arc;

use super::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use crate::error::{Error, Result, ReturnType, Subtype};

use adapter::StubAdapter;

/// The stub.
#[derive(Clone, Copy, Debug, Default)]
pub struct StubProvider;

impl StubProvider {
    /// The name of its one adapter.
    pub const ADAPTER: &'static str = "stub";
}

impl Provider for StubProvider {
    fn describe(&self) -> Description {
        Description { name: "stub", vendor: "dat-core", version: (0, 1), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: Self::ADAPTER.to_owned(),
            summary: "a template for new providers".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Ok(Arc::new(StubAdapter::new(request.name)))
    }
}

/// The stub's error for everything that needs a transport.
fn no_transport(what: &'static str) -> Error {
    Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because(format!("the stub provider has no transport for {what}"))
        .advise("open another adapter; the stub is only a template for new providers")
}
