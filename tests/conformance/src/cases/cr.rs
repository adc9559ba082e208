//! Connection requests.

use crate::prelude::*;
use std::sync::Arc;

cases! {
    "dat_cr_query(3DAT)":
        a_query_returns_the_peer_and_its_private_data;
    "dat_cr_accept(3DAT), dat_cr_reject(3DAT), dat_ep_connect(3DAT)":
        too_much_private_data_is_refused_and_changes_nothing;
    "dat_cr_accept(3DAT), dat_cr_reject(3DAT)":
        a_request_is_answered_once;
    "dat_cr_accept(3DAT)":
        of_two_threads_that_accept_at_once_one_succeeds,
        an_accept_needs_an_unconnected_endpoint,
        an_accept_with_a_missing_freed_or_foreign_endpoint_is_refused,
        an_accept_of_an_abandoned_attempt_ends_in_an_error_event,
        an_endpoint_without_dispatchers_can_accept;
    "dat_evd_wait(3DAT)":
        the_established_event_of_the_passive_side_has_no_private_data;
    "dat_cr_reject(3DAT)":
        a_reject_carries_private_data;
    "reading: dropping the last handle frees an object":
        dropping_all_handles_rejects_the_request;
    "dat_evd_free(3DAT)":
        freeing_the_dispatcher_rejects_its_queued_requests;
}

/// Creates a service point and an endpoint that connects to it, and returns both with the request.
#[track_caller]
fn asked(node: &Node, private_data: &[u8]) -> (Psp, Ep, Cr) {
    let psp = node.psp();
    let client = node.ep();
    let connect = Connect::to(node.address(), psp.qualifier()).private_data(private_data);
    client.connect(&connect).expect("unconnected");
    (psp, client, expect_request(&node.requests).request)
}

fn a_query_returns_the_peer_and_its_private_data() {
    let node = Node::new();
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    for length in [0, 1, most / 2, most] {
        let data: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let (_psp, client, request) = asked(&node, &data);
        let param = request.query().expect("live");
        arrived(&param.private_data, &data);
        assert_eq!(param.remote_address, node.address());
        assert_eq!(param.local_ep, None);
        let server = node.ep();
        request.accept(Some(&server), b"").expect("unconnected");
        becomes(&client, EpState::Connected);
        let found = client.query().expect("live");
        assert_eq!(found.local_port, param.remote_port, "the port that was passed to the peer");
        assert_eq!(server.query().expect("live").remote_port, Some(param.remote_port));
    }
}

fn too_much_private_data_is_refused_and_changes_nothing() {
    let node = Node::with("max_private_data_size=8");
    let (psp, client, request) = asked(&node, b"eight...");
    let server = node.ep();
    let nine = [0; 9];
    refused(request.accept(Some(&server), &nine), Subtype::InvalidArg3);
    refused(request.reject(&nine), Subtype::InvalidArg2);
    let next = node.ep();
    let connect = Connect::to(node.address(), psp.qualifier()).private_data(&nine);
    refused(next.connect(&connect), Subtype::InvalidArg5);
    assert_eq!(state(&next), EpState::Unconnected);
    assert!(request.is_live());
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    assert_eq!(state(&server), EpState::Unconnected);
    request.accept(Some(&server), &nine[..8]).expect("unconnected");
    expect_connection(&node.connect, &server, ConnectionEventKind::Established);
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, &nine[..8]);
}

fn a_request_is_answered_once() {
    for accepted in [true, false] {
        let node = Node::new();
        let (_psp, _client, request) = asked(&node, b"");
        let (server, other) = (node.ep(), node.ep());
        let clone = request.clone();
        if accepted {
            request.accept(Some(&server), b"").expect("unconnected");
        } else {
            request.reject(b"").expect("live");
        }
        assert!(!clone.is_live());
        let long = [0; 1 << 12];
        for data in [&b""[..], &long] {
            refused(clone.accept(Some(&other), data), Subtype::InvalidHandleCr);
            refused(clone.accept(None, data), Subtype::InvalidHandleCr);
            refused(clone.reject(data), Subtype::InvalidHandleCr);
        }
        refused(clone.query(), Subtype::InvalidHandleCr);
        assert_eq!(state(&other), EpState::Unconnected);
    }
}

fn of_two_threads_that_accept_at_once_one_succeeds() {
    for _ in 0..rounds(100) {
        let node = Node::new();
        let (_psp, client, request) = asked(&node, b"");
        let threads = [0, 1].map(|_| {
            let (request, server) = (request.clone(), node.ep());
            Background::run(move || (request.accept(Some(&server), b"").is_ok(), server))
        });
        let answers = threads.map(Background::join);
        assert_eq!(answers.iter().filter(|(accepted, _)| *accepted).count(), 1);
        for (accepted, server) in &answers {
            let wanted = if *accepted { EpState::Connected } else { EpState::Unconnected };
            becomes(server, wanted);
        }
        becomes(&client, EpState::Connected);
    }
}

fn an_accept_needs_an_unconnected_endpoint() {
    in_every_state(|node, staged, wanted| {
        if wanted == EpState::Unconnected {
            return;
        }
        let (_psp, client, request) = asked(&node, b"");
        let before = staged.ep.query().expect("live");
        refused(request.accept(Some(&staged.ep), b""), wanted.invalid_state());
        assert_eq!(staged.ep.query().expect("live"), before);
        assert!(request.is_live(), "in {wanted}");
        assert_eq!(state(&client), EpState::ActiveConnectionPending);
        let server = node.ep();
        request.accept(Some(&server), b"").expect("unconnected");
        becomes(&server, EpState::Connected);
    });
}

fn an_accept_with_a_missing_freed_or_foreign_endpoint_is_refused() {
    let (node, other) = (Node::new(), Node::new());
    let (psp, client, request) = asked(&node, b"");
    refused(request.accept(None, b""), Subtype::InvalidHandleEp);
    let freed = node.ep();
    freed.free().expect("unconnected");
    refused(request.accept(Some(&freed), b""), Subtype::InvalidHandleEp);
    let foreign = other.ep();
    refused(request.accept(Some(&foreign), b""), Subtype::InvalidHandleEp);
    assert_eq!(state(&foreign), EpState::Unconnected);
    assert!(request.is_live());
    request.reject(b"").expect("live");
    expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    node.finish_with(&[&psp, &client, &foreign]);
    other.finish();
}

fn a_reject_carries_private_data() {
    let node = Node::new();
    let (_psp, client, request) = asked(&node, b"please");
    request.reject(b"no").expect("live");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    arrived(&event.private_data, b"no");
    assert_eq!(state(&client), EpState::Disconnected);
}

fn dropping_all_handles_rejects_the_request() {
    let node = Node::new();
    let (psp, client, request) = asked(&node, b"");
    let clone = request.clone();
    drop(request);
    assert!(clone.is_live());
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    drop(clone);
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    node.finish_with(&[&psp, &client]);
}

fn freeing_the_dispatcher_rejects_its_queued_requests() {
    let (node, psp) = with_psp();
    let client = node.connecting(psp.qualifier());
    psp.free().expect("live");
    node.requests.free().expect("unused");
    expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    node.finish_with(&[&client]);
}

fn the_established_event_of_the_passive_side_has_no_private_data() {
    let node = Node::new();
    let (_psp, client, request) = asked(&node, b"asked");
    let server = node.ep();
    request.accept(Some(&server), b"accepted").expect("unconnected");
    let event = expect_connection(&node.connect, &server, ConnectionEventKind::Established);
    assert_eq!(*event.private_data, *b"");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, b"accepted");
    let kept: Arc<[u8]> = event.private_data;
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
    client.reset().expect("disconnected");
    // Delivered private data belong to the consumer.
    arrived(&kept, b"accepted");
}

fn an_accept_of_an_abandoned_attempt_ends_in_an_error_event() {
    for frees in [false, true] {
        let node = Node::new();
        let (_psp, client, request) = asked(&node, b"");
        let server = node.ep();
        post_receives(&server, 0..3);
        if frees { client.free() } else { client.disconnect(Close::Abrupt) }.expect("pending");
        drain(&node.connect);
        request.accept(Some(&server), b"").expect("only the transport can see it");
        expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
        assert_eq!(state(&server), EpState::Disconnected);
        assert!(!request.is_live());
        assert_eq!(flushed(&node.recv, &server), [0, 1, 2]);
        server.reset().expect("disconnected");
        server.free().expect("unconnected");
    }
}

fn an_endpoint_without_dispatchers_can_accept() {
    let node = Node::new();
    let (_psp, client, request) = asked(&node, b"");
    let server = node.ep_of(&EpSpec::new(&node.pz));
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&client], ConnectionEventKind::Established);
    becomes(&server, EpState::Connected);
}
