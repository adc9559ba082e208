//! Endpoints that are freed or reset.

use crate::prelude::*;

pub(super) fn freeing_an_endpoint_ends_its_connection_for_the_peer() {
    for dropped in [false, true] {
        let [(near, client), (far, server)] = linked_nodes();
        server.post_recv(&[], 1, NONE).expect("connected");
        server.post_send(&[], 2, NONE).expect("connected");
        if dropped {
            drop(client);
        } else {
            client.free().expect("connected");
        }
        expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
        assert_eq!(flushed(&far.recv, &server), [1]);
        assert_eq!(flushed(&far.request, &server), [2]);
        expect_no_event(&near.connect);
        near.finish();
    }
}

pub(super) fn freeing_a_connecting_endpoint_abandons_the_attempt() {
    let (node, psp) = with_psp();
    let (client, request) = node.asking(psp.qualifier());
    client.free().expect("pending");
    let server = node.ep();
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
    expect_no_event(&node.connect);
}

pub(super) fn an_endpoint_can_be_freed_unless_a_service_point_or_request_holds_it() {
    in_every_state(|_node, staged, wanted| {
        let freed = staged.ep.free();
        let bound = matches!(
            wanted,
            EpState::Reserved
                | EpState::UnconfiguredReserved
                | EpState::PassiveConnectionPending
                | EpState::UnconfiguredPassive
                | EpState::TentativeConnectionPending
        );
        if bound {
            refused(freed, wanted.invalid_state());
            assert_eq!(state(&staged.ep), wanted);
        } else {
            freed.unwrap_or_else(|error| panic!("in {wanted}: {error}"));
            assert!(!staged.ep.is_live());
        }
    });
}

pub(super) fn only_unconnected_and_disconnected_endpoints_can_be_reset() {
    in_every_state(|_node, staged, wanted| {
        let before = staged.ep.query().expect("live");
        let reset = staged.ep.reset();
        match wanted {
            EpState::Disconnected => {
                reset.expect("disconnected");
                let after = staged.ep.query().expect("live");
                assert_eq!(after.state, EpState::Unconnected);
                assert_eq!((after.remote_address, after.remote_port), (None, None));
                assert_eq!(after.attributes, before.attributes);
                assert_eq!((&after.pz, &after.recv_evd), (&before.pz, &before.recv_evd));
                assert_eq!(after.request_evd, before.request_evd);
                assert_eq!(after.connect_evd, before.connect_evd);
            }
            EpState::Unconnected | EpState::UnconfiguredUnconnected => {
                reset.expect("no operation");
                assert_eq!(staged.ep.query().expect("live"), before);
            }
            _ => {
                refused(reset, wanted.invalid_state());
                assert_eq!(staged.ep.query().expect("live"), before);
            }
        }
    });
}

pub(super) fn a_reset_endpoint_can_connect_again() {
    let (node, first, second) = unconnected_pair();
    let memory = node.buffer(16);
    for round in 0..5_u8 {
        // The sides take turns as the active side.
        let (client, server) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        server.post_recv(&[memory.piece(8, 8)], u64::from(round), NONE).expect("unconnected");
        link(&node, client, &node, server);
        memory.fill(0, &[round + 1; 8]);
        client.post_send(&[memory.piece(0, 8)], 50, NONE).expect("connected");
        let received = expect_dto(&node.recv, &[client, server]);
        assert_eq!((received.ep, received.cookie), (server.id(), u64::from(round)));
        assert_eq!(memory.bytes(8, 8), [round + 1; 8]);
        assert_eq!(expect_dto(&node.request, &[client, server]).cookie, 50);
        client.disconnect(Close::Graceful).expect("connected");
        expect_connections(&node.connect, &[client, server], ConnectionEventKind::Disconnected);
        for ep in [client, server] {
            ep.reset().expect("disconnected");
        }
    }
    expect_no_events(&[&node.recv, &node.request, &node.connect]);
}

pub(super) fn a_reset_keeps_queued_events() {
    let (node, client, server) = linked_pair();
    post_receives(&client, 0..5);
    post_sends(&client, 0..5);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    client.reset().expect("disconnected");
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2, 3, 4]);
    assert_eq!(flushed(&node.request, &client), [0, 1, 2, 3, 4]);
    client.post_recv(&[], 9, NONE).expect("unconnected");
    assert!(!client.status().expect("live").recv_idle, "and receives wait again");
}

pub(super) fn a_marker_posted_after_a_disconnect_is_flushed_last() {
    let (node, client, _server) = linked_pair();
    post_receives(&client, 0..5);
    post_sends(&client, 0..5);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
    client.post_recv(&[], 99, NONE).expect("disconnected");
    client.post_send(&[], 99, NONE).expect("disconnected");
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2, 3, 4, 99]);
    assert_eq!(flushed(&node.request, &client), [0, 1, 2, 3, 4, 99]);
}

pub(super) fn late_events_of_a_connection_are_ignored_after_the_reset() {
    for _ in 0..rounds(50) {
        let (node, client, server) = linked_pair();
        let closer = Background::with(&server, move |server| server.disconnect(Close::Abrupt));
        client.disconnect(Close::Abrupt).expect("connected or over");
        until("the end", || state(&client) == EpState::Disconnected);
        client.reset().expect("disconnected");
        let psp = node.psp();
        client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
        closer.join().expect("connected or over");
        assert_eq!(state(&client), EpState::ActiveConnectionPending);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
        expect_no_event(&node.connect);
    }
}
