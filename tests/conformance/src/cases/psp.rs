//! Public service points.

use std::sync::atomic::Ordering;

use crate::fault_provider;
use crate::prelude::*;
use dat_core::attr::EpCreator;

cases! {
    "dat_psp_create(3DAT)":
        a_refused_create_leaves_nothing_in_use,
        a_failure_of_the_provider_leaves_nothing_in_use,
        unsupported_endpoint_creators_are_refused,
        it_takes_any_number_of_requests,
        the_queue_of_the_dispatcher_is_the_backlog,
        an_endpoint_of_the_provider_must_be_configured_before_the_accept,
        a_request_is_rejected_if_the_provider_cannot_create_its_endpoint;
    "dat_psp_create_any(3DAT)":
        the_adapter_chooses_unused_qualifiers;
    "dat_psp_free(3DAT)":
        requests_that_arrived_before_a_free_stay_valid;
    "reading: dropping the last handle frees an object":
        dropping_the_service_point_stops_listening;
    "dat_cr_reject(3DAT)":
        a_reject_frees_the_endpoint_of_the_provider;
    "dat_psp_create(3DAT), dat_psp_create_any(3DAT)":
        a_request_that_arrives_during_the_create_is_accepted;
    "dat_ia_close(3DAT)":
        a_closed_adapter_does_not_listen;
    "dat_psp_create(3DAT), dat_psp_query(3DAT)":
        it_listens_at_its_qualifier_and_a_query_returns_it;
}

fn it_listens_at_its_qualifier_and_a_query_returns_it() {
    let node = Node::new();
    let psp = node.ia.psp_create(1234, &node.requests, EpProvision::Consumer).expect("made");
    assert_eq!(psp.qualifier(), 1234);
    let param = psp.query().expect("live");
    assert_eq!((param.qualifier, &param.evd), (1234, &node.requests));
    assert_eq!(param.ep_provision, EpProvision::Consumer);
    refused(node.requests.free(), Subtype::InvalidStateEvdInUse);
    let _client = node.connecting(1234);
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.service_point, ServicePoint::Public(psp.id()));
    assert_eq!(arrival.qualifier, 1234);
}

fn a_request_that_arrives_during_the_create_is_accepted() {
    let (ia, faults) = fault_provider::open_with_faults("", |_| {});
    let node = Node::on(ia);
    for asked in [Some(77), None] {
        let clients = [node.ep(), node.ep()];
        let (address, early) = (node.address(), clients[0].clone());
        faults.while_listening.set(move |qualifier| {
            early.connect(&Connect::to(address, qualifier)).expect("unconnected");
        });
        let psp = match asked {
            Some(qualifier) => node.ia.psp_create(qualifier, &node.requests, EpProvision::Consumer),
            None => node.ia.psp_create_any(&node.requests, EpProvision::Consumer),
        };
        let psp = psp.expect("made");
        clients[1].connect(&Connect::to(address, psp.qualifier())).expect("unconnected");
        let servers = [node.ep(), node.ep()];
        for server in &servers {
            let arrival = expect_request(&node.requests);
            assert_eq!(arrival.qualifier, psp.qualifier());
            assert_eq!(arrival.service_point, ServicePoint::Public(psp.id()));
            let client = requester(&clients, &arrival.request);
            arrival.request.accept(Some(server), b"").expect("unconnected");
            expect_connections(&node.connect, &[client, server], ConnectionEventKind::Established);
            assert_eq!(server.query().expect("live").local_port, psp.qualifier());
        }
        drop(servers);
        drain(&node.connect);
        psp.free().expect("live");
    }
}

fn a_refused_create_leaves_nothing_in_use() {
    let node = Node::new();
    let other = Node::new();
    let make = |evd| node.ia.psp_create(7, evd, EpProvision::Consumer);
    refused(make(&node.connect), Subtype::InvalidHandleEvdCr);
    refused(make(&other.requests), Subtype::InvalidHandleEvdCr);
    let freed = node.freed_evd(EvdFlags::CONNECTION_REQUEST);
    refused(make(&freed), Subtype::InvalidHandleEvdCr);
    let psp = make(&node.requests).expect("made");
    for _ in 0..2 {
        refused(make(&node.requests), ReturnType::ConnQualInUse);
    }
    refused(node.ia.rsp_create(7, None, &node.requests), ReturnType::ConnQualInUse);
    if other.address() != node.address() {
        let elsewhere = other.ia.psp_create(7, &other.requests, EpProvision::Consumer);
        elsewhere.expect("at another address").free().expect("live");
    }
    psp.free().expect("live");
    make(&node.requests).expect("the qualifier is free again").free().expect("live");
    finish_all([node, other]);
}

fn a_failure_of_the_provider_leaves_nothing_in_use() {
    let (ia, faults) = fault_provider::open_with_faults("", |_| {});
    let node = Node::on(ia);
    faults.no_listeners.store(true, Ordering::Relaxed);
    refused(node.ia.psp_create(7, &node.requests, EpProvision::Provider), Subtype::ResourceDevice);
    node.finish();
}

fn the_adapter_chooses_unused_qualifiers() {
    let node = Node::new();
    let psps = [0, 1, 2, 3].map(|_| node.psp());
    let mut qualifiers = psps.clone().map(|psp| psp.qualifier()).to_vec();
    qualifiers.sort_unstable();
    qualifiers.dedup();
    assert_eq!(qualifiers.len(), 4);
    for psp in &psps {
        assert_eq!(psp.query().expect("live").qualifier, psp.qualifier());
        let client = node.connecting(psp.qualifier());
        let arrival = expect_request(&node.requests);
        assert_eq!(arrival.service_point, ServicePoint::Public(psp.id()));
        client.free().expect("any state");
    }
}

fn unsupported_endpoint_creators_are_refused() {
    let creators: [(fault_provider::Change, _, _); 2] = [
        (
            |it| it.provider.ep_creator = EpCreator::Never,
            EpProvision::Provider,
            EpProvision::Consumer,
        ),
        (
            |it| it.provider.ep_creator = EpCreator::Always,
            EpProvision::Consumer,
            EpProvision::Provider,
        ),
    ];
    for (change, ep_provision, other) in creators {
        let node = fault_provider::node(change);
        refused(node.ia.psp_create(7, &node.requests, ep_provision), ReturnType::ModelNotSupported);
        node.ia.psp_create(7, &node.requests, other).expect("has it").free().expect("live");
        node.finish();
    }
}

fn it_takes_any_number_of_requests() {
    let (node, psp) = with_psp();
    let clients: Vec<Ep> = (0..20).map(|_| node.connecting(psp.qualifier())).collect();
    for _ in &clients {
        let server = node.ep();
        let request = expect_request(&node.requests).request;
        let client = requester(&clients, &request);
        request.accept(Some(&server), b"").expect("unconnected");
        expect_connections(&node.connect, &[client, &server], ConnectionEventKind::Established);
        server.free().expect("connected");
        expect_connection(&node.connect, client, ConnectionEventKind::Disconnected);
    }
    let (rejected, request) = node.asking(psp.qualifier());
    request.reject(b"").expect("live");
    expect_connection(&node.connect, &rejected, ConnectionEventKind::PeerRejected);
}

fn requests_that_arrived_before_a_free_stay_valid() {
    let (node, psp) = with_psp();
    let (client, server) = (node.connecting(psp.qualifier()), node.ep());
    let request = expect_request(&node.requests).request;
    let clone = psp.clone();
    psp.free().expect("live");
    refused(clone.free(), Subtype::InvalidHandlePsp);
    refused(clone.query(), Subtype::InvalidHandlePsp);
    let late = node.connecting(psp.qualifier());
    expect_connection(&node.connect, &late, ConnectionEventKind::NonPeerRejected);
    assert!(request.is_live());
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Established);
    expect_no_event(&node.requests);
}

fn dropping_the_service_point_stops_listening() {
    let node = Node::new();
    let psp = node.ia.psp_create(5, &node.requests, EpProvision::Consumer).expect("made");
    drop(psp);
    let client = node.connecting(5);
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    node.ia
        .psp_create(5, &node.requests, EpProvision::Consumer)
        .expect("free")
        .free()
        .expect("live");
    node.finish_with(&[&client]);
}

fn the_queue_of_the_dispatcher_is_the_backlog() {
    let node = Node::new();
    let evd = node.evd_of(2, EvdFlags::CONNECTION_REQUEST);
    for ep_provision in [EpProvision::Consumer, EpProvision::Provider] {
        let psp = node.ia.psp_create_any(&evd, ep_provision).expect("made");
        let qlen = evd.query().expect("live").qlen;
        let asking: Vec<Ep> = (0..=qlen).map(|_| node.connecting(psp.qualifier())).collect();
        // There is one request too many: the last to arrive is rejected.
        let rejected = ConnectionEventKind::NonPeerRejected;
        let last = expect_connection_of(&node.connect, &asking, rejected);
        assert_eq!(state(last), EpState::Disconnected);
        // Answering a request frees a queue entry for the next.
        let request = expect_request(&evd).request;
        let client = requester(&asking, &request);
        request.reject(b"").expect("live");
        expect_connection(&node.connect, client, ConnectionEventKind::PeerRejected);
        let next = node.connecting(psp.qualifier());
        assert_eq!(state(&next), EpState::ActiveConnectionPending);
        let refuse_all = || {
            for arrival in drain(&evd) {
                let Event::ConnectionRequest(arrival) = arrival else { panic!("{arrival:?}") };
                arrival.request.reject(b"").expect("live");
            }
        };
        refuse_all();
        psp.free().expect("live");
        // The next request may have arrived just before.
        until("every request is answered", || {
            refuse_all();
            state(&next) == EpState::Disconnected
        });
        drain(&node.connect);
        for ep in asking.into_iter().chain([next]) {
            ep.free().expect("disconnected");
        }
    }
    // The provider has freed its endpoints of the rejected requests.
    node.finish_with(&[&evd]);
}

fn an_endpoint_of_the_provider_must_be_configured_before_the_accept() {
    let node = Node::new();
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Provider).expect("made");
    assert_eq!(psp.query().expect("live").ep_provision, EpProvision::Provider);
    let (client, request) = node.asking(psp.qualifier());
    let ep = request.query().expect("live").local_ep.expect("made by the provider");
    let param = ep.query().expect("live");
    assert_eq!(param.state, EpState::TentativeConnectionPending);
    assert_eq!((&param.pz, &param.recv_evd), (&None, &None));
    assert_eq!((&param.request_evd, &param.connect_evd), (&None, &None));
    assert_eq!(param.remote_address, Some(node.address()));
    assert_eq!(param.remote_port, Some(request.query().expect("live").remote_port));
    // Accepting without a protection zone fails and changes nothing.
    fails_with(request.accept(None, b""), ReturnType::InvalidState);
    assert_eq!(state(&ep), EpState::TentativeConnectionPending);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    ep.modify(&EpUpdate::new().pz(&node.pz).connect_evd(Some(&node.connect))).expect("tentative");
    request.accept(None, b"").expect("complete now");
    expect_connections(&node.connect, &[&client, &ep], ConnectionEventKind::Established);
    // The endpoint belongs to the consumer, which has to free it.
    refused(node.ia.close(Close::Graceful), Subtype::InvalidStateIaInUse);
    node.finish_with(&[&ep, &client, &psp]);
}

fn a_reject_frees_the_endpoint_of_the_provider() {
    let node = Node::new();
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Provider).expect("made");
    for dropped in [false, true] {
        let (client, request) = node.asking(psp.qualifier());
        let ep = request.query().expect("live").local_ep.expect("made by the provider");
        refused(ep.free(), Subtype::InvalidStateEpTentconnpending);
        if dropped {
            drop(request);
        } else {
            request.reject(b"").expect("live");
        }
        assert!(!ep.is_live());
        refused(ep.query(), Subtype::InvalidHandleEp);
        refused(ep.free(), Subtype::InvalidHandleEp);
        becomes(&client, EpState::Disconnected);
        client.free().expect("disconnected");
    }
    node.finish_with(&[&psp]);
}

fn a_request_is_rejected_if_the_provider_cannot_create_its_endpoint() {
    let node = Node::with("max_eps=1");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Provider).expect("made");
    let client = node.connecting(psp.qualifier());
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    expect_no_event(&node.requests);
    node.finish_with(&[&client, &psp]);
}

fn a_closed_adapter_does_not_listen() {
    let (near, far) = (Node::new(), Node::new());
    let psp = far.psp();
    let client = near.ep();
    client.connect(&Connect::to(far.address(), psp.qualifier())).expect("unconnected");
    far.ia.close(Close::Abrupt).expect("always possible");
    // The close rejects the unanswered request.
    expect_connection(&near.connect, &client, ConnectionEventKind::NonPeerRejected);
    refused(psp.free(), Subtype::InvalidHandlePsp);
    let ia = open("");
    ia.close(Close::Graceful).expect("nothing is on it");
    refused(ia.psp_create(1, &near.requests, EpProvision::Consumer), Subtype::InvalidHandleIa);
}
