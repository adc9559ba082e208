//! Shared receive queues.

use std::sync::Arc;

use dat_soft_verbs::*;

use crate::world::{QUEUE_PAIR, Side, connected};

/// A queue for four receives, and two connected pairs whose second sides use it.
fn shared() -> (Arc<SharedReceiveQueue>, [[Side; 2]; 2]) {
    let mut queue = None;
    let pairs = [0, 1].map(|_| {
        let receiver = Side::with(QueuePairType::Rc, |domain, init| {
            let size = SharedReceiveInit { user: 99, max_wr: 4, max_sge: 2 };
            let made = || domain.create_shared_receive_queue(&size).expect("a queue");
            init.shared_receives = Some(Arc::clone(queue.get_or_insert_with(made)));
        });
        connected([Side::new(QueuePairType::Rc), receiver])
    });
    (queue.expect("made by the first"), pairs)
}

#[test]
fn its_receives_serve_all_queue_pairs() {
    let (queue, pairs) = shared();
    let [[_, other], [_, another]] = &pairs;
    let first = |n| queue.post_receive(n, &[other.sge(0, 64)]);
    (0..4).for_each(|n| first(n).expect("space"));
    assert_eq!(first(4).expect_err("full").errno, libc::ENOMEM);
    let three = [0, 64, 128].map(|at| other.sge(at, 64));
    let error = queue.post_receive(4, &three).expect_err("it has receives of two segments");
    assert_eq!(error.errno, libc::EINVAL);
    let error = other.qp.post_receive(5, &[other.sge(0, 64)]).expect_err("it has none of its own");
    assert_eq!(error.errno, libc::EINVAL);
    for (n, [sender, receiver]) in [0, 1].into_iter().zip(&pairs) {
        sender.post(9, SendOperation::Send, sender.sge(0, 8));
        let got = receiver.one();
        assert_eq!(
            (got.wr_id, got.status, got.qp_num),
            (n, WcStatus::SUCCESS, receiver.qp.number())
        );
    }
    assert_eq!(another.qp.init().capacity.max_recv_wr, 0);
    assert_eq!(queue.destroy().expect_err("in use").errno, libc::EBUSY);
    other.qp.destroy().expect("not used");
    another.qp.destroy().expect("not used");
    queue.destroy().expect("not used");
}

#[test]
fn its_limit_is_reported_once() {
    let (queue, pairs) = shared();
    let [[sender, receiver], _] = &pairs;
    (0..4).for_each(|n| queue.post_receive(n, &[receiver.sge(0, 64)]).expect("space"));
    queue.modify(None, Some(3)).expect("below its size");
    assert_eq!(queue.query().limit, 3);
    for n in 0..2 {
        sender.post(n, SendOperation::Send, sender.sge(0, 8));
        assert_eq!(receiver.brief(1), [(n, WcStatus::SUCCESS)]);
    }
    let event = receiver.event();
    let expected =
        (AsyncEventType::SharedReceiveLimitReached, AsyncElement::SharedReceiveQueue(99));
    assert_eq!((event.kind, event.element), expected);
    assert_eq!(queue.query().limit, 0, "it has to be requested again");
    queue.modify(None, Some(5)).expect_err("beyond its size");
    queue.modify(Some(8), Some(1)).expect("the device has more");
    assert_eq!(queue.query(), SharedReceiveAttributes { max_wr: 8, max_sge: 2, limit: 1 });
}

#[test]
fn a_queue_pair_in_the_error_state_takes_no_more_and_reports_it() {
    let (queue, pairs) = shared();
    let [[_, receiver], _] = &pairs;
    queue.post_receive(1, &[receiver.sge(0, 64)]).expect("space");
    receiver.move_to(QueuePairState::Err).expect("from every state");
    let event = receiver.event();
    let expected = (AsyncEventType::LastWorkRequestReached, AsyncElement::QueuePair(QUEUE_PAIR));
    assert_eq!((event.kind, event.element), expected);
    receiver.expect_nothing();
}
