//! Connections: how they begin, fail and end.

use std::sync::Arc;

use crate::common::{
    Buffer, Entry, Event, Refuse, Setup, Side, World, bounded, fresh_address, try_open,
};
use dat_core::flags::{Close, CompletionFlags, Privileges, Qos};
use dat_core::provider::{ConnectRequest, Outstanding, Peer, Work};
use dat_core::{DtoStatus, Operation, ReturnType};
use {DtoStatus::*, Operation::*};

#[test]
fn both_sides_learn_who_the_other_is_and_what_it_said() {
    bounded(|| {
        let here = World::new();
        let there = World::at(fresh_address());
        let (a, b) = (here.side(), there.side());
        let attempt = there.connect(&a, b"hello");
        assert_eq!(a.log(), [], "nothing before the answer");
        let incoming = there.requests.take();
        assert_eq!(*incoming.private_data, *b"hello");
        let asking = incoming.peer;
        assert_eq!(asking.address, here.address);
        incoming.answer.accept(&*b.qp, 900, b"welcome").unwrap();
        let qualifier = there.listener.qualifier;
        let passive =
            Event::Established { private_data: vec![], peer: asking, local_port: qualifier };
        assert_eq!(b.last_event(), (900, passive));
        let active = Event::Established {
            private_data: b"welcome".to_vec(),
            peer: Peer { address: there.address, port: qualifier },
            local_port: asking.port,
        };
        assert_eq!(a.last_event(), (attempt, active));
        drop(incoming);
        a.send(1, &[]);
        b.receive(2, &[]);
        assert_eq!(a.done(), [(Send, 1, 0, Success)]);
        let c = here.side();
        there.connect(&c, &[]);
        assert_ne!(there.requests.take().peer.port, asking.port, "one port each");
    });
}

/// A side with posted receives whose attempt failed.
fn failed(world: &World, attempt: impl FnOnce(&Side) -> u64) -> Event {
    let side = world.side();
    side.receive(1, &[]);
    side.receive(2, &[]);
    let number = attempt(&side);
    let log = side.log();
    assert_eq!(log.len(), 3, "{log:?}");
    for (entry, cookie) in log.iter().zip([1, 2]) {
        let Entry::Completion(receive) = entry else { panic!("no flush first: {log:?}") };
        assert_eq!((receive.cookie, receive.status), (cookie, Flushed));
    }
    // Disconnected now: posts are flushed at once.
    side.receive(3, &[]);
    side.send(4, &[]);
    assert_eq!(side.done(), [(Receive, 3, 0, Flushed), (Send, 4, 0, Flushed)]);
    side.break_off();
    assert_eq!(side.log(), [], "disconnected already");
    match &log[2] {
        Entry::Event(attempt, event) if *attempt == number => event.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_attempt_fails_with_its_reason_after_the_flush() {
    bounded(|| {
        let world = World::new();
        let nobody = fresh_address();
        assert_eq!(failed(&world, |side| side.connect(nobody, 1, &[])), Event::Unreachable);
        let silent = |side: &Side| side.connect(world.address, 99, &[]);
        assert_eq!(failed(&world, silent), Event::NonPeerRejected);
        let _listener = world.adapter.listen(Some(99), Arc::new(Refuse)).unwrap();
        assert_eq!(failed(&world, silent), Event::NonPeerRejected);
        let dropped = failed(&world, |side| {
            let attempt = world.connect(side, &[]);
            drop(world.requests.take());
            attempt
        });
        assert_eq!(dropped, Event::NonPeerRejected);
        let refused = failed(&world, |side| {
            let attempt = world.connect(side, &[]);
            let incoming = world.requests.take();
            incoming.answer.reject(b"go away").unwrap();
            assert!(incoming.answer.reject(&[]).unwrap_err().is(ReturnType::InvalidState));
            attempt
        });
        assert_eq!(refused, Event::PeerRejected(b"go away".to_vec()));
    });
}

#[test]
fn accepting_an_attempt_that_was_given_up_fails() {
    bounded(|| {
        let world = World::new();
        let give_up: [fn(&Side); 3] = [
            |side| side.qp.disconnect(Close::Abrupt),
            |side| side.qp.disconnect(Close::Graceful),
            |side| side.qp.retire(),
        ];
        for give_up in give_up {
            let (a, b) = (world.side(), world.side());
            a.receive(1, &[]);
            b.receive(2, &[]);
            world.connect(&a, &[]);
            give_up(&a);
            assert_eq!(a.done(), [(Receive, 1, 0, Flushed)], "and no event");
            world.requests.take().answer.accept(&*b.qp, 5, &[]).unwrap();
            assert_eq!(b.ended(), (vec![(Receive, 2, Flushed)], Event::AcceptFailed));
            assert_eq!(a.log(), []);
        }
        // Also when the attempt was followed by another one.
        let (a, b, c) = (world.side(), world.side(), world.side());
        world.connect(&a, &[]);
        a.break_off();
        a.qp.reset().unwrap();
        world.connect(&a, &[]);
        let (first, second) = (world.requests.take(), world.requests.take());
        first.answer.accept(&*b.qp, 1, &[]).unwrap();
        assert_eq!(b.last_event(), (1, Event::AcceptFailed));
        second.answer.accept(&*c.qp, 2, &[]).unwrap();
        assert!(matches!(a.last_event(), (2, Event::Established { .. })));
    });
}

#[test]
fn an_accept_that_can_not_be_tried_leaves_the_request_as_it_was() {
    bounded(|| {
        let world = World::new();
        let (busy, _peer) = world.pair();
        let (a, b) = (world.side(), world.side());
        world.connect(&a, &[]);
        let incoming = world.requests.take();
        assert!(
            incoming.answer.accept(&*busy.qp, 1, &[]).unwrap_err().is(ReturnType::InvalidState)
        );
        assert!(incoming.answer.accept(&*a.qp, 1, &[]).is_err(), "not with itself");
        incoming.answer.accept(&*b.qp, 1, &[]).unwrap();
        assert!(incoming.answer.accept(&*b.qp, 1, &[]).is_err(), "not twice");
        assert!(matches!(a.last_event().1, Event::Established { .. }));
        assert!(matches!(b.last_event().1, Event::Established { .. }));
    });
}

#[test]
fn only_an_unconnected_queue_pair_connects() {
    bounded(|| {
        let world = World::new();
        let (a, _b) = world.pair();
        let qualifier = world.listener.qualifier;
        let request = ConnectRequest {
            attempt: 9,
            address: world.address,
            qualifier,
            private_data: &[],
            qos: Qos::BEST_EFFORT,
        };
        assert!(a.qp.connect(&request).unwrap_err().is(ReturnType::InvalidState));
        assert!(a.qp.reset().unwrap_err().is(ReturnType::InvalidState));
        a.break_off();
        assert!(a.qp.connect(&request).unwrap_err().is(ReturnType::InvalidState));
        assert!(a.qp.modify(a.spec.clone()).unwrap_err().is(ReturnType::InvalidState));
        let fresh = world.side();
        let early = fresh.request(Work::Send, 1, &[], CompletionFlags::empty());
        assert!(early.unwrap_err().is(ReturnType::InvalidState));
    });
}

#[test]
fn an_abrupt_disconnect_flushes_both_sides_in_order() {
    bounded(|| {
        let world = World::new();
        let (a, b) = world.pair();
        let buffer = world.buffer(10);
        a.receive(1, &[]);
        a.receive(2, &[]);
        for cookie in 3..6 {
            a.send(cookie, &[buffer.segment(0, 3)]);
        }
        a.write(6, &[buffer.segment(0, 3)], buffer.remote(5, 3));
        b.send(7, &[]);
        b.break_off();
        let (log, event) = a.ended();
        assert_eq!(event, Event::Disconnected);
        let stream = |receives: bool| -> Vec<_> {
            log.iter().filter(|one| (one.0 == Receive) == receives).copied().collect()
        };
        assert_eq!(stream(true), [(Receive, 1, Success), (Receive, 2, Flushed)]);
        let flushed = [3, 4, 5].map(|cookie| (Send, cookie, Flushed));
        assert_eq!(stream(false), [&flushed[..], &[(RdmaWrite, 6, Flushed)]].concat());
        assert_eq!(b.ended(), (vec![(Send, 7, Success)], Event::Disconnected));
        assert_eq!(a.qp.outstanding(), Outstanding::default());
        a.break_off();
        b.break_off();
        assert_eq!((a.log(), b.log()), (vec![], vec![]), "one event each");
    });
}

#[test]
fn a_graceful_disconnect_lets_posted_requests_finish() {
    bounded(|| {
        let world = World::new();
        let (a, b) = world.pair();
        let (from, to) = (world.buffer(20), world.buffer(20));
        let sent = from.fill(1);
        a.receive(9, &[]);
        a.send(1, &[from.segment(0, 10)]);
        a.write(2, &[from.segment(10, 10)], to.remote(10, 10));
        a.qp.disconnect(Close::Graceful);
        a.qp.disconnect(Close::Graceful);
        assert_eq!((a.log(), b.log()), (vec![], vec![]));
        let late = a.request(Work::Send, 3, &[], CompletionFlags::empty());
        assert!(late.unwrap_err().is(ReturnType::InvalidState));
        // The other direction is open meanwhile, but its waiting ones do not hold this up.
        b.send(4, &[]);
        b.send(5, &[]);
        b.receive(6, &[to.segment(0, 10)]);
        assert_eq!(to.bytes(), sent);
        let ended = [(Receive, 9, Success), (Send, 1, Success), (RdmaWrite, 2, Success)];
        assert_eq!(a.ended(), (ended.to_vec(), Event::Disconnected));
        let ended = [(Send, 4, Success), (Receive, 6, Success), (Send, 5, Flushed)];
        assert_eq!(b.ended(), (ended.to_vec(), Event::Disconnected));
        // With nothing waiting it is at once.
        let (a, b) = world.pair();
        b.qp.disconnect(Close::Graceful);
        assert_eq!(a.last_event().1, Event::Disconnected);
        assert_eq!(b.last_event().1, Event::Disconnected);
    });
}

#[test]
fn a_graceful_disconnect_can_be_cut_short() {
    bounded(|| {
        let world = World::new();
        for by_peer in [false, true] {
            let (a, b) = world.pair();
            a.send(1, &[]);
            a.qp.disconnect(Close::Graceful);
            if by_peer { &b } else { &a }.break_off();
            assert_eq!(a.ended(), (vec![(Send, 1, Flushed)], Event::Disconnected));
            assert_eq!(b.ended(), (vec![], Event::Disconnected));
        }
        // Both gracefully, each with one waiting: each finishes as the other receives.
        let (a, b) = world.pair();
        a.send(1, &[]);
        b.send(2, &[]);
        a.qp.disconnect(Close::Graceful);
        b.qp.disconnect(Close::Graceful);
        b.receive(3, &[]);
        let ended = [(Send, 2, Flushed), (Receive, 3, Success)];
        let (mut log, event) = b.ended();
        log.sort_by_key(|one| one.1);
        assert_eq!((&log[..], event), (&ended[..], Event::Disconnected));
        assert_eq!(a.ended(), (vec![(Send, 1, Success)], Event::Disconnected));
    });
}

#[test]
fn reset_leads_back_and_keeps_what_was_not_polled() {
    bounded(|| {
        let world = World::new();
        let (a, b) = world.pair();
        for round in 0..5 {
            b.receive(1, &[]);
            a.send(2, &[]);
            a.send(3, &[]);
            if round % 2 == 0 { &a } else { &b }.break_off();
            a.qp.reset().unwrap();
            b.qp.reset().unwrap();
            let ended = vec![(Send, 2, Success), (Send, 3, Flushed)];
            assert_eq!(a.ended(), (ended, Event::Disconnected));
            assert_eq!(b.ended(), (vec![(Receive, 1, Success)], Event::Disconnected));
            // Unconnected, receives stay.
            b.receive(4, &[]);
            assert_eq!(b.done(), []);
            if round % 2 == 0 {
                world.join(&a, &b)
            } else {
                world.join(&b, &a)
            }
            a.send(5, &[]);
            assert_eq!(a.done(), [(Send, 5, 0, Success)]);
            assert_eq!(b.done(), [(Receive, 4, 0, Success)]);
        }
    });
}

#[test]
fn modify_keeps_receives_and_changes_the_rest() {
    bounded(|| {
        let world = World::new();
        let other = world.adapter.create_domain().unwrap();
        let (a, b) = (world.side(), world.side());
        let buffer = Buffer::new(&*other, 100, Privileges::ALL);
        b.receive(1, &[buffer.segment(0, 2), buffer.segment(2, 2), buffer.segment(4, 2)]);
        b.receive(2, &[buffer.segment(10, 5)]);
        let mut spec = b.spec.clone();
        spec.limits.max_receives = 1;
        assert!(b.qp.modify(spec.clone()).unwrap_err().is(ReturnType::InsufficientResources));
        spec.limits.max_receives = 3;
        spec.limits.max_receive_segments = 1;
        spec.domain = Some(Arc::clone(&other));
        b.qp.modify(spec).unwrap();
        b.receive(3, &[]);
        assert!(b.try_receive(4, &[]).is_err());
        world.join(&a, &b);
        let mine = world.buffer(6);
        let sent = mine.fill(3);
        a.send(5, &[mine.segment(0, 6)]);
        a.send(6, &[]);
        assert_eq!(buffer.bytes()[..6], sent);
        assert_eq!(b.done(), [(Receive, 1, 6, Success), (Receive, 2, 0, Success)]);
    });
}

#[test]
fn a_queue_pair_gets_its_domain_by_modify() {
    bounded(|| {
        let world = World::new();
        let (a, b) = (world.side(), world.side());
        let mut spec = b.spec.clone();
        spec.domain = None;
        b.qp.modify(spec).unwrap();
        world.connect(&a, &[]);
        let incoming = world.requests.take();
        assert!(incoming.answer.accept(&*b.qp, 1, &[]).is_err(), "no domain");
        b.qp.modify(b.spec.clone()).unwrap();
        incoming.answer.accept(&*b.qp, 1, &[]).unwrap();
        assert!(matches!(a.last_event().1, Event::Established { .. }));
    });
}

#[test]
fn retire_and_drop_end_everything_without_an_event() {
    bounded(|| {
        let world = World::new();
        for dropped in [false, true] {
            let (a, b) = world.pair();
            a.receive(1, &[]);
            a.send(2, &[]);
            b.receive(3, &[]);
            b.send(4, &[]);
            b.receive(5, &[]);
            let recorder = Arc::clone(&a.recorder);
            if dropped {
                drop(a);
                assert_eq!(Arc::strong_count(&recorder), 1, "the sink was released");
            } else {
                a.qp.retire();
                a.qp.retire();
                let done = [(Send, 2, 0, Success), (Receive, 1, 0, Success)];
                assert_eq!(a.done(), done);
                a.receive(6, &[]);
                assert_eq!(a.done(), [(Receive, 6, 0, Flushed)]);
                assert!(a.qp.reset().is_err());
            }
            let ended = [(Receive, 3, Success), (Send, 4, Success), (Receive, 5, Flushed)];
            assert_eq!(b.ended(), (ended.to_vec(), Event::Disconnected));
        }
    });
}

#[test]
fn qualifiers_are_shared_by_address() {
    bounded(|| {
        let world = World::new();
        let parameters = format!("address={}", world.address);
        let same = try_open("another name", &parameters).unwrap();
        let qualifier = world.listener.qualifier;
        assert!(qualifier >= 0x1_0000);
        let taken = same.listen(Some(qualifier), Arc::new(Refuse)).err().unwrap();
        assert!(taken.is(ReturnType::ConnQualInUse));
        assert!(taken.reason().contains(&format!("qualifier {qualifier} ")), "{taken}");
        let second = same.listen(None, Arc::new(Refuse)).unwrap();
        assert_ne!(second.qualifier, qualifier);
        let free = second.qualifier;
        drop(second);
        assert_eq!(same.listen(Some(free), Arc::new(Refuse)).unwrap().qualifier, free);
        let elsewhere = World::at(fresh_address());
        let there = elsewhere.adapter.listen(Some(qualifier), Arc::new(Refuse));
        assert!(there.is_ok() || elsewhere.listener.qualifier == qualifier);
    });
}

#[test]
fn a_listener_that_is_gone_hears_nothing_but_what_it_handed_out_stays() {
    bounded(|| {
        let World { adapter, domain, address, listener, requests } = World::new();
        let qualifier = listener.qualifier;
        let world = World { listener, adapter, domain, address, requests };
        let (a, b, c) = (world.side(), world.side(), world.side());
        world.connect(&a, &[]);
        let World { listener, requests, .. } = world;
        drop(listener);
        c.connect(address, qualifier, &[]);
        assert_eq!(c.last_event().1, Event::NonPeerRejected);
        requests.take().answer.accept(&*b.qp, 1, &[]).unwrap();
        assert!(matches!(a.last_event().1, Event::Established { .. }));
        drop((a, b));
        c.qp.reset().unwrap();
        c.connect(address, qualifier, &[]);
        assert_eq!(c.last_event().1, Event::NonPeerRejected, "the queue pair holds the host");
    });
}

#[test]
fn completions_carry_the_tag_of_their_queue_pair() {
    bounded(|| {
        let world = World::new();
        let setup = Setup { depth: 2, ..Setup::default() };
        let (a, b) = world.pair_with(setup.clone(), setup);
        b.receive(1, &[]);
        a.send(2, &[]);
        assert_eq!(a.completions()[0].tag, a.spec.tag);
        assert_eq!(b.completions()[0].tag, b.spec.tag);
    });
}
