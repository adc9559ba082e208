//! Reserved service points.

use std::sync::atomic::Ordering;

use crate::fault_provider;
use crate::prelude::*;

cases! {
    "dat_rsp_create(3DAT)":
        only_one_request_is_accepted,
        only_an_unconnected_endpoint_can_be_reserved,
        a_refused_create_leaves_the_endpoint_unchanged,
        without_an_endpoint_the_provider_creates_one,
        a_full_dispatcher_rejects_the_request_and_keeps_the_endpoint_reserved;
    "dat_rsp_free(3DAT)":
        a_free_releases_the_endpoint,
        a_request_that_arrived_before_a_free_stays_valid,
        a_free_without_a_request_frees_the_endpoint_of_the_provider;
    "dat_cr_reject(3DAT)":
        a_reject_makes_the_endpoint_available_again,
        a_reject_leaves_the_endpoint_of_the_provider_to_the_consumer;
    "dat_ia_close(3DAT)":
        an_abrupt_close_frees_the_service_point_in_every_phase;
    "dat_rsp_create(3DAT), dat_rsp_query(3DAT)":
        only_the_reserved_endpoint_can_accept;
}

const QUALIFIER: u64 = 42;

/// A node with an endpoint, and the service point that reserves it.
#[track_caller]
fn reserved() -> (Node, Ep, Rsp) {
    let (node, ep) = unconnected();
    let rsp = node.ia.rsp_create(QUALIFIER, Some(&ep), &node.requests).expect("unconnected");
    (node, ep, rsp)
}

/// A node with a service point, and the endpoint that the provider created for it.
#[track_caller]
fn reserved_by_the_provider() -> (Node, Ep, Rsp) {
    let node = Node::new();
    let rsp = node.ia.rsp_create(QUALIFIER, None, &node.requests).expect("made");
    let ep = rsp.query().expect("live").ep;
    (node, ep, rsp)
}

fn only_the_reserved_endpoint_can_accept() {
    let (node, ep, rsp) = reserved();
    let param = rsp.query().expect("live");
    assert_eq!((rsp.qualifier(), param.qualifier), (QUALIFIER, QUALIFIER));
    assert_eq!((&param.ep, &param.evd), (&ep, &node.requests));
    assert_eq!(state(&ep), EpState::Reserved);
    let client = node.connecting(QUALIFIER);
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.service_point, ServicePoint::Reserved(rsp.id()));
    assert_eq!(arrival.qualifier, QUALIFIER);
    assert_eq!(state(&ep), EpState::PassiveConnectionPending);
    let found = arrival.request.query().expect("live");
    assert_eq!(found.local_ep.as_ref(), Some(&ep));
    let param = ep.query().expect("live");
    assert_eq!(param.remote_address, Some(node.address()));
    assert_eq!(param.remote_port, Some(found.remote_port));
    assert_eq!(param.local_port, QUALIFIER);
    let other = node.ep();
    refused(arrival.request.accept(Some(&other), b""), Subtype::InvalidArg2);
    assert_eq!(state(&ep), EpState::PassiveConnectionPending);
    assert_eq!(state(&other), EpState::Unconnected);
    arrival.request.accept(None, b"").expect("its own endpoint");
    expect_connections(&node.connect, &[&client, &ep], ConnectionEventKind::Established);
}

fn only_one_request_is_accepted() {
    let (node, ep, rsp) = reserved();
    let clients = [node.connecting(QUALIFIER), node.connecting(QUALIFIER)];
    let second =
        expect_connection_of(&node.connect, &clients, ConnectionEventKind::NonPeerRejected);
    let request = expect_request(&node.requests).request;
    expect_no_event(&node.requests);
    let first = requester(&clients, &request);
    assert_ne!(first, second);
    request.reject(b"").expect("live");
    expect_connection(&node.connect, first, ConnectionEventKind::PeerRejected);
    // A further request is rejected also after the first is answered.
    let third = node.connecting(QUALIFIER);
    expect_connection(&node.connect, &third, ConnectionEventKind::NonPeerRejected);
    expect_no_event(&node.requests);
    assert_eq!(state(&ep), EpState::Unconnected);
    rsp.free().expect("live");
}

fn only_an_unconnected_endpoint_can_be_reserved() {
    in_every_state(|node, staged, wanted| {
        let before = staged.ep.query().expect("live");
        let made = node.ia.rsp_create(QUALIFIER, Some(&staged.ep), &node.requests);
        match wanted {
            EpState::Unconnected => {
                let _rsp = made.expect("unconnected");
                assert_eq!(state(&staged.ep), EpState::Reserved);
            }
            EpState::UnconfiguredUnconnected => {
                let _rsp = made.expect("unconnected");
                assert_eq!(state(&staged.ep), EpState::UnconfiguredReserved);
            }
            _ => {
                refused(made, wanted.invalid_state());
                assert_eq!(staged.ep.query().expect("live"), before);
                // The failed call did not take the qualifier.
                let psp = node.ia.psp_create(QUALIFIER, &node.requests, EpProvision::Consumer);
                psp.expect("free").free().expect("live");
            }
        }
    });
}

fn a_refused_create_leaves_the_endpoint_unchanged() {
    let (ia, faults) = fault_provider::open_with_faults("", |_| ());
    let (node, other) = (Node::on(ia), Node::new());
    let ep = node.ep();
    let make = |ep, evd| node.ia.rsp_create(QUALIFIER, Some(ep), evd);
    refused(make(&ep, &node.connect), Subtype::InvalidHandleEvdCr);
    refused(make(&ep, &other.requests), Subtype::InvalidHandleEvdCr);
    let foreign = other.ep();
    refused(make(&foreign, &node.requests), Subtype::InvalidHandleEp);
    let freed = node.ep();
    freed.free().expect("unconnected");
    refused(make(&freed, &node.requests), Subtype::InvalidHandleEp);
    let psp = node.ia.psp_create(QUALIFIER, &node.requests, EpProvision::Consumer).expect("made");
    refused(make(&ep, &node.requests), ReturnType::ConnQualInUse);
    assert_eq!(state(&ep), EpState::Unconnected);
    psp.free().expect("live");
    faults.no_listeners.store(true, Ordering::Relaxed);
    refused(make(&ep, &node.requests), Subtype::ResourceDevice);
    refused(node.ia.rsp_create(QUALIFIER, None, &node.requests), Subtype::ResourceDevice);
    faults.no_listeners.store(false, Ordering::Relaxed);
    faults.no_queue_pairs.store(true, Ordering::Relaxed);
    refused(node.ia.rsp_create(QUALIFIER, None, &node.requests), Subtype::ResourceDevice);
    assert_eq!(state(&ep), EpState::Unconnected);
    node.finish_with(&[&ep, &foreign]);
    other.finish();
}

fn a_free_releases_the_endpoint() {
    for dropped in [false, true] {
        let (node, ep, rsp) = reserved();
        refused(ep.free(), Subtype::InvalidStateEpReserved);
        if dropped {
            drop(rsp);
        } else {
            let clone = rsp.clone();
            rsp.free().expect("live");
            refused(clone.free(), Subtype::InvalidHandleRsp);
            refused(clone.query(), Subtype::InvalidHandleRsp);
        }
        assert_eq!(state(&ep), EpState::Unconnected);
        let late = node.connecting(QUALIFIER);
        expect_connection(&node.connect, &late, ConnectionEventKind::NonPeerRejected);
        node.finish_with(&[&ep, &late]);
    }
}

fn a_request_that_arrived_before_a_free_stays_valid() {
    let (node, ep, rsp) = reserved();
    let (client, request) = node.asking(QUALIFIER);
    rsp.free().expect("live");
    assert_eq!(state(&ep), EpState::PassiveConnectionPending);
    request.accept(None, b"").expect("its own endpoint");
    expect_connections(&node.connect, &[&client, &ep], ConnectionEventKind::Established);
    node.finish_with(&[&client, &ep]);
}

fn a_reject_makes_the_endpoint_available_again() {
    let (node, ep, rsp) = reserved();
    let (client, request) = node.asking(QUALIFIER);
    refused(ep.free(), Subtype::InvalidStateEpPassconnpending);
    request.reject(b"").expect("live");
    expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    let param = ep.query().expect("live");
    assert_eq!(param.state, EpState::Unconnected);
    assert_eq!((param.remote_address, param.remote_port), (None, None));
    // Freeing the first service point does not affect the endpoint once another one has it.
    let next = node.ia.rsp_create(QUALIFIER + 1, Some(&ep), &node.requests).expect("unconnected");
    rsp.free().expect("live");
    assert_eq!(state(&ep), EpState::Reserved);
    let (other, request) = node.asking(QUALIFIER + 1);
    assert_eq!(state(&ep), EpState::PassiveConnectionPending);
    request.accept(None, b"").expect("its own endpoint");
    expect_connections(&node.connect, &[&other, &ep], ConnectionEventKind::Established);
    node.finish_with(&[&next, &client, &other, &ep]);
}

fn without_an_endpoint_the_provider_creates_one() {
    for early in [false, true] {
        let (node, ep, rsp) = reserved_by_the_provider();
        assert_eq!(state(&ep), EpState::UnconfiguredReserved);
        let param = ep.query().expect("live");
        assert_eq!((param.pz, param.recv_evd, param.connect_evd), (None, None, None));
        let complete = EpUpdate::new().pz(&node.pz).connect_evd(Some(&node.connect));
        if early {
            ep.modify(&complete).expect("reserved");
            assert_eq!(state(&ep), EpState::Reserved);
        }
        let (client, request) = node.asking(QUALIFIER);
        assert_eq!(request.query().expect("live").local_ep.as_ref(), Some(&ep));
        if !early {
            assert_eq!(state(&ep), EpState::UnconfiguredPassive);
            refused(request.accept(None, b""), Subtype::InvalidStateEpUnconfpassive);
            ep.modify(&complete).expect("passive");
        }
        assert_eq!(state(&ep), EpState::PassiveConnectionPending);
        request.accept(None, b"").expect("complete");
        expect_connections(&node.connect, &[&client, &ep], ConnectionEventKind::Established);
        node.finish_with(&[&rsp, &client, &ep]);
    }
}

fn a_free_without_a_request_frees_the_endpoint_of_the_provider() {
    let (node, ep, rsp) = reserved_by_the_provider();
    rsp.free().expect("live");
    refused(ep.query(), Subtype::InvalidHandleEp);
    node.finish();
}

fn a_reject_leaves_the_endpoint_of_the_provider_to_the_consumer() {
    let (node, ep, rsp) = reserved_by_the_provider();
    let client = node.connecting(QUALIFIER);
    expect_request(&node.requests).request.reject(b"").expect("live");
    assert_eq!(state(&ep), EpState::UnconfiguredUnconnected);
    assert_eq!(ep.query().expect("live").remote_address, None);
    rsp.free().expect("live");
    ep.modify(&EpUpdate::new().pz(&node.pz)).expect("unconnected");
    assert_eq!(state(&ep), EpState::Unconnected);
    node.finish_with(&[&client, &ep]);
}

fn a_full_dispatcher_rejects_the_request_and_keeps_the_endpoint_reserved() {
    let node = Node::new();
    let flags = EvdFlags::CONNECTION_REQUEST | EvdFlags::SOFTWARE;
    let evd = node.evd_of(1, flags);
    let ep = node.ep();
    let _rsp = node.ia.rsp_create(QUALIFIER, Some(&ep), &evd).expect("unconnected");
    while evd.post_software_event(1).is_ok() {}
    let client = node.connecting(QUALIFIER);
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    assert_eq!(state(&ep), EpState::Reserved);
    drain(&evd);
    let again = node.connecting(QUALIFIER);
    expect_request(&evd).request.accept(None, b"").expect("its own endpoint");
    expect_connections(&node.connect, &[&again, &ep], ConnectionEventKind::Established);
}

fn an_abrupt_close_frees_the_service_point_in_every_phase() {
    for phase in 0..3 {
        let (near, far) = (Node::new(), Node::new());
        let ep = far.ep();
        let rsp = far.ia.rsp_create(QUALIFIER, Some(&ep), &far.requests).expect("unconnected");
        let client = near.ep();
        let mut expected = None;
        if phase > 0 {
            client.connect(&Connect::to(far.address(), QUALIFIER)).expect("unconnected");
            expected = Some(ConnectionEventKind::NonPeerRejected);
        }
        if phase > 1 {
            expect_request(&far.requests).request.accept(None, b"").expect("its own endpoint");
            expect_connection(&near.connect, &client, ConnectionEventKind::Established);
            expected = Some(ConnectionEventKind::Disconnected);
        }
        far.ia.close(Close::Abrupt).expect("always possible");
        refused(rsp.free(), Subtype::InvalidHandleRsp);
        refused(ep.free(), Subtype::InvalidHandleEp);
        if let Some(kind) = expected {
            expect_connection(&near.connect, &client, kind);
        }
        expect_no_event(&near.connect);
    }
}
