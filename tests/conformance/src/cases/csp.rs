//! Common service points, and connecting to them (DAT 2.0).

use crate::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};

cases! {
    "DAT 2.0, dat_csp_create": only_reliable_connections_over_ip_are_supported,
        an_address_of_another_adapter_is_refused, the_unspecified_address_listens,
        an_address_that_is_mapped_to_ipv6_is_the_ipv4_address,
        a_port_has_one_listener, its_dispatcher_takes_connection_requests,
        its_dispatcher_is_in_use_until_it_is_freed;
    "DAT 2.0, dat_csp_query": a_query_returns_the_creation_parameters;
    "DAT 2.0, dat_csp_free": a_freed_service_point_receives_no_requests,
        requests_that_arrived_before_a_free_stay_valid,
        a_graceful_close_is_refused_while_it_is_live;
    "DAT 2.0, dat_ep_common_connect": a_client_connects_and_exchanges_messages,
        a_reject_reaches_the_client,
        arguments_are_checked_at_the_call, only_an_unconnected_endpoint_connects,
        an_address_without_a_host_is_unreachable;
}

/// A port that no other case uses, above the well-known ports.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The address of the node with an unused port.
fn place(node: &Node) -> SocketAddr {
    SocketAddr::new(node.ip(), port())
}

/// A service point that listens at an address.
fn listen(node: &Node, place: SocketAddr) -> Csp {
    let comm = Comm::for_address(place.ip());
    node.ia.csp_create(comm, place, &node.requests).expect("nothing listens there")
}

/// A node with a service point, and the address at which it listens.
fn listening() -> (Node, SocketAddr, Csp) {
    let node = Node::new();
    let place = place(&node);
    let csp = listen(&node, place);
    (node, place, csp)
}

/// An endpoint that connects to an address.
fn ask(node: &Node, place: SocketAddr) -> Ep {
    let client = node.ep();
    client.common_connect(place, Timeout::Infinite, b"").expect("an attempt to connect");
    client
}

fn only_reliable_connections_over_ip_are_supported() {
    let node = Node::new();
    let place = place(&node);
    let own = Comm::for_address(place.ip());
    let other = if own == Comm::INET { Comm::INET6 } else { Comm::INET };
    for comm in [
        Comm { domain: 1, ..own },
        Comm { kind: 2, ..own },
        Comm { protocol: 17, ..own },
        Comm { domain: other.domain, ..own },
    ] {
        refused(node.ia.csp_create(comm, place, &node.requests), ReturnType::CommNotSupported);
    }
    let tcp = Comm { protocol: 6, ..own };
    let csp = node.ia.csp_create(tcp, place, &node.requests).expect("the same service by name");
    assert_eq!(csp.query().expect("live").comm, tcp);
    node.finish_with(&[&csp]);
}

fn an_address_of_another_adapter_is_refused() {
    let node = Node::new();
    // Addresses reserved for documentation: no adapter has one.
    let foreign: IpAddr = match node.ip() {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let place = SocketAddr::new(foreign, port());
    let made = node.ia.csp_create(Comm::for_address(foreign), place, &node.requests);
    refused(made, Subtype::InvalidAddressUnreachable);
    node.finish();
}

fn the_unspecified_address_listens() {
    let node = Node::new();
    let unspecified: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    for any in unspecified {
        let port = port();
        let csp = listen(&node, SocketAddr::new(any, port));
        // As the address of a peer, it is that of the adapter.
        for to in [node.ip(), unspecified[0], unspecified[1]] {
            rejects(&node, &csp, SocketAddr::new(to, port));
        }
        csp.free().expect("live");
    }
    node.finish();
}

/// Connects to an address, where a service point gets the request and rejects it.
fn rejects(node: &Node, csp: &Csp, place: SocketAddr) {
    let client = ask(node, place);
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.service_point, ServicePoint::Common(csp.id()), "{place}");
    arrival.request.reject(b"").expect("it waits for an answer");
    expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    client.free().expect("disconnected");
}

fn an_address_that_is_mapped_to_ipv6_is_the_ipv4_address() {
    let node = Node::new();
    let IpAddr::V4(v4) = node.ip() else { skip("the adapter has an IPv6 address") };
    let mapped = SocketAddr::new(v4.to_ipv6_mapped().into(), port());
    refused(node.ia.csp_create(Comm::INET, mapped, &node.requests), ReturnType::CommNotSupported);
    let csp = node.ia.csp_create(Comm::INET6, mapped, &node.requests).expect("an own address");
    assert_eq!(csp.query().expect("live").address, mapped);
    for to in [mapped, SocketAddr::new(v4.into(), mapped.port())] {
        rejects(&node, &csp, to);
    }
    node.finish_with(&[&csp]);
}

fn a_port_has_one_listener() {
    let (node, place, csp) = listening();
    let comm = Comm::for_address(place.ip());
    refused(node.ia.csp_create(comm, place, &node.requests), ReturnType::PortInUse);
    // Its port is a connection qualifier, in the same number space as those of other service points.
    let qualifier = u64::from(place.port());
    let psp = node.ia.psp_create(qualifier, &node.requests, EpProvision::Consumer);
    refused(psp, ReturnType::ConnQualInUse);
    csp.free().expect("live");
    let psp = node.ia.psp_create(qualifier, &node.requests, EpProvision::Consumer);
    let psp = psp.expect("free again");
    refused(node.ia.csp_create(comm, place, &node.requests), ReturnType::PortInUse);
    node.finish_with(&[&psp]);
}

fn its_dispatcher_takes_connection_requests() {
    let node = Node::new();
    let place = place(&node);
    let comm = Comm::for_address(place.ip());
    refused(node.ia.csp_create(comm, place, &node.connect), Subtype::InvalidHandleEvdCr);
    let freed = node.freed_evd(EvdFlags::CONNECTION_REQUEST);
    refused(node.ia.csp_create(comm, place, &freed), Subtype::InvalidHandleEvdCr);
    // Neither of them listens now.
    listen(&node, place).free().expect("live");
    node.finish();
}

fn its_dispatcher_is_in_use_until_it_is_freed() {
    let (node, _place, csp) = listening();
    refused(node.requests.free(), Subtype::InvalidStateEvdInUse);
    free_all(&[&csp, &node.requests]);
    node.finish();
}

fn a_query_returns_the_creation_parameters() {
    let (node, place, csp) = listening();
    let param = csp.query().expect("live");
    assert_eq!(param.comm, Comm::for_address(place.ip()));
    assert_eq!((param.address, &param.evd), (place, &node.requests));
    csp.free().expect("live");
    refused(csp.query(), Subtype::InvalidHandleCsp);
    refused(csp.free(), Subtype::InvalidHandleCsp);
    node.finish();
}

fn a_freed_service_point_receives_no_requests() {
    let node = Node::new();
    let place = place(&node);
    listen(&node, place).free().expect("live");
    let client = ask(&node, place);
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    assert_eq!(state(&client), EpState::Disconnected);
    expect_no_event(&node.requests);
    node.finish_with(&[&client]);
}

fn requests_that_arrived_before_a_free_stay_valid() {
    let (node, place, csp) = listening();
    let client = ask(&node, place);
    let arrival = expect_request(&node.requests);
    csp.free().expect("live");
    let server = node.ep();
    arrival.request.accept(Some(&server), b"").expect("still valid");
    expect_connections(&node.connect, &[&server, &client], ConnectionEventKind::Established);
    exchange(&node, &client, &server);
}

fn a_graceful_close_is_refused_while_it_is_live() {
    let (node, _place, csp) = listening();
    fails_with(node.ia.close(Close::Graceful), ReturnType::InvalidState);
    csp.query().expect("nothing has changed");
    node.finish_with(&[&csp]);
}

fn a_client_connects_and_exchanges_messages() {
    let (node, place, csp) = listening();
    let client = node.ep();
    client.common_connect(place, Timeout::Infinite, b"hello there").expect("an attempt");
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.service_point, ServicePoint::Common(csp.id()));
    assert_eq!(arrival.qualifier, u64::from(place.port()));
    let request = arrival.request.query().expect("live");
    assert_eq!(request.remote_address, node.address());
    assert_eq!(request.private_data.get(..11), Some(&b"hello there"[..]));
    assert_eq!(request.local_ep, None, "the consumer makes the endpoint");
    let server = node.ep();
    arrival.request.accept(Some(&server), b"and back").expect("an unconnected endpoint");
    expect_connection(&node.connect, &server, ConnectionEventKind::Established);
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    assert_eq!(event.private_data.get(..8), Some(&b"and back"[..]));
    assert_eq!(client.query().expect("live").remote_address, Some(node.address()));
    exchange(&node, &client, &server);
    exchange(&node, &server, &client);
    // The service point takes more than one request.
    let another = ask(&node, place);
    assert_eq!(expect_request(&node.requests).service_point, ServicePoint::Common(csp.id()));
    drop(another);
}

fn a_reject_reaches_the_client() {
    let (node, place, _csp) = listening();
    let client = ask(&node, place);
    expect_request(&node.requests).request.reject(b"rejected").expect("live");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    assert_eq!(event.private_data.get(..8), Some(&b"rejected"[..]));
    assert_eq!(state(&client), EpState::Disconnected);
}

fn arguments_are_checked_at_the_call() {
    let (node, place, _csp) = listening();
    let client = node.ep();
    fails_with(client.common_connect(place, Timeout::ZERO, b""), ReturnType::InvalidParameter);
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    let long = vec![0; most + 1];
    let result = client.common_connect(place, Timeout::Infinite, &long);
    fails_with(result, ReturnType::InvalidParameter);
    assert_eq!(state(&client), EpState::Unconnected);
    expect_no_event(&node.requests);
}

fn only_an_unconnected_endpoint_connects() {
    let (node, place, _csp) = listening();
    let client = ask(&node, place);
    let again = client.common_connect(place, Timeout::Infinite, b"");
    refused(again, Subtype::InvalidStateEpActconnpending);
    client.free().expect("an attempt may be abandoned");
    refused(client.common_connect(place, Timeout::Infinite, b""), Subtype::InvalidHandleEp);
}

/// An IP address that no adapter of this process has.
fn unused_ip() -> IpAddr {
    fresh_address().ip().unwrap_or_else(|| skip("the adapter has no IP address"))
}

fn an_address_without_a_host_is_unreachable() {
    if !takes_parameters() {
        skip("which addresses have no host is known of an adapter inside the process only");
    }
    let node = Node::new();
    let client = ask(&node, SocketAddr::new(unused_ip(), port()));
    expect_connection(&node.connect, &client, ConnectionEventKind::Unreachable);
    assert_eq!(state(&client), EpState::Disconnected);
}
