//! Connections that a thread has for itself, with the messages on them.

use std::time::Instant;

use fastrand::Rng;

use super::threads::{ENOUGH, THREADS, in_threads};
use crate::prelude::*;

/// Every thread has its own adapters, connections and memory, and knows which events must arrive.
pub(super) fn own_endpoints() {
    in_threads(THREADS, |number| {
        let mut random = Rng::with_seed(number);
        let (here, there) = (Node::new(), Node::new());
        let (near, far) = (here.buffer(256), there.buffer(256));
        let (client, server) = (here.ep(), there.ep());
        let start = Instant::now();
        for round in 0..200 {
            if start.elapsed() > ENOUGH {
                break;
            }
            link(&here, &client, &there, &server);
            exchange(&mut random, (&here, &client, &near), (&there, &server, &far));
            let extra = 1 + random.u32(..5);
            for cookie in 0..extra {
                server.post_recv(&[far.piece(0, 8)], cookie.into(), NONE).expect("any state");
            }
            part(&mut random, &client, &server);
            for (node, ep) in [(&here, &client), (&there, &server)] {
                expect_connection(&node.connect, ep, ConnectionEventKind::Disconnected);
            }
            for cookie in 0..extra {
                expect_completion(&there.recv, &[&server], cookie.into(), DtoStatus::Flushed);
            }
            for (node, ep) in [(&here, &client), (&there, &server)] {
                expect_no_events(&[&node.recv, &node.request, &node.connect, &node.requests]);
                ep.reset().unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
        }
        here.finish_with(&[&client, &server, &near, &far]);
        there.finish();
    });
}

/// A side of a connection, with its memory.
type Side<'a> = (&'a Node, &'a Ep, &'a Buffer);

/// Sends messages from one side to the other, and checks their data and order.
fn exchange(random: &mut Rng, (here, client, near): Side<'_>, (there, server, far): Side<'_>) {
    for cookie in 0..u64::from(random.u32(..12)) {
        let len = random.usize(..64);
        let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
        near.fill(0, &bytes);
        match random.u32(..3) {
            0 => {
                let receive_first = random.u32(..2) == 0;
                let receive = || server.post_recv(&[far.piece(64, 64)], cookie, NONE);
                if receive_first {
                    receive().expect("connected");
                }
                client.post_send(&[near.piece(0, len)], cookie, NONE).expect("connected");
                if !receive_first {
                    receive().expect("connected");
                }
                let done = expect_dto(&there.recv, &[server]);
                assert_eq!((done.cookie, done.length), (cookie, len as u64));
            }
            1 => {
                let remote = far.remote(64, 64);
                client.post_rdma_write(&[near.piece(0, len)], cookie, remote, NONE).expect("up");
            }
            _ => {
                far.fill(64, &bytes);
                let local = [near.piece(128, len)];
                client.post_rdma_read(&local, cookie, far.remote(64, len), NONE).expect("up");
            }
        }
        let done = expect_completion(&here.request, &[client], cookie, DtoStatus::Success);
        let (memory, at) = match done.operation {
            Operation::RdmaRead => (near, 128),
            _ => (far, 64),
        };
        assert_eq!(memory.bytes(at, len), bytes);
    }
}

/// Ends a connection: from one side, or from both at once.
fn part(random: &mut Rng, client: &Ep, server: &Ep) {
    let how = |graceful| if graceful { Close::Graceful } else { Close::Abrupt };
    let (one, other) = (how(random.u32(..2) == 0), how(random.u32(..2) == 0));
    match random.u32(..3) {
        0 => client.disconnect(one).expect("connected"),
        1 => server.disconnect(one).expect("connected"),
        _ => {
            let far = server.clone();
            // The other side may have ended the connection; then the call has no effect.
            let at_once = Background::run(move || far.disconnect(other));
            client.disconnect(one).expect("connected, or disconnected by the other side");
            at_once.join().expect("connected, or disconnected by the other side");
        }
    }
}
