//! The number of receives at an endpoint, and its high watermarks.

use crate::prelude::*;

cases! {
    "dat_ep_recv_query(3DAT)":
        a_receive_counts_until_it_completes,
        a_query_works_in_every_state,
        a_freed_endpoint_is_refused,
        receives_on_a_shared_queue_do_not_count;
    "dat_ep_set_watermark(3DAT)":
        the_soft_watermark_is_reported_when_exceeded,
        the_soft_watermark_is_reported_once_per_setting,
        a_soft_watermark_below_the_count_is_reported_at_once,
        the_soft_watermark_does_not_affect_the_connection,
        the_hard_watermark_breaks_the_connection,
        a_hard_watermark_below_the_count_breaks_at_once,
        the_hard_watermark_takes_effect_with_the_connection,
        an_endpoint_can_be_reset_at_once_after_a_break,
        the_two_watermarks_are_independent,
        without_a_watermark_nothing_happens,
        watermarks_can_be_set_in_every_state,
        a_provider_without_support_refuses_the_call;
    "dat_ep_set_watermark(3DAT); reading: a watermark is one that can be reached":
        a_watermark_above_the_limit_of_endpoints_is_refused;
    "dat_ep_set_watermark(3DAT); reading: the hard watermark has no end but another setting":
        the_hard_watermark_stays_set;
}

fn node() -> Node {
    let node = Node::new();
    node.need(|it| it.srq_watermarks_supported, "watermarks of endpoints");
    node
}

/// A node with an endpoint that is not connected.
fn endpoint() -> (Node, Ep) {
    let node = node();
    let ep = node.ep();
    (node, ep)
}

/// Takes the next asynchronous error, which must be the soft watermark of the endpoint.
#[track_caller]
fn expect_soft(node: &Node, ep: &Ep) {
    let evd = node.ia.async_evd().expect("a dispatcher of the adapter's own");
    expect_async(&evd, AsyncErrorKind::EpSoftHighWatermark, ep.id());
}

#[track_caller]
fn expect_no_soft(node: &Node) {
    expect_no_event(&node.ia.async_evd().expect("a dispatcher of the adapter's own"));
}

/// Takes the final events of a connection; both endpoints must then be disconnected.
#[track_caller]
fn expect_kinds(node: &Node, ep: &Ep, peer: &Ep, expected: &[ConnectionEventKind]) {
    let mut kinds = Vec::new();
    while kinds.len() < expected.len() {
        match expect_event(&node.connect, &[ep, peer]) {
            Event::Connection(event) if event.ep == ep.id() => kinds.push(event.kind),
            Event::Connection(_) => {}
            other => panic!("connection events expected: {other:?}"),
        }
    }
    assert_eq!(kinds, expected, "of {ep:?}");
    for ep in [ep, peer] {
        becomes(ep, EpState::Disconnected);
    }
    for event in drain(&node.connect) {
        assert!(matches!(&event, Event::Connection(event) if event.ep == peer.id()), "{event:?}");
    }
}

/// The end of an endpoint whose connection its hard watermark breaks.
#[track_caller]
fn expect_break(node: &Node, ep: &Ep, peer: &Ep, cookies: std::ops::Range<u64>) {
    expect_kinds(node, ep, peer, &[ConnectionEventKind::Broken]);
    for cookie in cookies {
        expect_completion(&node.recv, &[ep], cookie, DtoStatus::Flushed);
    }
}

fn a_receive_counts_until_it_completes() {
    let (node, client, server) = unconnected_pair();
    let count = |expected: u32| {
        let buffers = server.recv_query().expect("live");
        assert_eq!(buffers.allocated, expected);
        assert!(buffers.span >= buffers.allocated, "{buffers:?}");
    };
    count(0);
    post_receives(&server, 0..3);
    count(3);
    link(&node, &client, &node, &server);
    count(3);
    client.post_send(&[], 9, NONE).expect("connected");
    expect_dto(&node.recv, &[&client, &server]);
    count(2);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_dto(&node.recv, &[&client, &server]);
    expect_dto(&node.recv, &[&client, &server]);
    count(0);
    assert_eq!(client.recv_query().expect("live").allocated, 0);
}

fn a_query_works_in_every_state() {
    in_every_state(|_node, staged, wanted| {
        let buffers = staged.ep.recv_query().expect("live");
        assert_eq!((buffers.allocated, buffers.span), (0, 0), "{wanted}");
    });
}

fn a_freed_endpoint_is_refused() {
    let (_node, ep) = unconnected();
    ep.free().expect("live");
    refused(ep.recv_query(), Subtype::InvalidHandleEp);
    refused(ep.set_watermark(Some(1), None), Subtype::InvalidHandleEp);
}

fn receives_on_a_shared_queue_do_not_count() {
    let node = Node::new();
    let srq = node.srq(4);
    let ep = node.ep_of(&node.spec().srq(&srq));
    let buffer = node.buffer(8);
    srq.post_recv(&[buffer.piece(0, 8)], 1).expect("posted");
    srq.post_recv(&[buffer.piece(0, 8)], 2).expect("posted");
    assert_eq!(ep.recv_query().expect("live").allocated, 0);
}

fn the_soft_watermark_is_reported_when_exceeded() {
    let (node, ep) = endpoint();
    ep.set_watermark(Some(2), None).expect("supported");
    post_receives(&ep, 0..2);
    expect_no_soft(&node);
    post_receives(&ep, 2..3);
    expect_soft(&node, &ep);
}

fn the_soft_watermark_is_reported_once_per_setting() {
    let (node, ep) = endpoint();
    ep.set_watermark(Some(1), None).expect("supported");
    post_receives(&ep, 0..2);
    expect_soft(&node, &ep);
    post_receives(&ep, 2..6);
    expect_no_soft(&node);
    // Setting the watermark again, even to the same value, raises another event.
    ep.set_watermark(Some(6), None).expect("supported");
    expect_no_soft(&node);
    post_receives(&ep, 6..9);
    expect_soft(&node, &ep);
    expect_no_soft(&node);
}

fn a_soft_watermark_below_the_count_is_reported_at_once() {
    let (node, ep) = endpoint();
    post_receives(&ep, 0..4);
    ep.set_watermark(Some(4), None).expect("supported");
    expect_no_soft(&node);
    for _ in 0..2 {
        ep.set_watermark(Some(3), None).expect("supported");
        expect_soft(&node, &ep);
        expect_no_soft(&node);
    }
}

fn the_soft_watermark_does_not_affect_the_connection() {
    let (node, client, server) = node().paired();
    server.set_watermark(Some(0), None).expect("supported");
    post_receives(&server, 0..1);
    expect_soft(&node, &server);
    assert_eq!(state(&server), EpState::Connected);
    client.post_send(&[], 1, NONE).expect("connected");
    expect_completion(&node.recv, &[&client, &server], 0, DtoStatus::Success);
}

fn the_hard_watermark_breaks_the_connection() {
    let (node, client, server) = node().paired();
    server.set_watermark(None, Some(2)).expect("supported");
    post_receives(&server, 0..2);
    assert_eq!(state(&server), EpState::Connected);
    post_receives(&server, 2..3);
    expect_break(&node, &server, &client, 0..3);
    expect_no_soft(&node);
}

fn a_hard_watermark_below_the_count_breaks_at_once() {
    let (node, client, server) = node().paired();
    post_receives(&server, 0..3);
    server.set_watermark(None, Some(3)).expect("supported");
    assert_eq!(state(&server), EpState::Connected);
    server.set_watermark(None, Some(2)).expect("supported");
    expect_break(&node, &server, &client, 0..3);
}

fn the_hard_watermark_takes_effect_with_the_connection() {
    let node = node();
    let (client, server) = (node.ep(), node.ep());
    server.set_watermark(None, Some(1)).expect("supported");
    post_receives(&server, 0..2);
    assert_eq!(state(&server), EpState::Unconnected, "there is nothing to break");
    connection_is_established_and_breaks(&node, &client, &server);
}

/// Connects to an endpoint that already has too many receives.
fn connection_is_established_and_breaks(node: &Node, client: &Ep, server: &Ep) {
    use ConnectionEventKind::{Broken, Established};
    let psp = node.psp();
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
    expect_request(&node.requests).request.accept(Some(server), b"").expect("unconnected");
    expect_kinds(node, server, client, &[Established, Broken]);
}

fn the_hard_watermark_stays_set() {
    let (node, client, server) = node().paired();
    server.set_watermark(None, Some(1)).expect("supported");
    post_receives(&server, 0..2);
    expect_break(&node, &server, &client, 0..2);
    let reset = || {
        client.reset().expect("disconnected");
        server.reset().expect("disconnected");
        drain(&node.connect);
    };
    for _ in 0..2 {
        reset();
        post_receives(&server, 0..2);
        connection_is_established_and_breaks(&node, &client, &server);
    }
    reset();
    server.set_watermark(None, None).expect("supported");
    post_receives(&server, 0..2);
    link(&node, &client, &node, &server);
}

fn an_endpoint_can_be_reset_at_once_after_a_break() {
    let node = node();
    for _ in 0..5 {
        let (client, server) = node.pair();
        server.set_watermark(None, Some(1)).expect("supported");
        post_receives(&server, 0..2);
        // Polls without sleeping, to reset as early as possible.
        while state(&server) != EpState::Disconnected {
            std::hint::spin_loop();
        }
        server.reset().expect("disconnected");
        server.free().expect("unconnected");
        until("the other end gets the event", || state(&client) == EpState::Disconnected);
        client.free().expect("disconnected");
        drain(&node.connect);
        drain(&node.recv);
    }
}

fn the_two_watermarks_are_independent() {
    let (node, client, server) = node().paired();
    server.set_watermark(Some(1), Some(3)).expect("supported");
    post_receives(&server, 0..2);
    expect_soft(&node, &server);
    assert_eq!(state(&server), EpState::Connected);
    post_receives(&server, 2..4);
    expect_break(&node, &server, &client, 0..4);
    expect_no_soft(&node);
}

fn without_a_watermark_nothing_happens() {
    let (node, client, server) = node().paired();
    server.set_watermark(Some(1), Some(1)).expect("supported");
    server.set_watermark(None, None).expect("supported");
    post_receives(&server, 0..8);
    expect_no_soft(&node);
    client.post_send(&[], 1, NONE).expect("connected");
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Success);
    expect_no_event(&node.connect);
}

fn watermarks_can_be_set_in_every_state() {
    drop(node());
    in_every_state(|_node, staged, wanted| {
        staged.ep.set_watermark(Some(5), Some(6)).expect("supported in every state");
        assert_eq!(state(&staged.ep), wanted);
    });
}

fn a_provider_without_support_refuses_the_call() {
    let node = Node::new();
    if node.ia.provider_attributes().srq_watermarks_supported {
        return;
    }
    refused(node.ep().set_watermark(Some(1), None), ReturnType::ModelNotSupported);
}

fn a_watermark_above_the_limit_of_endpoints_is_refused() {
    let (node, client, server) = node().paired();
    let most = node.ia.attributes().max_dto_per_ep;
    let set = server.set_watermark(Some(most + 1), None);
    refused(set, Subtype::InvalidArg2);
    post_receives(&server, 0..2);
    // If one watermark is invalid, neither is set.
    refused(server.set_watermark(Some(1), Some(most + 1)), Subtype::InvalidArg3);
    expect_no_soft(&node);
    server.set_watermark(Some(most), Some(most)).expect("within reach");
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
}
