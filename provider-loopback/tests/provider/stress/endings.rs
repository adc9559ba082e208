//! Threads that end the same connection, or answer and abandon the same attempt.

use std::sync::Barrier;

use super::*;

#[test]
fn both_sides_can_disconnect_at_the_same_time() {
    in_world(|world| {
        let (a, b) = (world.side(), world.side());
        let barrier = Barrier::new(2);
        for round in 0..rounds(3000) {
            world.join(&a, &b);
            for cookie in 0..3 {
                a.receive(cookie, &[]);
                a.send(10 + cookie, &[]);
                b.send(20 + cookie, &[]);
                b.send(30 + cookie, &[]);
            }
            thread::scope(|scope| {
                for (side, how) in [(&a, close(round)), (&b, close(round / 2))] {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        side.qp.disconnect(how);
                    });
                }
            });
            // Two graceful disconnects wait for each other's receives.
            a.break_off();
            for (side, count) in [(&a, 6), (&b, 6)] {
                let (completions, events) = split(side.log());
                assert_eq!(completions.len(), count);
                assert_eq!(events, [Event::Disconnected]);
                side.qp.reset().unwrap();
            }
        }
    });
}

#[test]
fn freeing_and_breaking_at_the_same_time_is_one_end() {
    in_world(|world| {
        for round in 0..rounds(1000) {
            let (a, b) = world.pair();
            let recorder = Arc::clone(&b.recorder);
            for cookie in 0..4 {
                a.receive(cookie, &[]);
                a.send(cookie, &[]);
            }
            thread::scope(|scope| {
                scope.spawn(|| {
                    if round % 2 == 0 {
                        a.qp.shutdown();
                    } else {
                        drop(a);
                    }
                });
                scope.spawn(|| {
                    let remote = dat_core::RmrTriplet { address: 1, length: 1, context: 1 };
                    let work = Work::RdmaWrite { remote };
                    let bad = dat_core::provider::Segment { address: 1, length: 1, key: 0 };
                    let _ = b.request(work, 7, &[bad], CompletionFlags::empty());
                });
            });
            recorder.drain();
            let (completions, events) = split(b.log());
            assert_eq!(events.len(), 1, "{events:?}");
            assert_eq!(completions.len(), 1);
        }
    });
}

#[test]
fn attempts_answered_while_they_are_abandoned_have_one_outcome() {
    in_world(|world| {
        let (a, b) = (world.side(), world.side());
        let barrier = Barrier::new(2);
        let mut established = 0;
        for round in 0..rounds(3000) {
            let attempt = world.connect(&a, &[]);
            let incoming = world.requests.take();
            let accepted = b.next_attempt();
            thread::scope(|scope| {
                scope.spawn(|| {
                    barrier.wait();
                    match round % 4 {
                        3 => incoming.responder.reject(&[]).unwrap(),
                        _ => incoming.responder.accept(&*b.qp, accepted, &[]).unwrap(),
                    }
                });
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..round % 64 {
                        std::hint::spin_loop();
                    }
                    if round % 4 == 1 { b.break_off() } else { a.break_off() }
                });
            });
            a.break_off();
            b.break_off();
            for (side, number) in [(&a, attempt), (&b, accepted)] {
                let log = side.log();
                let events: Vec<_> = log
                    .iter()
                    .map(|entry| match entry {
                        Entry::Event(n, event) if *n == number => event,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                match &events[..] {
                    [Event::Established { .. }, Event::Disconnected] => established += 1,
                    [Event::AcceptFailed(_) | Event::NonPeerRejected | Event::PeerRejected(_)]
                    | [] => {}
                    _ => panic!("{events:?}"),
                }
            }
            a.qp.reset().unwrap();
            if b.qp.reset().is_err() {
                assert!(round % 4 == 1 || round % 4 == 3, "never connected");
            }
        }
        eprintln!("{established} sides were established");
    });
}
