//! Receives that several connections share.

use std::collections::HashMap;

use super::threads::THREADS;
use crate::cases::srq::counts;
use crate::prelude::*;

/// Several threads send on separate connections into the buffers of one shared receive queue.
pub(super) fn a_shared_receive_queue() {
    const EACH: u64 = 1_500;
    const DEPTH: u32 = 32;
    let node = Node::new();
    let srq = node.srq(DEPTH);
    let (buffer, source) = (node.buffer(DEPTH as usize * 8), node.buffer(THREADS as usize * 8));
    let place = |slot: u64| buffer.piece(slot as usize * 8, 8);
    for slot in 0..DEPTH.into() {
        srq.post_recv(&[place(slot)], slot).expect("within the queue");
    }
    let pairs: Vec<_> = (0..THREADS)
        .map(|_| {
            let client = node.ep();
            let requests = node.evd(EvdFlags::COMPLETIONS);
            client.modify(&EpUpdate::new().request_evd(Some(&requests))).expect("unconnected");
            let server = node.ep_of(&node.spec().srq(&srq));
            link(&node, &client, &node, &server);
            (client, server, requests)
        })
        .collect();
    let senders: Vec<_> = (0..THREADS)
        .map(|number| {
            let (client, _, requests) = pairs[number as usize].clone();
            let piece = source.piece(number as usize * 8, 8);
            let memory = source.memory.clone();
            Background::run(move || {
                for count in 0..EACH {
                    memory.write(number as usize * 8, &count.to_ne_bytes()).expect("inside");
                    client.post_send(&[piece], count, NONE).expect("connected");
                    expect_completion(&requests, &[&client], count, DtoStatus::Success);
                }
            })
        })
        .collect();
    let mut next: HashMap<u64, u64> = pairs.iter().map(|pair| (pair.1.id(), 0)).collect();
    for _ in 0..EACH * THREADS {
        let done = expect_dto(&node.recv, &[]);
        assert_eq!((done.status, done.length), (DtoStatus::Success, 8), "{done:?}");
        let count = next.get_mut(&done.ep).expect("one of the servers");
        let bytes = buffer.bytes(done.cookie as usize * 8, 8);
        assert_eq!(bytes, count.to_ne_bytes(), "the order of EP {}", done.ep);
        *count += 1;
        srq.post_recv(&[place(done.cookie)], done.cookie).expect("within the limit again");
    }
    for sender in senders {
        sender.join();
    }
    finish_shared(&srq, DEPTH, &pairs);
    expect_no_event(&node.recv);
    assert!(next.values().all(|count| *count == EACH));
    free_all(&[&srq, &buffer, &source]);
    drain(&node.connect);
    node.finish();
}

/// The sender, the receiver, and the dispatcher of the sends.
type Pair = (Ep, Ep, Evd);

/// Checks that all buffers are on the queue again, and stay there when the connections end.
fn finish_shared(srq: &Srq, depth: u32, pairs: &[Pair]) {
    assert_eq!(counts(srq), (depth, depth));
    for (client, server, requests) in pairs {
        client.disconnect(Close::Abrupt).expect("connected");
        until("the other side gets the event", || state(server) == EpState::Disconnected);
        free_all(&[client, server]);
        expect_no_event(requests);
        requests.free().expect("unused");
    }
    assert_eq!(counts(srq), (depth, depth));
}
