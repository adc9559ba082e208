//! Requests for which the peer has no receive (`rnr_retry`, `min_rnr_timer`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_soft_verbs::*;

use crate::world::{Side, to_rtr, to_rts};

/// The codes of the times that a test needs, in `min_rnr_timer`.
const TEN_MICROSECONDS: u8 = 1;
const FORTY_MILLISECONDS: u8 = 24;
const HUNDRED_SIXTY_MILLISECONDS: u8 = 28;

/// Connects two sides. The first one repeats a message `rnr_retry` times, which the second one asks for in intervals.
fn connect(sides: [Side; 2], rnr_retry: u8, min_rnr_timer: u8) -> [Side; 2] {
    let [one, other] = &sides;
    sides.iter().for_each(Side::init);
    for (side, peer) in [(one, other), (other, one)] {
        let (qp_state, timer) =
            (QueuePairState::Rtr, if std::ptr::eq(side, other) { min_rnr_timer } else { 12 });
        let towards = side.towards(peer.qp.number());
        let attributes = QueuePairAttributes { qp_state, min_rnr_timer: timer, ..towards };
        side.qp.modify(&attributes, to_rtr(QueuePairType::Rc)).expect("RTR");
    }
    for side in &sides {
        let qp_state = QueuePairState::Rts;
        let attributes = QueuePairAttributes { qp_state, rnr_retry, ..side.towards(1) };
        side.qp.modify(&attributes, to_rts(QueuePairType::Rc)).expect("RTS");
    }
    sides
}

fn pair(rnr_retry: u8, min_rnr_timer: u8) -> [Side; 2] {
    connect([0, 1].map(|_| Side::new(QueuePairType::Rc)), rnr_retry, min_rnr_timer)
}

/// A side whose queue pair takes its receives from a shared queue.
fn sharing() -> (Side, Arc<SharedReceiveQueue>) {
    let mut shared = None;
    let side = Side::with(QueuePairType::Rc, |domain, init| {
        let size = SharedReceiveInit { user: 1, max_wr: 4, max_sge: 1 };
        let queue = domain.create_shared_receive_queue(&size).expect("a queue");
        init.shared_receives = Some(Arc::clone(&queue));
        shared = Some(queue);
    });
    (side, shared.expect("it was created"))
}

fn expect_exceeded(one: &Side, expected: Duration, begun: Instant) {
    one.receive(9, one.sge(0, 64));
    let done = one.sorted(3);
    assert!(begun.elapsed() >= expected, "{:?}", begun.elapsed());
    let flushed = WcStatus::WR_FLUSH_ERR;
    assert_eq!(done, [(1, WcStatus::RNR_RETRY_EXC_ERR), (2, flushed), (9, flushed)]);
    assert_eq!(one.qp.state(), QueuePairState::Err);
}

#[test]
fn a_message_that_is_not_repeated_fails_without_a_receive() {
    for length in [8, 48 << 10] {
        let [one, other] = pair(0, FORTY_MILLISECONDS);
        let begun = Instant::now();
        one.post(1, SendOperation::Send, one.sge(0, length));
        one.post(2, SendOperation::Send, one.sge(0, 8));
        expect_exceeded(&one, Duration::ZERO, begun);
        // The queue pair that had no receive is not in error.
        other.receive(3, other.sge(0, 64));
        other.expect_nothing();
        assert_eq!(other.qp.state(), QueuePairState::Rts);
    }
}

#[test]
fn a_message_is_repeated_in_the_intervals_of_the_peer() {
    let [one, other] = pair(3, FORTY_MILLISECONDS);
    let begun = Instant::now();
    one.post(1, SendOperation::Send, one.sge(0, 8));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    expect_exceeded(&one, Duration::from_millis(120), begun);
    assert_eq!(other.qp.state(), QueuePairState::Rts);
}

#[test]
fn a_receive_that_comes_in_time_is_found() {
    let [one, other] = pair(6, FORTY_MILLISECONDS);
    for round in 0..3 {
        one.post(round, SendOperation::Send, one.sge(0, 8));
        one.expect_nothing();
        other.receive(round, other.sge(0, 64));
        assert_eq!(one.brief(1), [(round, WcStatus::SUCCESS)]);
        assert_eq!(other.brief(1), [(round, WcStatus::SUCCESS)]);
    }
}

#[test]
fn a_receive_that_was_posted_before_is_always_found() {
    let [one, other] = pair(0, TEN_MICROSECONDS);
    for round in 0..500 {
        other.receive(round, other.sge(0, 64));
        one.post(round, SendOperation::Send, one.sge(0, 8));
        assert_eq!(one.brief(1), [(round, WcStatus::SUCCESS)]);
        assert_eq!(other.brief(1), [(round, WcStatus::SUCCESS)]);
    }
}

#[test]
fn a_message_that_is_repeated_without_limit_waits() {
    let [one, other] = pair(7, TEN_MICROSECONDS);
    one.post(1, SendOperation::Send, one.sge(0, 8));
    std::thread::sleep(Duration::from_millis(300));
    one.expect_nothing();
    other.receive(2, other.sge(0, 64));
    assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)]);
}

#[test]
fn a_write_with_immediate_data_needs_a_receive_too() {
    let [one, other] = pair(1, TEN_MICROSECONDS);
    let begun = Instant::now();
    let operation = SendOperation::WriteWithImmediate(other.remote(0), 5);
    one.post(1, operation, one.sge(0, 8));
    one.post(2, SendOperation::Write(other.remote(0)), one.sge(0, 8));
    expect_exceeded(&one, Duration::from_micros(10), begun);
}

#[test]
fn a_shared_queue_without_receives_does_not_provide_one() {
    for length in [8, 48 << 10] {
        let (other, shared) = sharing();
        let [one, other] = connect([Side::new(QueuePairType::Rc), other], 2, FORTY_MILLISECONDS);
        shared.post_receive(5, &[other.sge(0, 64)]).expect("space");
        one.post(0, SendOperation::Send, one.sge(0, 8));
        assert_eq!(one.brief(1), [(0, WcStatus::SUCCESS)]);
        assert_eq!(other.brief(1), [(5, WcStatus::SUCCESS)]);
        let begun = Instant::now();
        one.post(1, SendOperation::Send, one.sge(0, length));
        one.post(2, SendOperation::Send, one.sge(0, 8));
        expect_exceeded(&one, Duration::from_millis(80), begun);
        assert_eq!(other.qp.state(), QueuePairState::Rts);
        // The peer has refused the message before it fails.
        shared.post_receive(6, &[other.sge(0, 64)]).expect("space");
        other.expect_nothing();
    }
}

#[test]
fn a_shared_queue_is_waited_for_with_each_message() {
    let (other, shared) = sharing();
    let [one, other] =
        connect([Side::new(QueuePairType::Rc), other], 6, HUNDRED_SIXTY_MILLISECONDS);
    one.post(0, SendOperation::Send, one.sge(0, 8));
    one.post(1, SendOperation::Send, one.sge(0, 8));
    for n in 0..2 {
        one.expect_nothing();
        shared.post_receive(n, &[other.sge(0, 64)]).expect("space");
        assert_eq!(one.brief(1), [(n, WcStatus::SUCCESS)]);
        assert_eq!(other.brief(1), [(n, WcStatus::SUCCESS)]);
    }
    let begun = Instant::now();
    one.post(1, SendOperation::Send, one.sge(0, 8));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    expect_exceeded(&one, Duration::from_millis(960), begun);
}
