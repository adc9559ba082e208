//! A peer without credits is notified of each new receive, by a reply or without one.

use dat_conformance::{drain, link, until};
use dat_two_processes::NONE;

use crate::common::node;

const SIZE: usize = 64;

/// A server with one receive ahead posts it again before it replies, so that its replies carry the
/// credit. After the last message it posts its receive, does not reply, and makes no more calls.
#[test]
fn a_server_that_stops_replying_leaves_no_sender_without_credits() {
    let (near, far) = (node(""), node(""));
    let (client, server) = (near.ep(), far.ep());
    let (own, theirs) = (near.buffer(2 * SIZE), far.buffer(2 * SIZE));
    server.post_recv(&[theirs.piece(0, SIZE)], 0, NONE).expect("live");
    link(&near, &client, &far, &server);
    let send = |cookie| client.post_send(&[own.piece(0, SIZE)], cookie, NONE).expect("connected");
    let take = |what, evd| until(what, || !drain(evd).is_empty());
    for round in 0..300 {
        client.post_recv(&[own.piece(SIZE, SIZE)], round, NONE).expect("connected");
        send(round);
        take("the message arrives", &far.recv);
        server.post_recv(&[theirs.piece(0, SIZE)], round, NONE).expect("connected");
        server.post_send(&[theirs.piece(SIZE, SIZE)], round, NONE).expect("connected");
        take("the reply arrives", &near.recv);
        take("the reply is acknowledged", &far.request);
        take("the message is acknowledged", &near.request);
    }
    send(300);
    take("the message arrives", &far.recv);
    server.post_recv(&[theirs.piece(0, SIZE)], 300, NONE).expect("connected");
    take("the message is acknowledged", &near.request);
    // The server makes no call from here on.
    send(301);
    take("the message is executed without a call of the server", &near.request);
    take("the message has arrived", &far.recv);
    for ep in [&client, &server] {
        ep.disconnect(dat_core::Close::Abrupt).ok();
        ep.free().expect("live");
    }
}
