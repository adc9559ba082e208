//! Handing a connection request over to another service point.

use dat_core::CrArrival;

use crate::prelude::*;

cases! {
    "dat_cr_handoff(3DAT)":
        to_a_public_service_point,
        to_a_reserved_service_point,
        the_old_handle_is_invalid,
        an_unused_qualifier_is_refused,
        a_qualifier_of_another_adapter_is_refused,
        to_a_common_service_point;
    "dat_cr_handoff(3DAT); reading: a hand-over is an arrival":
        to_the_same_service_point,
        the_provider_creates_an_endpoint_at_the_new_service_point,
        a_handoff_can_be_repeated;
    "dat_cr_handoff(3DAT); reading: a hand-over that fails changes nothing":
        a_full_dispatcher_leaves_the_request_valid,
        a_reserved_service_point_takes_only_one_request;
    "dat_cr_handoff(3DAT); reading: a hand-over gives the endpoint back":
        an_endpoint_of_the_provider_is_freed,
        an_endpoint_of_the_consumer_becomes_unconnected;
}

/// A node, a public service point on it, and a dispatcher for the requests of another one.
fn two_dispatchers() -> (Node, Psp, Evd) {
    let node = Node::new();
    let from = point(&node, &node.requests);
    let second = node.evd(EvdFlags::CONNECTION_REQUEST);
    (node, from, second)
}

/// Hands a request over to a qualifier, whose requests come to a dispatcher; returns its arrival.
fn hand_over(request: &Cr, qualifier: u64, evd: &Evd) -> CrArrival {
    request.handoff(qualifier).expect("something listens there");
    expect_request(evd)
}

/// A public service point whose requests come to a dispatcher.
fn point(node: &Node, evd: &Evd) -> Psp {
    node.ia.psp_create_any(evd, EpProvision::Consumer).expect("a service point")
}

/// Connects an endpoint and returns it with the request.
fn ask(node: &Node, qualifier: u64) -> (Ep, Cr) {
    let client = node.ep();
    let connect = Connect::to(node.address(), qualifier);
    client.connect(&connect.private_data(b"hand me over")).expect("an attempt");
    (client, expect_request(&node.requests).request)
}

/// Accepts on the endpoint of the request, or else on a new one, checks that the connection carries
/// messages, and returns the endpoint.
fn accept(node: &Node, request: &Cr, client: &Ep) -> Ep {
    let own = request.query().expect("live").local_ep;
    let given = own.is_none().then(|| node.ep());
    request.accept(given.as_ref(), b"").expect("a good endpoint");
    let server = own.or(given).expect("one or the other");
    expect_connections(&node.connect, &[&server, client], ConnectionEventKind::Established);
    exchange(node, client, &server);
    server
}

fn to_a_public_service_point() {
    let (node, from, second) = two_dispatchers();
    let to = point(&node, &second);
    let (client, request) = ask(&node, from.qualifier());
    let before = request.query().expect("live");
    let arrival = hand_over(&request, to.qualifier(), &second);
    assert_eq!(arrival.service_point, ServicePoint::Public(to.id()));
    assert_eq!(arrival.qualifier, to.qualifier());
    assert_eq!(arrival.request.query().expect("live"), before, "the same peer, the same data");
    assert_eq!(before.private_data.get(..12), Some(&b"hand me over"[..]));
    assert_eq!(state(&client), EpState::ActiveConnectionPending, "the peer knows nothing of it");
    expect_no_event(&node.requests);
    accept(&node, &arrival.request, &client);
}

fn to_a_reserved_service_point() {
    let (node, from, second) = two_dispatchers();
    let server = node.ep();
    let rsp = node.ia.rsp_create(7001, Some(&server), &second).expect("a service point");
    let (client, request) = ask(&node, from.qualifier());
    let arrival = hand_over(&request, rsp.qualifier(), &second);
    assert_eq!(arrival.service_point, ServicePoint::Reserved(rsp.id()));
    let local = arrival.request.query().expect("live").local_ep;
    assert_eq!(local.as_ref(), Some(&server));
    assert_eq!(state(&server), EpState::PassiveConnectionPending);
    assert_eq!(accept(&node, &arrival.request, &client), server);
}

fn to_a_common_service_point() {
    let (node, from, second) = two_dispatchers();
    let place = node.socket(20_999);
    let comm = Comm::for_address(place.ip());
    let csp = node.ia.csp_create(comm, place, &second).expect("a service point");
    let (client, request) = ask(&node, from.qualifier());
    let arrival = hand_over(&request, place.port().into(), &second);
    assert_eq!(arrival.service_point, ServicePoint::Common(csp.id()));
    accept(&node, &arrival.request, &client);
}

fn the_old_handle_is_invalid() {
    let (node, from, second) = two_dispatchers();
    let to = point(&node, &second);
    let (client, request) = ask(&node, from.qualifier());
    request.handoff(to.qualifier()).expect("something listens there");
    let server = node.ep();
    for used in [
        request.query().map(|_| ()),
        request.accept(Some(&server), b""),
        request.reject(b""),
        request.handoff(to.qualifier()),
    ] {
        refused(used, Subtype::InvalidHandleCr);
    }
    assert!(!request.is_live());
    drop(request);
    // Dropping it rejects nothing: the request is still valid under another handle.
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    accept(&node, &expect_request(&second).request, &client);
}

fn an_unused_qualifier_is_refused() {
    let node = Node::new();
    let (from, freed) = (point(&node, &node.requests), point(&node, &node.requests));
    freed.free().expect("live");
    let (client, request) = ask(&node, from.qualifier());
    for qualifier in [freed.qualifier(), 7999] {
        refused(request.handoff(qualifier), Subtype::InvalidArg2);
    }
    accept(&node, &request, &client);
}

fn a_qualifier_of_another_adapter_is_refused() {
    let (node, other) = (Node::new(), Node::new());
    let from = point(&node, &node.requests);
    let elsewhere =
        other.ia.psp_create(7002, &other.requests, EpProvision::Consumer).expect("free");
    let (client, request) = ask(&node, from.qualifier());
    refused(request.handoff(elsewhere.qualifier()), Subtype::InvalidArg2);
    expect_no_event(&other.requests);
    accept(&node, &request, &client);
}

fn to_the_same_service_point() {
    let node = Node::new();
    let from = point(&node, &node.requests);
    let (client, request) = ask(&node, from.qualifier());
    let again = hand_over(&request, from.qualifier(), &node.requests);
    assert_eq!(again.service_point, ServicePoint::Public(from.id()));
    assert_ne!(again.request, request);
    accept(&node, &again.request, &client);
}

fn the_provider_creates_an_endpoint_at_the_new_service_point() {
    let (node, from, second) = two_dispatchers();
    let to = provider_point(&node, &second);
    let (_client, request) = ask(&node, from.qualifier());
    assert_eq!(request.query().expect("live").local_ep, None);
    let request = hand_over(&request, to.qualifier(), &second).request;
    let made = request.query().expect("live").local_ep.expect("made by the provider");
    assert_eq!(state(&made), EpState::TentativeConnectionPending);
}

fn a_handoff_can_be_repeated() {
    let node = Node::new();
    let evds = [(); 3].map(|()| node.evd(EvdFlags::CONNECTION_REQUEST));
    let points = [0, 1, 2].map(|at: usize| point(&node, &evds[at]));
    let from = point(&node, &node.requests);
    let (client, mut request) = ask(&node, from.qualifier());
    for (evd, psp) in evds.iter().zip(&points) {
        request = hand_over(&request, psp.qualifier(), evd).request;
    }
    accept(&node, &request, &client);
}

fn a_full_dispatcher_leaves_the_request_valid() {
    const MOST: usize = 64;
    let node = Node::new();
    let small = node.evd_of(1, EvdFlags::CONNECTION_REQUEST);
    let (from, to) = (point(&node, &node.requests), point(&node, &small));
    let mut clients = Vec::new();
    let full = (0..MOST).find_map(|_| {
        let (client, request) = ask(&node, from.qualifier());
        let error = request.handoff(to.qualifier()).err();
        clients.push(client);
        error.map(|error| (error, request))
    });
    let Some((error, request)) = full else {
        skip(format!("a dispatcher for one event holds {MOST}"));
    };
    refused(Err::<(), _>(error), ReturnType::QueueFull);
    let client = clients.pop().expect("the last attempt");
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    assert_eq!(request.query().expect("as before").local_ep, None);
    // Once the queue has space, the hand-over succeeds.
    let first = expect_request(&small).request;
    request.handoff(to.qualifier()).expect("the queue has space now");
    let servers: Vec<Ep> = clients
        .iter()
        .chain([&client])
        .zip(std::iter::once(first).chain((0..).map(|_| expect_request(&small).request)))
        .map(|(client, request)| accept(&node, &request, client))
        .collect();
    assert_eq!(servers.len(), clients.len() + 1);
    expect_no_event(&small);
}

fn a_reserved_service_point_takes_only_one_request() {
    let (node, from, second) = two_dispatchers();
    let rsp = node.ia.rsp_create(7003, Some(&node.ep()), &second).expect("a service point");
    let (first, request) = ask(&node, from.qualifier());
    request.handoff(rsp.qualifier()).expect("something listens there");
    let (client, request) = ask(&node, from.qualifier());
    // Its one request has arrived.
    fails_with(request.handoff(rsp.qualifier()), ReturnType::QueueFull);
    let _other = accept(&node, &request, &client);
    accept(&node, &expect_request(&second).request, &first);
}

/// A service point with endpoints of the provider.
fn provider_point(node: &Node, evd: &Evd) -> Psp {
    match node.ia.psp_create_any(evd, EpProvision::Provider) {
        Err(error) if error.is(ReturnType::ModelNotSupported) => {
            skip("the provider makes no endpoints for requests")
        }
        psp => psp.expect("a service point"),
    }
}

fn an_endpoint_of_the_provider_is_freed() {
    let node = Node::new();
    let second = node.evd(EvdFlags::CONNECTION_REQUEST);
    let from = provider_point(&node, &node.requests);
    let to = point(&node, &second);
    let (client, request) = ask(&node, from.qualifier());
    let made = request.query().expect("live").local_ep.expect("made by the provider");
    request.handoff(to.qualifier()).expect("something listens there");
    refused(made.status(), Subtype::InvalidHandleEp);
    let arrival = expect_request(&second);
    assert_eq!(arrival.request.query().expect("live").local_ep, None);
    accept(&node, &arrival.request, &client);
}

fn an_endpoint_of_the_consumer_becomes_unconnected() {
    let node = Node::new();
    let second = node.evd(EvdFlags::CONNECTION_REQUEST);
    let to = point(&node, &second);
    let server = node.ep();
    let rsp = node.ia.rsp_create(7004, Some(&server), &node.requests).expect("a service point");
    let (client, request) = ask(&node, rsp.qualifier());
    assert_eq!(state(&server), EpState::PassiveConnectionPending);
    request.handoff(to.qualifier()).expect("something listens there");
    assert_eq!(state(&server), EpState::Unconnected);
    // The endpoint can be used again, also for the same request.
    expect_request(&second).request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&server, &client], ConnectionEventKind::Established);
}
