//! The stub provider behind the objects of the core.

use std::sync::Arc;

use dat_core::error::{Result, ReturnType};
use dat_core::provider::stub::StubProvider;
use dat_core::{
    Close, CompletionFlags, Connect, EpProvision, EpSpec, EvdFlags, EvdOptions, Memory,
    MemorySource, Privileges, Registry,
};

#[test]
fn every_call_on_the_stub_is_answered_and_nothing_leaks() -> Result<()> {
    let registry = Registry::new();
    registry.add_provider(Arc::new(StubProvider))?;
    let ia = registry.open(StubProvider::ADAPTER)?;
    let pz = ia.pz_create()?;
    let evd = ia.evd_create(&EvdOptions::new(4, EvdFlags::DEFAULT))?;
    let ep = ia.ep_create(&EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd))?;
    let memory = Memory::zeroed(64)?;
    let unsupported = ReturnType::ModelNotSupported;
    let source = MemorySource::Memory(&memory);
    let lmr = ia.lmr_create(source, &pz, Privileges::ALL);
    assert!(lmr.is_err_and(|error| error.is(unsupported)));
    assert!(ia.rmr_create(&pz).is_err_and(|error| error.is(unsupported)));
    let psp = ia.psp_create(1, &evd, EpProvision::Consumer);
    assert!(psp.is_err_and(|error| error.is(unsupported)));
    let connect = ep.connect(&Connect::to(ia.attributes().address, 1));
    assert!(connect.is_err_and(|error| error.is(unsupported)));
    assert_eq!(ep.status()?.state, dat_core::EpState::Unconnected, "nothing has changed");
    let receive = ep.post_recv(&[], 1, CompletionFlags::empty());
    assert!(receive.is_err_and(|error| error.is(unsupported)));
    ep.free()?;
    evd.free()?;
    pz.free()?;
    ia.close(Close::Graceful)
}
