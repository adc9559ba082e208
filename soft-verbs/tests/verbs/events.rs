//! Completion channels, notification and asynchronous events.

use std::os::fd::AsFd;
use std::sync::Arc;

use dat_soft_verbs::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::world::{QUEUE, QUEUE_PAIR, Side, connected, connected_to, pair};

/// Returns true if the descriptor becomes readable within some milliseconds.
fn is_readable(descriptor: impl AsFd) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: 30_000_000 };
    let mut fds = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut fds, Some(&wait)).expect("no signal") == 1
}

#[test]
fn a_request_for_an_event_makes_one_event() {
    let [one, other] = pair();
    for round in 0..20 {
        (0..2).for_each(|n| other.receive(n, other.sge(0, 64)));
        other.queue.request_notification(false).expect("it has a channel");
        (0..2).for_each(|n| one.post(n, SendOperation::Send, one.sge(0, 8)));
        assert_eq!(other.channel.next().expect("an event"), QUEUE, "round {round}");
        other.done(2);
        one.done(2);
        assert!(round != 0 || !is_readable(other.channel.descriptor()), "one event");
    }
}

#[test]
fn completions_that_are_there_already_make_no_event() {
    let [one, other] = pair();
    other.receive(1, other.sge(0, 64));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    one.done(1);
    let mut none = [];
    other.queue.poll(&mut none);
    other.queue.request_notification(false).expect("it has a channel");
    other.done(1);
    other.receive(3, other.sge(0, 64));
    one.post(4, SendOperation::Send, one.sge(0, 8));
    assert_eq!(other.channel.next().expect("an event"), QUEUE);
    assert_eq!(other.brief(1), [(3, WcStatus::SUCCESS)]);
}

#[test]
fn only_solicited_messages_and_failures_make_an_event_if_that_is_requested() {
    let [one, other] = pair();
    (0..4).for_each(|n| other.receive(n, other.sge(0, 64)));
    other.queue.request_notification(true).expect("it has a channel");
    one.post(1, SendOperation::Send, one.sge(0, 8));
    assert!(!is_readable(other.channel.descriptor()));
    let flags = SendFlags::SIGNALED | SendFlags::SOLICITED;
    one.post_with(2, SendOperation::Send, &[one.sge(0, 8)], flags).expect("a send");
    assert_eq!(other.channel.next().expect("an event"), QUEUE);
    other.done(2);
    other.queue.request_notification(true).expect("it has a channel");
    other.move_to(QueuePairState::Err).expect("from every state");
    assert_eq!(other.channel.next().expect("an event"), QUEUE);
    assert_eq!(other.brief(2), [2, 3].map(|n| (n, WcStatus::WR_FLUSH_ERR)));
}

#[test]
fn a_failure_that_never_reached_the_peer_makes_an_event() {
    let side = Side::new(QueuePairType::Rc);
    side.init();
    side.rtr(0x00ff_ff01);
    side.rts();
    side.queue.request_notification(false).expect("it has a channel");
    side.move_to(QueuePairState::Err).expect("from every state");
    side.post(1, SendOperation::Send, side.sge(0, 8));
    assert_eq!(side.channel.next().expect("an event"), QUEUE);
    assert_eq!(side.brief(1), [(1, WcStatus::WR_FLUSH_ERR)]);
}

#[test]
fn a_channel_that_does_not_block_has_no_event() {
    let side = Side::new(QueuePairType::Rc);
    let flags = rustix::fs::fcntl_getfl(side.channel.descriptor()).expect("open");
    let flags = flags | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(side.channel.descriptor(), flags).expect("open");
    assert_eq!(side.channel.next().expect_err("none").errno, libc::EAGAIN);
    let lonely = side.context.create_completion_queue(1, 0, None).expect("a queue");
    assert_eq!(lonely.request_notification(false).expect_err("no channel").errno, libc::EINVAL);
}

#[test]
fn a_destroyed_queue_leaves_no_event() {
    let context = crate::world::context();
    let channel = context.create_channel().expect("a channel");
    let side = Side::with(QueuePairType::Rc, |_, init| {
        init.send_queue = context.create_completion_queue(8, 5, Some(&channel)).expect("a queue");
    });
    let queue = Arc::clone(&side.qp.init().send_queue);
    queue.request_notification(false).expect("it has a channel");
    side.init();
    side.move_to(QueuePairState::Err).expect("from every state");
    side.post(1, SendOperation::Send, side.sge(0, 8));
    assert!(is_readable(channel.descriptor()));
    side.qp.destroy().expect("not used");
    queue.destroy().expect("not used");
    assert!(!is_readable(channel.descriptor()));
}

#[test]
fn a_queue_that_overflows_reports_it_once() {
    let context = crate::world::context();
    let side = || {
        Side::with(QueuePairType::Rc, |_, init| {
            init.receive_queue = context.create_completion_queue(2, 6, None).expect("a queue");
        })
    };
    let [one, other] = connected([side(), side()]);
    (0..8).for_each(|n| other.receive(n, other.sge(0, 64)));
    (0..8).for_each(|n| one.post(n, SendOperation::Send, one.sge(0, 8)));
    one.done(8);
    let event = context.async_events().next().expect("an event");
    let expected = (AsyncEventType::CompletionQueueError, AsyncElement::CompletionQueue(6));
    assert_eq!((event.kind, event.element), expected);
    assert!(!is_readable(context.async_events().descriptor()));
}

#[test]
fn a_queue_is_resized_and_loses_nothing() {
    let [one, other] = pair();
    (0..8).for_each(|n| other.receive(n, other.sge(0, 64)));
    (0..8).for_each(|n| one.post(n, SendOperation::Send, one.sge(0, 8)));
    one.done(8);
    assert_eq!(other.brief(1), [(0, WcStatus::SUCCESS)]);
    other.queue.resize(16).expect("larger than what waits");
    assert_eq!(other.queue.depth(), 16);
    assert_eq!(other.brief(7), [1, 2, 3, 4, 5, 6, 7].map(|n| (n, WcStatus::SUCCESS)));
    assert_eq!(other.queue.resize(0).expect_err("nothing").errno, libc::EINVAL);
}

#[test]
fn a_message_that_arrives_before_the_state_rts_is_reported() {
    let sides = [Side::new(QueuePairType::Rc), Side::new(QueuePairType::Rc)];
    let [one, other] = &sides;
    sides.iter().for_each(Side::init);
    (0..2).for_each(|n| other.receive(n, other.sge(0, 64)));
    one.rtr(other.qp.number());
    other.rtr(one.qp.number());
    one.rts();
    (0..2).for_each(|n| one.post(n, SendOperation::Send, one.sge(0, 8)));
    assert_eq!(other.brief(2), [0, 1].map(|n| (n, WcStatus::SUCCESS)));
    let event = other.event();
    let expected = (AsyncEventType::CommunicationEstablished, AsyncElement::QueuePair(QUEUE_PAIR));
    assert_eq!((event.kind, event.element), expected);
    assert!(!is_readable(other.context.async_events().descriptor()), "once");
}

#[test]
fn what_arrives_in_the_state_rtr_is_an_event_without_a_poll() {
    for operation in [SendOperation::Send, SendOperation::SendWithImmediate(1)] {
        let [one, other] = [0, 1].map(|_| Side::new(QueuePairType::Rc));
        [&one, &other].into_iter().for_each(Side::init);
        other.receive(1, other.sge(0, 64));
        other.rtr(one.qp.number());
        connected_to(&one, other.qp.number());
        one.post(2, operation, one.sge(0, 8));
        let event = other.event();
        assert_eq!(event.kind, AsyncEventType::CommunicationEstablished);
        other.rts();
        assert_eq!(one.brief(1), [(2, WcStatus::SUCCESS)]);
    }
}
