//! Connections of both kinds that share dispatchers, a dispatcher that is waited on, and a shared
//! receive queue (docs/provider-auto.md).

use std::collections::BTreeSet;

use dat_conformance::{Node, expect_dto, link};
use dat_core::{DtoStatus, Ep, SrqAttributes};
use dat_two_processes::{NONE, each_once};

use crate::common::on;

/// An adapter, and endpoints of two others that are connected with it: one in shared memory, and one
/// over TCP.
struct Mixed {
    node: Node,
    servers: [Ep; 2],
    peers: [(Node, Ep); 2],
}

impl Mixed {
    fn new(node: Node, server: impl Fn(&Node) -> Ep) -> Self {
        let connected = |name: &str| {
            let (peer, server) = (on(name), server(&node));
            let client = peer.ep();
            link(&peer, &client, &node, &server);
            (server, (peer, client))
        };
        let (first, second) = (connected("auto?lo"), connected("tcp-lo"));
        Self { node, servers: [first.0, second.0], peers: [first.1, second.1] }
    }
}

/// Sends a message of 8 bytes and takes its completion.
fn send(peer: &(Node, Ep)) {
    let buffer = peer.0.buffer(8);
    peer.1.post_send(&[buffer.piece(0, 8)], 1, NONE).expect("connected");
    assert_eq!(expect_dto(&peer.0.request, &[&peer.1]).status, DtoStatus::Success);
}

#[test]
fn one_dispatcher_has_the_completions_of_both() {
    let Mixed { node, servers, peers } = Mixed::new(on("auto?lo"), Node::ep);
    let buffer = node.buffer(8);
    for round in 0..50 {
        let cookies: Vec<u64> = (0..4).map(|cookie| round * 10 + cookie).collect();
        for (index, cookie) in cookies.iter().enumerate() {
            servers[index % 2].post_recv(&[buffer.piece(0, 8)], *cookie, NONE).expect("live");
        }
        for index in 0..4 {
            send(&peers[index % 2]);
        }
        let done = each_once(&[&node.recv], &cookies);
        assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
    }
}

#[test]
fn a_waiter_is_woken_by_both() {
    let Mixed { node, servers, peers } = Mixed::new(on("auto?lo"), Node::ep);
    let buffer = node.buffer(8);
    std::thread::scope(|scope| {
        let (wake, woken) = crossbeam_channel::unbounded::<usize>();
        scope.spawn(move || {
            for index in woken {
                // Long enough for the waiter to sleep; the result does not depend on it.
                std::thread::sleep(std::time::Duration::from_millis(5));
                send(&peers[index]);
            }
        });
        for index in [0, 1, 1, 0, 0, 1] {
            servers[index].post_recv(&[buffer.piece(0, 8)], index as u64, NONE).expect("live");
            wake.send(index).expect("the peers run");
            let done = expect_dto(&node.recv, &[&servers[0], &servers[1]]);
            assert_eq!((done.ep, done.status), (servers[index].id(), DtoStatus::Success));
        }
        drop(wake);
    });
}

#[test]
fn both_take_receives_from_one_queue() {
    let node = on("auto?lo");
    let shape = SrqAttributes { max_recv_dtos: 16, max_recv_iov: 1, low_watermark: 0 };
    let srq = node.ia.srq_create(&node.pz, shape).expect("a queue");
    let server = |node: &Node| node.ia.ep_create(&node.spec().srq(&srq)).expect("an endpoint");
    let Mixed { node, servers, peers } = Mixed::new(node, server);
    let buffer = node.buffer(8);
    for cookie in 0..8 {
        srq.post_recv(&[buffer.piece(0, 8)], cookie).expect("live");
    }
    let mut cookies = BTreeSet::new();
    for index in [0, 1, 1, 0, 1, 0, 0, 1] {
        send(&peers[index]);
        let done = expect_dto(&node.recv, &[&servers[0], &servers[1]]);
        assert_eq!((done.ep, done.status), (servers[index].id(), DtoStatus::Success));
        cookies.insert(done.cookie);
    }
    assert_eq!(cookies, (0..8).collect());
}
