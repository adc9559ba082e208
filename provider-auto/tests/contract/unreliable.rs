//! Unreliable connections.

use std::sync::Arc;

use dat_provider::error::ReturnType;
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::verbs::LossPolicy;
use dat_provider::{Epoch, QueuePairSpec, Request, Service, Work};

use crate::world::{Event, Side, World, over_links, receive};

fn unreliable(spec: &mut QueuePairSpec) {
    spec.service = Service::UnreliableConnection;
}

fn pair(world: &World) -> [Side; 2] {
    world.pair_with(unreliable)
}

/// Number of requests that the adapter has dropped.
fn dropped(world: &World) -> u64 {
    world.adapter.counters().dropped_datagrams
}

/// A message arrives in the next receive, of 64 bytes.
fn check_next(one: &Side, other: &Side) {
    one.memory.write(0, b"the next one").expect("in range");
    one.request(Work::Send, 50, one.segment(0, 12));
    assert_eq!(one.done(1), [(Operation::Send, 50, DtoStatus::Success)]);
    let [done] = other.completions(1)[..] else { panic!("one completion") };
    assert_eq!(
        (done.operation, done.cookie, done.status),
        (Operation::Receive, 60, DtoStatus::Success)
    );
    assert_eq!(done.length, 12);
    assert_eq!(other.memory.to_vec(1024, 12).expect("in range"), b"the next one");
}

fn post_next(other: &Side) {
    other.receive(60, other.segment(1024, 64));
}

/// Lengths of requests: none, one frame, several.
const LENGTHS: [usize; 4] = [0, 9, 70_000, 200_000];

#[test]
fn a_message_without_a_receive_is_dropped() {
    for world in over_links() {
        let [one, other] = pair(&world);
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let before = dropped(&world);
            for work in [Work::Send, Work::SendImmediate { immediate: 3 }] {
                one.request(work, 5, one.segment(0, length));
                assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::Success)], "{number}");
            }
            world.eventually(|| dropped(&world) == before + 2);
        }
        post_next(&other);
        check_next(&one, &other);
    }
}

#[test]
fn a_receive_that_is_too_short_fails_and_the_connection_goes_on() {
    for world in over_links() {
        let [one, other] = pair(&world);
        for length in &LENGTHS[1..] {
            other.receive(3, other.segment(0, length - 1));
            one.request(Work::Send, 5, one.segment(0, *length));
            assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::Success)]);
            assert_eq!(other.done(1), [(Operation::Receive, 3, DtoStatus::LocalLength)]);
        }
        assert_eq!(dropped(&world), 3);
        post_next(&other);
        check_next(&one, &other);
    }
}

#[test]
fn writes_are_executed_or_dropped() {
    for world in over_links() {
        let [one, other] = pair(&world);
        one.memory.write(0, b"written").expect("in range");
        let remote = other.remote(512, 7);
        one.request(Work::RdmaWrite { remote }, 4, one.segment(0, 7));
        assert_eq!(one.done(1), [(Operation::RdmaWrite, 4, DtoStatus::Success)]);
        let mut wrong = remote;
        wrong.context ^= 0x5a5a_5a5a;
        for length in LENGTHS {
            wrong.length = length as u64;
            let immediate = Work::RdmaWriteImmediate { remote: wrong, immediate: 2 };
            one.request(Work::RdmaWrite { remote: wrong }, 5, one.segment(0, length));
            one.request(immediate, 6, one.segment(0, length));
            let done = one.done(2).into_iter().map(|done| done.2).collect::<Vec<_>>();
            assert_eq!(done, [DtoStatus::Success; 2]);
        }
        // Its data arrive, and there is no receive for the rest.
        let remote = other.remote(600, 7);
        one.request(Work::RdmaWriteImmediate { remote, immediate: 1 }, 7, one.segment(0, 7));
        assert_eq!(one.done(1), [(Operation::RdmaWriteImmediate, 7, DtoStatus::Success)]);
        // An empty write needs no memory.
        world.eventually(|| {
            other.expect_none();
            dropped(&world) == 8
        });
        for at in [512, 600] {
            assert_eq!(other.memory.to_vec(at, 7).expect("in range"), b"written");
        }
        post_next(&other);
        one.request(Work::RdmaWriteImmediate { remote, immediate: 9 }, 8, one.segment(0, 7));
        let [done] = other.completions(1)[..] else { panic!("one completion") };
        assert_eq!((done.operation, done.extra), (Operation::ReceiveImmediate, 9));
    }
}

#[test]
fn reads_and_atomics_are_refused() {
    for world in over_links() {
        let [one, other] = pair(&world);
        let (remote, segments) = (other.remote(0, 8), &[one.segment(0, 8)][..]);
        for work in [
            Work::RdmaRead { remote },
            Work::FetchAdd { add: 1, remote },
            Work::CompareSwap { compare: 0, swap: 1, remote },
        ] {
            let (flags, checked) = (CompletionFlags::empty(), Epoch::default());
            let request = Request { work, segments, length: 8, cookie: 1, flags, checked };
            let error = one.qp.post_request(&request).expect_err("not on such a connection");
            assert!(error.is(ReturnType::ModelNotSupported), "{error}");
        }
        assert_eq!(one.qp.outstanding().requests, 0);
    }
}

#[test]
fn many_messages_arrive_in_order() {
    for world in over_links() {
        let [one, other] = pair(&world);
        let mut next = 0;
        for cookie in 0..2000_u64 {
            if cookie % 3 != 0 {
                other.receive(cookie, other.segment(0, 64));
            }
            let work = Work::SendImmediate { immediate: cookie as u32 };
            one.request_with(work, cookie, one.segment(0, 8), CompletionFlags::SUPPRESS);
            let Some(done) = (cookie % 3 != 0).then(|| other.completions(1)[0]) else {
                let count = cookie / 3 + 1;
                world.eventually(|| {
                    other.expect_none();
                    dropped(&world) == count
                });
                continue;
            };
            assert!(done.cookie >= next && done.status == DtoStatus::Success, "{done:?}");
            assert_eq!(done.extra, done.cookie);
            next = done.cookie;
        }
    }
}

#[test]
fn a_shared_queue_serves_them() {
    for world in over_links() {
        let queue = world.shared_receives();
        let one = world.side_with(unreliable);
        let other = world.side_with(|spec| {
            unreliable(spec);
            spec.shared_receives = Some(Arc::clone(&queue));
        });
        let sides = [one, other];
        world.join(&sides);
        let [one, other] = &sides;
        for length in LENGTHS {
            let before = dropped(&world);
            one.request(Work::Send, 5, one.segment(0, length));
            world.eventually(|| dropped(&world) == before + 1);
            queue.post_receive(&receive(3, &[other.segment(0, 200_000)])).expect("space");
            one.request(Work::Send, 6, one.segment(0, length));
            assert_eq!(other.done(1), [(Operation::Receive, 3, DtoStatus::Success)]);
            assert_eq!(one.done(2).len(), 2);
        }
    }
}

#[test]
fn a_sender_does_not_learn_that_the_peer_is_lost() {
    for world in over_links() {
        let [one, other] = world.pair_with(|spec| {
            unreliable(spec);
            spec.verbs.losses = LossPolicy::Keep;
        });
        one.receive(3, one.segment(0, 8));
        drop(other);
        assert_eq!(one.event(), Event::Disconnected);
        one.request(Work::Send, 5, one.segment(0, 8));
        assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::Success)]);
        one.expect_nothing();
        one.qp.disconnect(Close::Abrupt);
        assert_eq!(one.done(1), [(Operation::Receive, 3, DtoStatus::Flushed)]);
        one.request(Work::Send, 6, one.segment(0, 8));
        assert_eq!(one.done(1), [(Operation::Send, 6, DtoStatus::Flushed)]);
    }
}

#[test]
fn both_sides_must_have_the_same_service() {
    for world in over_links() {
        for is_unreliable in [false, true] {
            let side = |is_unreliable: bool| {
                world.side_with(|spec| {
                    if is_unreliable {
                        unreliable(spec);
                    }
                })
            };
            let (one, wrong, right) =
                (side(is_unreliable), side(!is_unreliable), side(is_unreliable));
            world.connect(&one);
            let request = world.request();
            let refused = request.responder.accept(&*wrong.qp, 1, &[]).expect_err("another kind");
            assert!(refused.is(ReturnType::InvalidState), "{refused}");
            request.responder.accept(&*right.qp, 1, &[]).expect("it still waits");
            assert_eq!([&one, &right].map(Side::event), [Event::Established; 2]);
        }
    }
}
