//! Connecting, and how attempts fail.

use super::*;
use crate::common::{Entry, Setup, Side, connected};
use dat_core::flags::Qos;
use dat_core::provider::{ConnectRequest, Peer, RefusalCause};

#[test]
fn both_sides_learn_the_address_and_private_data_of_the_other() {
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
        incoming.responder.accept(&*b.qp, 900, b"welcome").unwrap();
        let qualifier = there.listener.qualifier;
        let passive =
            Event::Established { private_data: vec![], peer: asking, local_port: qualifier };
        assert_eq!(b.last_event(), (900, passive));
        let active = Event::Established {
            private_data: b"welcome".to_vec(),
            peer: Peer { address: there.address.into(), port: qualifier },
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

/// Runs an attempt that fails, on a side with posted receives. Returns the event.
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
    // The side is disconnected, so that posts are flushed at once.
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
    in_world(|world| {
        let unused = fresh_address();
        assert_eq!(failed(world, |side| side.connect(unused, 1, &[])), Event::Unreachable);
        let silent = |side: &Side| side.connect(world.address, 99, &[]);
        assert_eq!(failed(world, silent), Event::NonPeerRejected);
        let _listener = world.adapter.listen(Some(99), Arc::new(Refuse)).unwrap();
        assert_eq!(failed(world, silent), Event::NonPeerRejected);
        let dropped = failed(world, |side| {
            let attempt = world.connect(side, &[]);
            drop(world.requests.take());
            attempt
        });
        assert_eq!(dropped, Event::NonPeerRejected);
        let refused = failed(world, |side| {
            let attempt = world.connect(side, &[]);
            let incoming = world.requests.take();
            incoming.responder.reject(b"go away").unwrap();
            assert!(incoming.responder.reject(&[]).unwrap_err().is(ReturnType::InvalidState));
            attempt
        });
        assert_eq!(refused, Event::PeerRejected(b"go away".to_vec()));
    });
}

#[test]
fn accepting_an_abandoned_attempt_fails() {
    in_world(|world| {
        let give_up: [fn(&Side); 3] = [
            |side| side.qp.disconnect(Close::Abrupt),
            |side| side.qp.disconnect(Close::Graceful),
            |side| side.qp.shutdown(),
        ];
        for give_up in give_up {
            let (a, b) = (world.side(), world.side());
            a.receive(1, &[]);
            b.receive(2, &[]);
            world.connect(&a, &[]);
            give_up(&a);
            assert_eq!(a.done(), [(Receive, 1, 0, Flushed)], "and no event");
            world.requests.take().responder.accept(&*b.qp, 5, &[]).unwrap();
            assert_eq!(
                b.ended(),
                (vec![(Receive, 2, Flushed)], Event::AcceptFailed(RefusalCause::Abandoned))
            );
            assert_eq!(a.log(), []);
        }
        // Even if another attempt has followed.
        let (a, b, c) = (world.side(), world.side(), world.side());
        world.connect(&a, &[]);
        a.break_off();
        a.qp.reset().unwrap();
        world.connect(&a, &[]);
        let (first, second) = (world.requests.take(), world.requests.take());
        first.responder.accept(&*b.qp, 1, &[]).unwrap();
        assert_eq!(b.last_event(), (1, Event::AcceptFailed(RefusalCause::Abandoned)));
        second.responder.accept(&*c.qp, 2, &[]).unwrap();
        assert!(matches!(a.last_event(), (2, Event::Established { .. })));
    });
}

#[test]
fn an_accept_with_an_unusable_queue_pair_keeps_the_request() {
    connected(|world, busy, _peer| {
        let (a, b) = (world.side(), world.side());
        world.connect(&a, &[]);
        let incoming = world.requests.take();
        assert!(
            incoming.responder.accept(&*busy.qp, 1, &[]).unwrap_err().is(ReturnType::InvalidState)
        );
        assert!(incoming.responder.accept(&*a.qp, 1, &[]).is_err(), "not with itself");
        incoming.responder.accept(&*b.qp, 1, &[]).unwrap();
        assert!(incoming.responder.accept(&*b.qp, 1, &[]).is_err(), "not twice");
        assert!(matches!(a.last_event().1, Event::Established { .. }));
        assert!(matches!(b.last_event().1, Event::Established { .. }));
    });
}

#[test]
fn only_an_unconnected_queue_pair_connects() {
    connected(|world, a, _b| {
        let qualifier = world.listener.qualifier;
        let request = ConnectRequest {
            attempt: 9,
            address: world.address.into(),
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
        assert!(fresh.try_send(1, &[]).unwrap_err().is(ReturnType::InvalidState));
    });
}

#[test]
fn completions_carry_the_tag_of_their_queue_pair() {
    in_world(|world| {
        let setup = Setup { depth: 2, ..Setup::default() };
        let (a, b) = world.pair_with(setup.clone(), setup);
        b.receive(1, &[]);
        a.send(2, &[]);
        assert_eq!(a.completions()[0].tag, a.spec.tag);
        assert_eq!(b.completions()[0].tag, b.spec.tag);
    });
}
