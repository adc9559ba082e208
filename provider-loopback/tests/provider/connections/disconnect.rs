//! How connections end, and what follows.

use super::*;
use crate::common::connected;
use dat_core::provider::Outstanding;

#[test]
fn an_abrupt_disconnect_flushes_both_sides_in_order() {
    connected(|world, a, b| {
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
fn a_graceful_disconnect_completes_posted_requests_first() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(20), world.buffer(20));
        let sent = from.fill(1);
        a.receive(9, &[]);
        a.send(1, &[from.segment(0, 10)]);
        a.write(2, &[from.segment(10, 10)], to.remote(10, 10));
        a.qp.disconnect(Close::Graceful);
        a.qp.disconnect(Close::Graceful);
        assert_eq!((a.log(), b.log()), (vec![], vec![]));
        assert!(a.try_send(3, &[]).unwrap_err().is(ReturnType::InvalidState));
        // The other direction stays open, and its waiting requests do not delay the disconnect.
        b.send(4, &[]);
        b.send(5, &[]);
        b.receive(6, &[to.segment(0, 10)]);
        assert_eq!(to.bytes(), sent);
        let ended = [(Receive, 9, Success), (Send, 1, Success), (RdmaWrite, 2, Success)];
        assert_eq!(a.ended(), (ended.to_vec(), Event::Disconnected));
        let ended = [(Send, 4, Success), (Receive, 6, Success), (Send, 5, Flushed)];
        assert_eq!(b.ended(), (ended.to_vec(), Event::Disconnected));
        // Without waiting requests it takes effect at once.
        let (a, b) = world.pair();
        b.qp.disconnect(Close::Graceful);
        assert_eq!(a.last_event().1, Event::Disconnected);
        assert_eq!(b.last_event().1, Event::Disconnected);
    });
}

#[test]
fn an_abrupt_disconnect_overrides_a_graceful_one() {
    in_world(|world| {
        for by_peer in [false, true] {
            let (a, b) = world.pair();
            a.send(1, &[]);
            a.qp.disconnect(Close::Graceful);
            if by_peer { &b } else { &a }.break_off();
            assert_eq!(a.ended(), (vec![(Send, 1, Flushed)], Event::Disconnected));
            assert_eq!(b.ended(), (vec![], Event::Disconnected));
        }
        // Both disconnect gracefully with one waiting request each, which completes once the other receives.
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
fn a_reset_allows_another_connection_and_keeps_unpolled_completions() {
    connected(|world, a, b| {
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
            // While unconnected, receives stay posted.
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
fn retire_and_drop_end_a_connection_without_a_local_event() {
    in_world(|world| {
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
                a.qp.shutdown();
                a.qp.shutdown();
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
