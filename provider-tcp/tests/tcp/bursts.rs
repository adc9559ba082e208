//! Messages in quick succession are sent together, and none is left behind.

use dat_conformance::{drain, link, until};
use dat_two_processes::NONE;

use crate::common::node;

const SIZE: usize = 64;
const MESSAGES: usize = 24;

/// Sends series of messages. After each, the sender makes no call until all have arrived.
fn series(rounds: u8, polls: bool) {
    let (near, far) = (node(""), node(""));
    let spec = |node: &dat_conformance::Node| {
        node.ep_with(|attributes| {
            attributes.max_recv_dtos = MESSAGES as u32;
            attributes.max_request_dtos = MESSAGES as u32;
        })
    };
    let (client, server) = (spec(&near), spec(&far));
    link(&near, &client, &far, &server);
    let (source, target) = (near.buffer(SIZE), far.buffer(SIZE * MESSAGES));
    for round in 0..rounds {
        source.fill(0, &[round; SIZE]);
        for slot in 0..MESSAGES {
            server.post_recv(&[target.piece(slot * SIZE, SIZE)], 0, NONE).expect("connected");
        }
        let mut completed = 0;
        for cookie in 0..MESSAGES as u64 {
            client.post_send(&[source.piece(0, SIZE)], cookie, NONE).expect("connected");
            if polls {
                completed += drain(&near.request).len();
            }
        }
        let mut arrived = 0;
        until("all messages arrive", || {
            arrived += drain(&far.recv).len();
            arrived == MESSAGES
        });
        assert_eq!(target.bytes(0, SIZE * MESSAGES), vec![round; SIZE * MESSAGES]);
        until("all sends complete", || {
            completed += drain(&near.request).len();
            completed == MESSAGES
        });
    }
    for ep in [&client, &server] {
        ep.disconnect(dat_core::Close::Abrupt).ok();
        ep.free().expect("live");
    }
}

#[test]
fn the_end_of_a_series_arrives_without_another_call() {
    series(50, true);
    series(50, false);
}
