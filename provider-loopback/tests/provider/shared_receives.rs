//! Shared receive queues.

use crate::common::{Buffer, Event, Setup, Shared, Side, World, in_world};
use dat_core::ReturnType;
use dat_core::flags::Privileges;
use dat_core::{DtoStatus::*, Operation::*};

/// Runs a bounded test on two connected sides, of which the second receives from a shared queue.
fn sharing(
    max_receives: u32,
    test: impl FnOnce(&World, &Shared, Side, Side) + 'static + std::marker::Send,
) {
    in_world(move |world| {
        let shared = Shared::new(world, max_receives);
        let (a, b) = world.pair_with(Setup::default(), shared.setup());
        test(world, &shared, a, b);
    });
}

#[test]
fn buffers_are_used_in_order_by_the_queue_pair_that_receives_next() {
    sharing(8, |world, shared, a, b| {
        let (c, d) = world.pair_with(shared.setup(), Setup::default());
        let (from, to) = (world.buffer(100), world.buffer(100));
        let sent = from.fill(1);
        for n in 0..6_usize {
            shared.post(n as u64, &[to.segment(n * 10, 4), to.segment(n * 10 + 4, 6)]).unwrap();
        }
        assert_eq!(shared.queue.counts(), (6, 6));
        for n in 0..6_u64 {
            let segment = from.segment(n as usize * 10, 10);
            if n % 3 == 0 { a.send(n, &[segment]) } else { d.send(n, &[segment]) }
        }
        assert_eq!(to.bytes()[..60], sent[..60]);
        assert_eq!(shared.queue.counts(), (0, 6), "completed, not polled");
        assert_eq!((b.cookies(), c.cookies()), (vec![0, 3], vec![1, 2, 4, 5]));
        assert_eq!(shared.queue.counts(), (0, 0));
        assert!(b.try_receive(1, &[]).is_err(), "the queue pair has no receives of its own");
    });
}

#[test]
fn senders_that_wait_for_buffers_continue_in_turn() {
    sharing(8, |world, shared, a, b| {
        let (c, d) = world.pair_with(Setup::default(), shared.setup());
        let (e, f) = world.pair_with(Setup::default(), shared.setup());
        for cookie in 1..=2 {
            a.send(cookie, &[]);
            c.send(cookie, &[]);
            e.send(cookie, &[]);
        }
        // A queue pair that was dropped uses no buffer.
        drop((c, d));
        for cookie in 10..14 {
            shared.post(cookie, &[]).unwrap();
        }
        assert_eq!((b.cookies(), f.cookies()), (vec![10, 12], vec![11, 13]));
        assert_eq!((a.cookies(), e.cookies()), (vec![1, 2], vec![1, 2]));
        // No request waits, so that buffers stay posted.
        shared.post(14, &[]).unwrap();
        assert_eq!(shared.queue.counts(), (1, 1));
        a.send(3, &[]);
        assert_eq!(b.cookies(), [14]);
    });
}

#[test]
fn credits_are_used_until_polled_and_their_number_can_be_changed() {
    sharing(2, |_, shared, a, b| {
        shared.post(1, &[]).unwrap();
        shared.post(2, &[]).unwrap();
        assert!(shared.post(3, &[]).unwrap_err().is(ReturnType::InsufficientResources));
        assert!(shared.queue.resize(1).unwrap_err().is(ReturnType::InvalidState));
        shared.queue.resize(3).unwrap();
        shared.post(3, &[]).unwrap();
        assert!(shared.post(4, &[]).is_err());
        a.send(1, &[]);
        a.send(2, &[]);
        assert!(shared.queue.resize(2).is_err(), "completed receives count until polled");
        assert_eq!(b.cookies(), [1, 2]);
        shared.queue.resize(1).unwrap();
        assert!(shared.post(5, &[]).is_err());
        a.send(3, &[]);
        assert_eq!(b.cookies(), [3]);
    });
}

#[test]
fn the_low_watermark_is_reported_once_each_time_it_is_armed() {
    sharing(8, |_, shared, a, b| {
        shared.queue.arm_low_watermark(0);
        assert_eq!(shared.watermark_upcalls(), 0);
        shared.queue.arm_low_watermark(1);
        assert_eq!(shared.watermark_upcalls(), 1, "empty already");
        for cookie in 0..5 {
            shared.post(cookie, &[]).unwrap();
        }
        shared.queue.arm_low_watermark(4);
        a.send(0, &[]);
        assert_eq!(shared.watermark_upcalls(), 1, "four are not fewer than four");
        a.send(1, &[]);
        assert_eq!(shared.watermark_upcalls(), 2);
        a.send(2, &[]);
        assert_eq!(shared.watermark_upcalls(), 2, "once");
        assert_eq!(b.done().len(), 3);
    });
}

#[test]
fn a_break_uses_only_the_buffer_of_the_failed_message() {
    sharing(8, |world, shared, a, b| {
        let buffer = world.buffer(100);
        for cookie in 0..3 {
            shared.post(cookie, &[buffer.segment(0, 5)]).unwrap();
        }
        a.send(9, &[buffer.segment(0, 6)]);
        assert_eq!(a.ended(), (vec![(Send, 9, RemoteResponder)], Event::Broken));
        assert_eq!(b.ended(), (vec![(Receive, 0, LocalLength)], Event::Broken));
        assert_eq!(shared.queue.counts(), (2, 2));
        let (a, b) = world.pair_with(Setup::default(), shared.setup());
        let gone = world.buffer(8);
        let segment = gone.segment(0, 5);
        gone.region.deregister().unwrap();
        a.send(9, &[segment]);
        assert_eq!(a.ended(), (vec![(Send, 9, LocalProtection)], Event::Broken));
        assert_eq!(b.ended(), (vec![], Event::Broken));
        assert_eq!(shared.queue.counts(), (2, 2));
    });
}

#[test]
fn buffers_need_the_domain_of_their_queue() {
    in_world(|world| {
        let other = world.adapter.create_domain().unwrap();
        let shared = Shared::in_domain(world, &other, 8);
        let (a, b) = world.pair_with(Setup::default(), shared.setup());
        let to = Buffer::new(&*other, 10, Privileges::ALL);
        let wrong = world.buffer(10);
        let bytes = wrong.fill(1);
        shared.post(1, &[to.segment(0, 10)]).unwrap();
        a.send(2, &[wrong.segment(0, 10)]);
        assert_eq!(to.bytes(), bytes);
        assert_eq!(b.done(), [(Receive, 1, 10, Success)]);
        shared.post(3, &[wrong.segment(0, 10)]).unwrap();
        a.send(4, &[wrong.segment(0, 10)]);
        assert_eq!(b.ended(), (vec![(Receive, 3, LocalProtection)], Event::Broken));
    });
}

#[test]
fn a_waiting_sender_can_disconnect_and_connect_again() {
    sharing(8, |world, shared, a, b| {
        for _ in 0..3 {
            a.send(1, &[]);
            a.break_off();
            assert_eq!(a.ended(), (vec![(Send, 1, Flushed)], Event::Disconnected));
            assert_eq!(b.ended(), (vec![], Event::Disconnected));
            a.qp.reset().unwrap();
            b.qp.reset().unwrap();
            world.join(&a, &b);
        }
        a.send(2, &[]);
        shared.post(5, &[]).unwrap();
        assert_eq!((a.cookies(), b.cookies()), (vec![2], vec![5]));
    });
}
