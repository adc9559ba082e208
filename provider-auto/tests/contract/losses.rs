//! What stays outstanding when a connection is lost.

use std::sync::Arc;

use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::verbs::LossPolicy;
use dat_provider::{QueuePairSpec, Work};

use crate::world::{Event, Side, World, over_links, receive};

fn keeps_receives(spec: &mut QueuePairSpec) {
    spec.verbs.losses = LossPolicy::Keep;
}

/// Two connected queue pairs, the second of which has receives with the cookies 1 and 2.
fn pair(world: &World) -> [Side; 2] {
    let sides = world.pair_with(keeps_receives);
    [1, 2].into_iter().for_each(|cookie| sides[1].receive(cookie, sides[1].segment(0, 64)));
    sides
}

const FLUSHED: [(Operation, u64, DtoStatus); 2] =
    [(Operation::Receive, 1, DtoStatus::Flushed), (Operation::Receive, 2, DtoStatus::Flushed)];

/// The ways in which the peer of a queue pair ends the connection.
fn lose(peer: Side, way: u8) {
    match way {
        0 => peer.qp.disconnect(Close::Abrupt),
        1 => peer.qp.disconnect(Close::Graceful),
        _ => drop(peer),
    }
}

#[test]
fn receives_are_flushed_when_their_owner_says_so() {
    for world in over_links() {
        for way in 0..3_u8 {
            let [peer, side] = pair(&world);
            lose(peer, way);
            assert_eq!(side.event(), Event::Disconnected);
            side.receive(3, side.segment(0, 64));
            side.expect_nothing();
            assert_eq!(side.qp.outstanding().receives, 3);
            match way {
                0 => side.qp.disconnect(Close::Abrupt),
                1 => side.qp.reset().expect("it is over"),
                _ => side.qp.shutdown(),
            }
            let done = side.done(3);
            assert_eq!(done[..2], FLUSHED);
            assert_eq!(done[2], (Operation::Receive, 3, DtoStatus::Flushed));
        }
    }
}

#[test]
fn receives_are_flushed_before_any_connection() {
    for world in over_links() {
        let side = world.side_with(keeps_receives);
        side.receive(1, side.segment(0, 64));
        side.qp.disconnect(Close::Abrupt);
        side.receive(2, side.segment(0, 64));
        assert_eq!(side.done(2), FLUSHED);
        side.qp.reset().expect("it is disconnected");
        side.receive(3, side.segment(0, 64));
        side.expect_nothing();
    }
}

#[test]
fn a_local_disconnect_flushes_at_once() {
    for world in over_links() {
        let [peer, side] = pair(&world);
        side.qp.disconnect(Close::Graceful);
        assert_eq!(side.done(2), FLUSHED);
        assert_eq!(side.event(), Event::Disconnected);
        side.receive(3, side.segment(0, 64));
        assert_eq!(side.done(1), [(Operation::Receive, 3, DtoStatus::Flushed)]);
        side.request(Work::Send, 4, side.segment(0, 8));
        assert_eq!(side.done(1), [(Operation::Send, 4, DtoStatus::Flushed)]);
        drop(peer);
    }
}

#[test]
fn requests_stay_until_the_owner_gives_up() {
    requests_stay(true);
}

#[test]
fn requests_stay_until_the_owner_disconnects() {
    requests_stay(false);
}

/// Requests of a lost connection stay until the owner gives up, or disconnects.
fn requests_stay(gives_up: bool) {
    for world in over_links() {
        let [peer, side] = pair(&world);
        // The peer has no receive.
        for cookie in 4..6 {
            let flags = CompletionFlags::SUPPRESS;
            side.request_with(Work::Send, cookie, side.segment(0, 8), flags);
        }
        drop(peer);
        assert_eq!(side.event(), Event::Disconnected);
        // Others may follow.
        side.request(Work::Send, 6, side.segment(0, 8));
        side.expect_nothing();
        assert_eq!(side.qp.outstanding().requests, 3);
        if gives_up {
            side.qp.for_verbs().give_up();
        } else {
            side.qp.disconnect(Close::Abrupt);
        }
        let first = if gives_up { DtoStatus::Transport } else { DtoStatus::Flushed };
        let expected = [first, DtoStatus::Flushed, DtoStatus::Flushed];
        let requests = (4..7).map(|n| (Operation::Send, n, expected[n as usize - 4]));
        let receives = FLUSHED.into_iter().filter(|_| !gives_up);
        let expected: Vec<_> = requests.chain(receives).collect();
        assert_eq!(side.done(expected.len()), expected);
        side.request(Work::Send, 7, side.segment(0, 8));
        assert_eq!(side.done(1), [(Operation::Send, 7, DtoStatus::Flushed)]);
        side.expect_nothing();
    }
}

#[test]
fn the_first_request_after_a_loss_fails() {
    for world in over_links() {
        let [peer, side] = pair(&world);
        drop(peer);
        assert_eq!(side.event(), Event::Disconnected);
        // There is nothing to give up yet.
        side.qp.for_verbs().give_up();
        side.request(Work::Send, 4, side.segment(0, 8));
        side.expect_nothing();
        side.qp.for_verbs().give_up();
        assert_eq!(side.done(1), [(Operation::Send, 4, DtoStatus::Transport)]);
        for (cookie, status) in [(5, DtoStatus::Flushed), (6, DtoStatus::Flushed)] {
            side.request(Work::Send, cookie, side.segment(0, 8));
            assert_eq!(side.done(1), [(Operation::Send, cookie, status)]);
        }
        side.expect_nothing();
    }
}

#[test]
fn a_request_that_fails_at_the_peer_keeps_its_status() {
    for world in over_links() {
        let [one, side] = pair(&world);
        one.receive(9, one.segment(0, 4));
        side.request(Work::Send, 4, side.segment(0, 8));
        assert_eq!(side.done(1), [(Operation::Send, 4, DtoStatus::RemoteResponder)]);
        assert_eq!(one.done(1), [(Operation::Receive, 9, DtoStatus::LocalLength)]);
        assert_eq!([&one, &side].map(Side::event), [Event::Broken; 2]);
        for cookie in 5..7 {
            side.request(Work::Send, cookie, side.segment(0, 8));
            assert_eq!(side.done(1), [(Operation::Send, cookie, DtoStatus::Flushed)]);
        }
        // The side that has refused the request has caused the end.
        one.request(Work::Send, 5, one.segment(0, 8));
        assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::Flushed)]);
        side.qp.disconnect(Close::Abrupt);
        assert_eq!(side.done(2), FLUSHED);
    }
}

#[test]
fn the_receives_serve_the_next_connection() {
    for world in over_links() {
        for accepts in [false, true] {
            let [peer, side] = pair(&world);
            drop(peer);
            assert_eq!(side.event(), Event::Disconnected);
            let next = world.side_with(keeps_receives);
            let sides = if accepts { [next, side] } else { [side, next] };
            world.join(&sides);
            let [one, other] = &sides;
            let (peer, side) = if accepts { (one, other) } else { (other, one) };
            for cookie in [1, 2] {
                peer.request(Work::Send, cookie, peer.segment(0, 8));
                assert_eq!(side.done(1), [(Operation::Receive, cookie, DtoStatus::Success)]);
            }
        }
    }
}

#[test]
fn receives_survive_an_attempt_that_fails() {
    for world in over_links() {
        let side = world.side_with(keeps_receives);
        side.receive(1, side.segment(0, 64));
        world.connect(&side);
        drop(world.request());
        assert_eq!(side.event(), Event::Failed);
        world.connect(&side);
        world.request().responder.reject(&[]).expect("it waits");
        assert_eq!(side.event(), Event::Failed);
        side.expect_nothing();
        let peer = world.side_with(keeps_receives);
        let sides = [side, peer];
        world.join(&sides);
        sides[1].request(Work::Send, 2, sides[1].segment(0, 8));
        assert_eq!(sides[0].done(1), [(Operation::Receive, 1, DtoStatus::Success)]);
    }
}

#[test]
fn a_shared_queue_serves_a_lost_queue_pair_again() {
    for world in over_links() {
        let queue = world.shared_receives();
        let side = world.side_with(|spec| {
            keeps_receives(spec);
            spec.shared_receives = Some(Arc::clone(&queue));
        });
        for cookie in [1, 2] {
            queue.post_receive(&receive(cookie, &[side.segment(0, 64)])).expect("space");
        }
        let mut sides = [world.side_with(keeps_receives), side];
        for cookie in [1, 2] {
            world.join(&sides);
            let [peer, side] = &sides;
            peer.request(Work::Send, 5, peer.segment(0, 8));
            assert_eq!(peer.done(1), [(Operation::Send, 5, DtoStatus::Success)]);
            assert_eq!(side.done(1), [(Operation::Receive, cookie, DtoStatus::Success)]);
            peer.qp.disconnect(Close::Abrupt);
            assert_eq!(side.event(), Event::Disconnected);
            assert_eq!(queue.counts(), (2 - cookie as u32, 2 - cookie as u32));
            side.expect_nothing();
            sides[0] = world.side_with(keeps_receives);
        }
    }
}

#[test]
fn an_attempt_that_its_owner_abandons_ends_without_an_event_and_its_requests_fail() {
    for world in over_links() {
        for is_connecting in [false, true] {
            let side = world.side_with(keeps_receives);
            side.receive(1, side.segment(0, 64));
            let request = is_connecting.then(|| {
                world.connect(&side);
                world.request()
            });
            side.qp.for_verbs().give_up();
            for cookie in 4..6 {
                side.request(Work::Send, cookie, side.segment(0, 8));
            }
            side.expect_nothing();
            side.qp.for_verbs().give_up();
            let statuses = [DtoStatus::Transport, DtoStatus::Flushed];
            let expected = [0, 1].map(|n: usize| (Operation::Send, 4 + n as u64, statuses[n]));
            assert_eq!(side.done(2), expected);
            drop(request);
            side.expect_nothing();
        }
    }
}
