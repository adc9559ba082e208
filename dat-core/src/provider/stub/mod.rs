//! The smallest provider: a template for writers of providers.
//!
//! It compiles against the whole contract. Its adapter opens and says what it is; domains,
//! completion queues and queue pairs can be made; whatever would need a transport answers "not
//! supported". Copy the folder, and replace that answer by your transport, file by file.

mod adapter;
mod queues;

use std::sync::Arc;

use super::{Adapter, CONTRACT_VERSION, Description, Discovered, OpenRequest, Provider};
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
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Ok(Arc::new(StubAdapter::new(request.name)))
    }
}

/// The stub's answer to everything that needs a transport.
fn no_transport(what: &'static str) -> Error {
    Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because(format!("the stub provider has no transport for {what}"))
        .advise("open another adapter; the stub is a template for writers of providers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Close, CompletionFlags, Connect, EpSpec, EvdFlags, EvdOptions, Memory, MemorySource,
        Privileges, PspMaker, Registry,
    };

    #[test]
    fn every_call_on_the_stub_is_answered_and_nothing_leaks() -> Result<()> {
        let registry = Registry::new();
        registry.add_provider(Arc::new(StubProvider))?;
        let ia = registry.open(StubProvider::ADAPTER)?;
        let pz = ia.pz_create()?;
        let evd = ia.evd_create(&EvdOptions::new(4, EvdFlags::DEFAULT))?;
        let ep =
            ia.ep_create(&EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd))?;
        let memory = Memory::zeroed(64)?;
        let unsupported = ReturnType::ModelNotSupported;
        let source = MemorySource::Memory(&memory);
        let lmr = ia.lmr_create(source, &pz, Privileges::ALL);
        assert!(lmr.is_err_and(|error| error.is(unsupported)));
        assert!(ia.rmr_create(&pz).is_err_and(|error| error.is(unsupported)));
        let psp = ia.psp_create(1, &evd, PspMaker::Consumer);
        assert!(psp.is_err_and(|error| error.is(unsupported)));
        let connect = ep.connect(&Connect::to(ia.attributes().address, 1));
        assert!(connect.is_err_and(|error| error.is(unsupported)));
        assert_eq!(ep.status()?.state, crate::EpState::Unconnected, "nothing has changed");
        let receive = ep.post_recv(&[], 1, CompletionFlags::empty());
        assert!(receive.is_err_and(|error| error.is(unsupported)));
        ep.free()?;
        evd.free()?;
        pz.free()?;
        ia.close(Close::Graceful)
    }
}
