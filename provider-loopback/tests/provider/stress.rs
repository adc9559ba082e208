//! Many threads at once: nothing is lost, told twice, touched late, or stuck.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Buffer, Entry, Event, Setup, Side, World, bounded, eventually};
use dat_core::flags::{Close, CompletionFlags, Privileges};
use dat_core::provider::{
    Completion, Epoch, ReceiveRequest, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink,
    Work,
};
use dat_core::{DtoStatus, ReturnType};

/// Rounds that are fewer under an interpreter.
const fn rounds(count: u64) -> u64 {
    if cfg!(miri) { count / 100 + 1 } else { count }
}

/// The completions and the events of a log.
fn split(log: Vec<Entry>) -> (Vec<Completion>, Vec<Event>) {
    let (mut completions, mut events) = (Vec::new(), Vec::new());
    for entry in log {
        match entry {
            Entry::Completion(completion) => completions.push(completion),
            Entry::Event(_, event) => events.push(event),
        }
    }
    (completions, events)
}

fn close(number: u64) -> Close {
    if number % 2 == 0 { Close::Abrupt } else { Close::Graceful }
}

#[test]
fn both_sides_can_end_a_connection_at_once() {
    bounded(|| {
        let world = World::new();
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
            // Two graceful ones wait for each other's receives.
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
fn freeing_and_breaking_at_once_is_one_end() {
    bounded(|| {
        let world = World::new();
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
                        a.qp.retire();
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
fn attempts_answered_while_they_are_given_up_have_one_outcome() {
    bounded(|| {
        let world = World::new();
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
                        3 => incoming.answer.reject(&[]).unwrap(),
                        _ => incoming.answer.accept(&*b.qp, accepted, &[]).unwrap(),
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
                    [Event::AcceptFailed | Event::NonPeerRejected | Event::PeerRejected(_)]
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

/// One thread's posts: those that were taken, in order, by stream.
#[derive(Default)]
struct Taken {
    receives: Vec<u64>,
    requests: Vec<u64>,
}

/// Posts receives, sends and writes until told to stop.
fn post(side: &Side, buffer: &Buffer, cookies: &AtomicU64, stop: &AtomicBool) -> Taken {
    let mut taken = Taken::default();
    let room = |error: dat_core::Error| {
        let full = error.is(ReturnType::InsufficientResources);
        assert!(full || error.is(ReturnType::InvalidState), "{error}");
        side.recorder.drain();
    };
    while !stop.load(Ordering::Relaxed) {
        let cookie = cookies.fetch_add(1, Ordering::Relaxed);
        match side.try_receive(cookie, &[buffer.segment(0, 16)]) {
            Ok(()) => taken.receives.push(cookie),
            Err(error) => room(error),
        }
        let cookie = cookies.fetch_add(1, Ordering::Relaxed);
        let work = match cookie % 6 {
            0 => Work::RdmaWrite { remote: buffer.remote(32, 16) },
            1 => Work::RdmaRead { remote: buffer.remote(48, 16) },
            _ => Work::Send,
        };
        match side.request(work, cookie, &[buffer.segment(16, 16)], CompletionFlags::empty()) {
            Ok(()) => taken.requests.push(cookie),
            Err(error) => room(error),
        }
    }
    taken
}

#[test]
fn every_cookie_comes_back_once_and_in_order() {
    bounded(|| {
        let world = World::new();
        let succeeded = AtomicU64::new(0);
        thread::scope(|scope| {
            for pair in 0..3_u64 {
                let (a, b) = (world.side(), world.side());
                let (world, succeeded) = (&world, &succeeded);
                scope.spawn(move || {
                    let buffer = world.buffer(64);
                    for round in 0..rounds(40) {
                        exchange(world, (&a, &b), &buffer, pair + round, succeeded);
                    }
                });
            }
        });
        assert!(succeeded.into_inner() > 0);
    });
}

/// Connects, posts from two threads on each side, ends the connection, and accounts.
fn exchange(
    world: &World,
    (a, b): (&Side, &Side),
    buffer: &Buffer,
    number: u64,
    succeeded: &AtomicU64,
) {
    // All pairs have one listener, so one joins at a time.
    static JOIN: Mutex<()> = Mutex::new(());
    {
        let _one = JOIN.lock().unwrap();
        world.join(a, b);
    }
    let (stop, cookies) = (AtomicBool::new(false), AtomicU64::new(0));
    let taken: Vec<(bool, Taken)> = thread::scope(|scope| {
        let posters: Vec<_> = [true, true, false, false]
            .into_iter()
            .map(|active| {
                let side = if active { a } else { b };
                let (stop, cookies) = (&stop, &cookies);
                (active, scope.spawn(move || post(side, buffer, cookies, stop)))
            })
            .collect();
        thread::sleep(Duration::from_millis(2 + number % 3));
        if number % 2 == 0 { a } else { b }.qp.disconnect(close(number / 2));
        thread::sleep(Duration::from_millis(1));
        b.break_off();
        stop.store(true, Ordering::Relaxed);
        posters.into_iter().map(|(active, thread)| (active, thread.join().unwrap())).collect()
    });
    for (active, side) in [(true, a), (false, b)] {
        assert!(side.qp.outstanding().receives == 0 && side.qp.outstanding().requests == 0);
        let (completions, events) = split(side.log());
        assert_eq!(events, [Event::Disconnected]);
        let place: HashMap<u64, usize> =
            completions.iter().enumerate().map(|(at, one)| (one.cookie, at)).collect();
        assert_eq!(place.len(), completions.len(), "a cookie came back twice");
        let mine = || taken.iter().filter(|one| one.0 == active).map(|one| &one.1);
        let posts: usize = mine().map(|one| one.receives.len() + one.requests.len()).sum();
        assert_eq!(posts, completions.len(), "a cookie did not come back");
        for stream in mine().flat_map(|one| [&one.receives, &one.requests]) {
            let order: Vec<_> = stream.iter().map(|cookie| place[cookie]).collect();
            assert!(order.is_sorted(), "out of order");
        }
        let good = completions.iter().filter(|one| one.status == DtoStatus::Success).count();
        succeeded.fetch_add(good as u64, Ordering::Relaxed);
        side.qp.reset().unwrap();
    }
}

#[test]
fn deregistered_memory_is_never_touched_again() {
    bounded(|| {
        let world = World::new();
        // Long, so that the deregistering falls into a copy.
        let length = if cfg!(miri) { 256 } else { 4 << 20 };
        let source = world.buffer(length);
        // The target's domain is of one side only: the other copies into it all the same.
        let domain = world.adapter.create_domain().unwrap();
        for round in 0..if cfg!(miri) { 3 } else { 45 } {
            let setup = Setup { domain: Some(Arc::clone(&domain)), ..Setup::default() };
            let (a, b) = world.pair_with(Setup::default(), setup);
            let target = Buffer::new(&*domain, length, Privileges::ALL);
            let started = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    // One of three ways into the target until the connection breaks.
                    for cookie in 0.. {
                        match round % 3 {
                            0 => a.write(
                                cookie,
                                &[source.segment(0, length)],
                                target.remote(0, length),
                            ),
                            1 => {
                                // Waits behind a send, so the other side's thread copies.
                                b.send(cookie, &[]);
                                let from = source.remote(0, length);
                                b.read(cookie, &[target.segment(0, length)], from);
                                a.receive(cookie, &[]);
                            }
                            _ => {
                                b.receive(cookie, &[target.segment(0, length)]);
                                a.send(cookie, &[source.segment(0, length)]);
                            }
                        }
                        started.store(true, Ordering::Release);
                        let (a_log, b_log) = (split(a.log()), split(b.log()));
                        if !a_log.1.is_empty() || !b_log.1.is_empty() {
                            return;
                        }
                    }
                });
                scope.spawn(|| {
                    while !started.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    thread::sleep(Duration::from_micros(round * 7));
                    target.region.deregister().unwrap();
                    // The end of it, where a copy that still ran would come last.
                    let mark = [0xEE; 64];
                    target.memory.write(length - 64, &mark).unwrap();
                    let until = Instant::now() + Duration::from_millis(5);
                    while Instant::now() < until {
                        let tail = target.memory.to_vec(length - 64, 64).unwrap();
                        assert_eq!(tail, mark, "touched after deregister");
                    }
                });
            });
        }
    });
}

#[test]
fn deregistering_while_connections_come_and_go_does_not_lock_up() {
    bounded(|| {
        let world = World::new();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    world.buffer(64).region.deregister().unwrap();
                }
            });
            for round in 0..rounds(500) {
                let (a, b) = world.pair();
                b.receive(1, &[]);
                a.send(2, &[]);
                a.send(3, &[]);
                match round % 3 {
                    0 => a.break_off(),
                    1 => drop(b),
                    _ => b.qp.retire(),
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

struct NoSink;

impl SharedReceiveSink for NoSink {
    fn low_watermark_reached(&self) {}
}

#[test]
fn a_shared_queue_serves_all_its_senders_to_the_last_message() {
    bounded(|| {
        let world = World::new();
        let limits = SharedReceiveLimits { max_receives: 4, max_segments: 1 };
        let domain = Arc::clone(&world.domain);
        let queue: Arc<dyn SharedReceiveQueue> =
            world.adapter.create_shared_receive_queue(domain, limits, Arc::new(NoSink)).unwrap();
        let setup = Setup { shared: Some(Arc::clone(&queue)), ..Setup::default() };
        let pairs: Vec<_> =
            (0..4).map(|_| world.pair_with(Setup::default(), setup.clone())).collect();
        let (each, buffer) = (rounds(3000), world.buffer(8));
        let expected = each * pairs.len() as u64;
        let received = AtomicU64::new(0);
        let posted: Vec<u64> = thread::scope(|scope| {
            for (sender, _) in &pairs {
                let buffer = &buffer;
                scope.spawn(move || {
                    for cookie in 0..each {
                        let flags = CompletionFlags::empty();
                        eventually("room to send", || {
                            sender.recorder.drain();
                            sender
                                .request(Work::Send, cookie, &[buffer.segment(0, 8)], flags)
                                .is_ok()
                        });
                    }
                });
            }
            let posters: Vec<_> = (0..2_u64)
                .map(|poster| {
                    let (queue, received, pairs, buffer) = (&queue, &received, &pairs, &buffer);
                    scope.spawn(move || {
                        let mut count = 0;
                        while received.load(Ordering::Relaxed) < expected {
                            let segments = [buffer.segment(0, 8)];
                            let flags = CompletionFlags::empty();
                            let cookie = poster << 32 | count;
                            let checked = Epoch::default();
                            let segments = &segments;
                            let receive = ReceiveRequest { segments, cookie, flags, checked };
                            count += u64::from(queue.post_receive(&receive).is_ok());
                            for (_, receiver) in pairs {
                                receiver.recorder.drain();
                            }
                            let done = received_so_far(pairs);
                            received.store(done, Ordering::Relaxed);
                        }
                        count
                    })
                })
                .collect();
            posters.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (on_queue, outstanding) = queue.counts();
        assert_eq!(on_queue, outstanding, "all others were polled");
        assert_eq!(posted.iter().sum::<u64>(), expected + u64::from(on_queue));
        let mut cookies: Vec<u64> = pairs
            .iter()
            .flat_map(|(_, receiver)| receiver.completions())
            .map(|completion| completion.cookie)
            .collect();
        assert_eq!(cookies.len() as u64, expected);
        cookies.sort_unstable();
        cookies.dedup();
        assert_eq!(cookies.len() as u64, expected, "a buffer was used twice");
        for (sender, _) in &pairs {
            let order: Vec<u64> = sender.completions().iter().map(|one| one.cookie).collect();
            assert_eq!(order, (0..each).collect::<Vec<_>>());
        }
    });
}

fn received_so_far(pairs: &[(Side, Side)]) -> u64 {
    pairs.iter().map(|(_, receiver)| receiver.recorder.len() as u64).sum()
}

#[test]
fn memory_of_one_domain_can_be_freed_while_another_works() {
    bounded(|| {
        let world = World::new();
        let other = world.adapter.create_domain().unwrap();
        let (a, b) = world.pair();
        let buffer = world.buffer(64);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds(2000) {
                    Buffer::new(&*other, 64, Privileges::ALL).region.deregister().unwrap();
                }
            });
            for cookie in 0..rounds(2000) {
                b.receive(cookie, &[buffer.segment(0, 8)]);
                a.send(cookie, &[buffer.segment(8, 8)]);
                assert_eq!((a.done().len(), b.done().len()), (1, 1));
            }
        });
    });
}
