//! The queue pair of an endpoint, where its first use creates it.

mod altered_stub;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use altered_stub::AlteredStub;
use dat_core::provider::ConnectionUpcall;
use dat_core::{CompletionFlags, Connect, Ep, EpSpec, EpState, EpUpdate, Ia, Result, ReturnType};

const NONE: CompletionFlags = CompletionFlags::empty();

/// An adapter on which this many queue pairs cannot be created.
fn open(refusals: u32) -> (Ia, Arc<AtomicU32>) {
    let refusals = Arc::new(AtomicU32::new(refusals));
    let attempts = Some(Arc::new(ConnectionUpcall::Unreachable) as _);
    let counted = Some(Arc::clone(&refusals));
    let parts = AlteredStub { attempts, refusals: counted, ..AlteredStub::default() };
    (altered_stub::open(Arc::new(parts)), refusals)
}

fn is_refused(result: Result<()>, ep: &Ep) {
    let error = result.expect_err("no queue pair can be created");
    assert!(error.is(ReturnType::InsufficientResources), "{error}");
    assert_eq!(ep.status().expect("it exists").state, EpState::Unconnected);
}

#[test]
fn a_use_without_memory_fails_and_changes_nothing() {
    let (ia, refusals) = open(2);
    let pz = ia.pz_create().expect("memory");
    let ep = ia.ep_create(&EpSpec::new(&pz)).expect("it needs no queue pair");
    is_refused(ep.post_recv(&[], 1, NONE), &ep);
    let connect = Connect::to(ia.attributes().address, 1);
    is_refused(ep.connect(&connect), &ep);
    assert_eq!(refusals.load(Ordering::Relaxed), 0);
    ep.connect(&connect).expect("there is memory again");
    assert_eq!(ep.status().expect("it exists").state, EpState::Disconnected, "it was unreachable");
}

#[test]
fn calls_that_need_no_queue_pair_do_not_create_one() {
    let (ia, refusals) = open(u32::MAX);
    let pz = ia.pz_create().expect("memory");
    let ep = ia.ep_create(&EpSpec::new(&pz)).expect("it needs no queue pair");
    let status = ep.status().expect("it exists");
    assert!(status.recv_idle && status.request_idle);
    assert_eq!(ep.failure().expect("it exists"), None);
    assert_eq!(ep.query().expect("it exists").pz, Some(pz));
    let other = ia.pz_create().expect("memory");
    ep.modify(&EpUpdate::new().pz(&other)).expect("unconnected");
    ep.reset().expect("unconnected");
    ep.free().expect("unused");
    assert_eq!(refusals.load(Ordering::Relaxed), u32::MAX);
}
