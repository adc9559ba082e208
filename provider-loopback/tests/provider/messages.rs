//! Sends and receives.

use crate::common::{Buffer, Entry, Event, Setup, World, connected, in_world};
use dat_core::flags::Privileges;
use dat_core::provider::{QueuePairLimits, Segment};
use dat_core::{DtoStatus, DtoStatus::*, Operation::*, ReturnType, Subtype};

#[test]
fn messages_arrive_unchanged_in_both_directions() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(10_000), world.buffer(10_000));
        for (round, (sender, receiver)) in [(&a, &b), (&b, &a)].into_iter().enumerate() {
            let sent = from.fill(round as u8);
            receiver.receive(1, &[to.segment(0, 10_000)]);
            sender.send(2, &[from.segment(0, 10_000)]);
            assert_eq!(to.bytes(), sent);
            assert_eq!(sender.done(), [(Send, 2, 10_000, Success)]);
            assert_eq!(receiver.done(), [(Receive, 1, 10_000, Success)]);
        }
    });
}

#[test]
fn segments_are_gathered_and_scattered_in_order() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(1000), world.buffer(1000));
        let bytes = from.fill(7);
        let gathered = [(500, 100), (0, 0), (3, 17), (100, 83)];
        let scattered = [(900, 1), (10, 150), (400, 0), (600, 200)];
        let message: Vec<u8> =
            gathered.iter().flat_map(|&(at, len)| bytes[at..at + len].to_vec()).collect();
        b.receive(1, &scattered.map(|(at, len)| to.segment(at, len)));
        a.send(2, &gathered.map(|(at, len)| from.segment(at, len)));
        let mut expected = vec![0; 1000];
        let mut rest = &message[..];
        for (at, len) in scattered {
            let (part, after) = rest.split_at(len.min(rest.len()));
            expected[at..at + part.len()].copy_from_slice(part);
            rest = after;
        }
        assert!(rest.is_empty());
        assert_eq!(to.bytes(), expected);
        assert_eq!(b.done(), [(Receive, 1, 200, Success)]);
    });
}

#[test]
fn a_message_may_be_empty_and_shorter_than_its_receive() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(64), world.buffer(64));
        let bytes = from.fill(1);
        b.receive(1, &[]);
        b.receive(2, &[to.segment(0, 64)]);
        b.receive(3, &[to.segment(0, 64)]);
        a.send(4, &[]);
        a.send(5, &[]);
        a.send(6, &[from.segment(0, 10)]);
        let lengths: Vec<_> = b.done().into_iter().map(|done| (done.1, done.2)).collect();
        assert_eq!(lengths, [(1, 0), (2, 0), (3, 10)]);
        assert_eq!(to.bytes()[..11], [&bytes[..10], &[0]].concat());
    });
}

#[test]
fn sends_wait_for_receives_and_later_requests_wait_for_them() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(100), world.buffer(100));
        let sent = from.fill(9);
        a.send(1, &[from.segment(0, 10)]);
        a.write(2, &[from.segment(10, 10)], to.remote(50, 10));
        a.send(3, &[from.segment(20, 10)]);
        a.read(4, &[from.segment(90, 5)], to.remote(0, 5));
        assert!(a.done().is_empty());
        assert!(a.qp.outstanding().requests != 0);
        assert_eq!(to.bytes(), [0; 100], "the write overtook a send");
        b.receive(11, &[to.segment(0, 10)]);
        assert_eq!(a.done(), [(Send, 1, 10, Success), (RdmaWrite, 2, 10, Success)]);
        assert_eq!(to.bytes()[50..60], sent[10..20]);
        b.receive(12, &[to.segment(10, 10)]);
        assert_eq!(a.done(), [(Send, 3, 10, Success), (RdmaRead, 4, 5, Success)]);
        assert_eq!(to.bytes()[..10], sent[..10]);
        assert_eq!(to.bytes()[10..20], sent[20..30]);
        assert_eq!(from.bytes()[90..95], sent[..5]);
        assert_eq!(b.done(), [(Receive, 11, 10, Success), (Receive, 12, 10, Success)]);
        assert!(a.qp.outstanding().requests == 0 && b.qp.outstanding().receives == 0);
    });
}

#[test]
fn credits_are_used_until_completions_are_polled() {
    connected(|_, a, b| {
        let full = |error: dat_core::Error| {
            assert!(error.is(ReturnType::InsufficientResources));
            assert_eq!(error.subtype(), Subtype::ResourceCredits);
        };
        for cookie in 0..8 {
            b.receive(cookie, &[]);
        }
        full(b.try_receive(9, &[]).unwrap_err());
        for cookie in 0..8 {
            a.send(cookie, &[]);
        }
        // All are completed, and none is polled.
        assert!(a.qp.outstanding().requests == 0 && b.qp.outstanding().receives == 0);
        full(b.try_receive(9, &[]).unwrap_err());
        full(a.try_send(9, &[]).unwrap_err());
        assert_eq!((a.done().len(), b.done().len()), (8, 8));
        b.receive(9, &[]);
        a.send(9, &[]);
        assert_eq!((a.done().len(), b.done().len()), (1, 1));
    });
}

#[test]
fn without_a_completion_queue_credits_return_at_once() {
    in_world(|world| {
        let silent = Setup { with_requests: false, with_receives: false, ..Setup::default() };
        let (a, b) = world.pair_with(silent.clone(), silent);
        a.send_to(&b, 0..100);
        assert!(a.done().is_empty() && b.done().is_empty());
    });
}

#[test]
fn a_message_longer_than_its_receive_breaks_the_connection() {
    connected(|world, a, b| {
        let (from, to) = (world.buffer(64), world.buffer(64));
        from.fill(3);
        b.receive(1, &[to.segment(0, 10), to.segment(20, 10)]);
        b.receive(2, &[to.segment(0, 64)]);
        a.receive(3, &[]);
        a.send(4, &[from.segment(0, 21)]);
        a.send(5, &[from.segment(0, 1)]);
        assert_eq!(to.bytes(), [0; 64], "something was copied");
        let flushed = [(Receive, 1, LocalLength), (Receive, 2, Flushed)];
        assert_eq!(b.ended(), (flushed.to_vec(), Event::Broken));
        let mut log = a.log();
        log.retain(|entry| matches!(entry, Entry::Completion(_)));
        assert_eq!(log.len(), 3, "the failed send, the receive, the later send");
    });
}

#[test]
fn a_waiting_message_that_fails_flushes_later_ones_in_order() {
    connected(|world, a, b| {
        let buffer = world.buffer(64);
        a.receive(20, &[]);
        for cookie in 1..=3 {
            a.send(cookie, &[buffer.segment(0, 2)]);
        }
        b.send(30, &[buffer.segment(0, 0)]);
        b.send(31, &[]);
        b.receive(10, &[buffer.segment(0, 1)]);
        let failed = [
            (Receive, 20, Success),
            (Send, 1, RemoteResponder),
            (Send, 2, Flushed),
            (Send, 3, Flushed),
        ];
        assert_eq!(a.ended(), (failed.to_vec(), Event::Broken));
        let failed = [(Send, 30, Success), (Receive, 10, LocalLength), (Send, 31, Flushed)];
        assert_eq!(b.ended(), (failed.to_vec(), Event::Broken));
    });
}

#[test]
fn memory_freed_after_the_post_fails_on_the_side_that_freed_it() {
    in_world(|world| {
        // The memory of the sender.
        let (a, b) = world.pair();
        let (from, to) = (world.buffer(64), world.buffer(64));
        a.send(1, &[from.segment(0, 8)]);
        from.region.deregister().unwrap();
        b.receive(2, &[to.segment(0, 8)]);
        assert_eq!(a.ended(), (vec![(Send, 1, LocalProtection)], Event::Broken));
        assert_eq!(b.ended(), (vec![(Receive, 2, Flushed)], Event::Broken));
        // The memory of the receiver.
        let (a, b) = world.pair();
        let from = world.buffer(64);
        b.receive(2, &[to.segment(0, 8)]);
        to.region.deregister().unwrap();
        to.region.deregister().expect("a second call does nothing");
        a.send(1, &[from.segment(0, 8)]);
        assert_eq!(a.ended(), (vec![(Send, 1, RemoteResponder)], Event::Broken));
        assert_eq!(b.ended(), (vec![(Receive, 2, LocalProtection)], Event::Broken));
    });
}

/// Checks the statuses of a receive and a send on a new connection, which they break.
fn broken_by(
    world: &World,
    (to, received): (&[Segment], DtoStatus),
    (from, sent): (&[Segment], DtoStatus),
) {
    let (a, b) = world.pair();
    b.receive(2, to);
    a.send(1, from);
    assert_eq!(a.ended(), (vec![(Send, 1, sent)], Event::Broken));
    assert_eq!(b.ended(), (vec![(Receive, 2, received)], Event::Broken));
}

#[test]
fn local_memory_needs_the_domain_and_the_privilege() {
    in_world(|world| {
        let other = world.adapter.create_domain().unwrap();
        let foreign = Buffer::new(&*other, 64, Privileges::ALL);
        let unreadable = Buffer::new(&*world.domain, 64, Privileges::LOCAL_WRITE);
        let unwritable = Buffer::new(&*world.domain, 64, Privileges::LOCAL_READ);
        let good = world.buffer(64);
        let whole = [good.segment(0, 8)];
        for bad in [&foreign, &unreadable] {
            let from = [good.segment(0, 4), bad.segment(0, 4)];
            broken_by(world, (&whole, Flushed), (&from, LocalProtection));
        }
        for bad in [&foreign, &unwritable] {
            let to = [good.segment(0, 4), bad.segment(0, 4)];
            broken_by(world, (&to, LocalProtection), (&whole, RemoteResponder));
        }
        let beyond = Segment { length: 5, ..good.segment(60, 4) };
        broken_by(world, (&whole, Flushed), (&[beyond], LocalProtection));
        assert_eq!(good.bytes(), [0; 64]);
    });
}

#[test]
fn a_full_send_queue_keeps_the_segments_of_each_request() {
    in_world(|world| {
        let limits = QueuePairLimits { max_requests: 200, ..Setup::default().limits };
        let (a, b) =
            world.pair_with(Setup { limits, depth: 500, ..Setup::default() }, Setup::default());
        let (from, to) = (world.buffer(1000), world.buffer(1000));
        let sent = from.fill(5);
        for n in 0..200 {
            a.send(n as u64, &[from.segment(n * 5, 2), from.segment(n * 5 + 2, 3)]);
        }
        for n in 0..200 {
            b.receive(n as u64, &[to.segment(n * 5, 5)]);
            assert_eq!(b.done(), [(Receive, n as u64, 5, Success)]);
        }
        assert_eq!(to.bytes(), sent);
        assert_eq!(a.cookies(), (0..200).collect::<Vec<_>>());
    });
}
