//! The first failed operation that an endpoint records.

use crate::prelude::*;

cases! {
    "reading: an endpoint keeps the first failure": the_first_unflushed_failure_is_recorded,
        a_failed_receive_is_recorded_at_its_endpoint, a_flush_is_not_a_failure,
        a_reset_clears_the_failure, a_freed_endpoint_is_refused;
}

/// Returns the recorded failure, which must exist.
fn failure(ep: &Ep) -> Failure {
    match ep.failure().expect("live") {
        Some(failure) => failure,
        None => skip("the provider keeps no account of failures"),
    }
}

#[track_caller]
fn is_that_of(failure: &Failure, done: &DtoCompletion) {
    assert_eq!(failure.operation, done.operation);
    assert_eq!((failure.cookie, failure.status), (done.cookie, done.status));
    let words = failure.to_string();
    assert!(words.contains(failure.status.advice()), "{words}");
    assert!(words.contains(&failure.cause), "{words}");
}

/// Breaks a connection by an RDMA write that the peer refuses.
fn break_by(node: &Node, near: &Buffer, client: &Ep, server: &Ep) -> DtoCompletion {
    let nowhere = RmrTriplet { context: 0xdead_beef, ..node.buffer(8).remote(0, 8) };
    client.post_rdma_write(&[near.piece(0, 8)], 7, nowhere, NONE).expect("only the peer sees it");
    let done = expect_completion(&node.request, &[client, server], 7, DtoStatus::RemoteAccess);
    expect_connections(&node.connect, &[client, server], ConnectionEventKind::Broken);
    done
}

fn the_first_unflushed_failure_is_recorded() {
    let (node, client, server) = linked_pair();
    let near = node.buffer(8);
    client.post_recv(&[], 5, NONE).expect("connected");
    assert_eq!(client.failure(), Ok(None), "nothing has failed");
    let done = break_by(&node, &near, &client, &server);
    assert_eq!(expect_dto(&node.recv, &[&client]).status, DtoStatus::Flushed);
    client.post_send(&[near.piece(0, 8)], 9, NONE).expect("it is flushed");
    assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Flushed);
    is_that_of(&failure(&client), &done);
}

fn a_failed_receive_is_recorded_at_its_endpoint() {
    let (node, client, server) = linked_pair();
    let (from, to) = (node.buffer(16), node.buffer(16));
    server.post_recv(&[to.piece(0, 4)], 3, NONE).expect("connected");
    client.post_send(&[from.piece(0, 8)], 4, NONE).expect("connected");
    let received = expect_dto(&node.recv, &[&server]);
    let sent = expect_dto(&node.request, &[&client]);
    assert_eq!((received.cookie, sent.cookie), (3, 4));
    assert_ne!(received.status, DtoStatus::Success);
    assert_ne!(sent.status, DtoStatus::Success);
    is_that_of(&failure(&server), &received);
    is_that_of(&failure(&client), &sent);
}

fn a_flush_is_not_a_failure() {
    let (node, client, server) = linked_pair();
    post_receives(&client, [1]);
    post_receives(&server, [2]);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    for _ in 0..2 {
        assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Flushed);
    }
    for ep in [&client, &server] {
        assert_eq!(ep.failure(), Ok(None));
    }
}

fn a_reset_clears_the_failure() {
    let (node, client, server) = linked_pair();
    let near = node.buffer(8);
    let done = break_by(&node, &near, &client, &server);
    is_that_of(&failure(&client), &done);
    for ep in [&client, &server] {
        until("it is disconnected", || state(ep) == EpState::Disconnected);
        ep.reset().expect("disconnected");
        assert_eq!(ep.failure(), Ok(None));
    }
    link(&node, &client, &node, &server);
    post_message((&client, 2), (&server, 1));
    for evd in [&node.recv, &node.request] {
        assert_eq!(expect_dto(evd, &[&client, &server]).status, DtoStatus::Success);
    }
    assert_eq!(client.failure(), Ok(None), "the new connection has none");
    let done = break_by(&node, &near, &client, &server);
    is_that_of(&failure(&client), &done);
}

fn a_freed_endpoint_is_refused() {
    let (node, client, server) = linked_pair();
    break_by(&node, &node.buffer(8), &client, &server);
    client.free().expect("disconnected");
    fails_with(client.failure(), ReturnType::InvalidHandle);
}
