//! A queue pair that is connected to itself, by its own number.

use dat_soft_verbs::*;

use crate::world::{Side, connected_to};

fn side(kind: QueuePairType) -> Side {
    let side = Side::new(kind);
    side.init();
    connected_to(&side, side.qp.number());
    side
}

#[test]
fn messages_arrive_at_its_own_receives() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let one = side(kind);
        for round in 0..3 {
            one.memory.write(0, &[round as u8 + 1; 8]).expect("in bounds");
            one.receive(round, one.sge(64, 64));
            one.post(10 + round, SendOperation::Send, one.sge(0, 8));
            let done = one.sorted(2);
            assert_eq!(done, [round, 10 + round].map(|n| (n, WcStatus::SUCCESS)), "{kind:?}");
            let mut found = [0; 8];
            one.memory.read(64, &mut found).expect("in bounds");
            assert_eq!(found, [round as u8 + 1; 8]);
        }
    }
}

#[test]
fn it_reads_and_writes_its_own_memory() {
    let one = side(QueuePairType::Rc);
    one.memory.write(0, &[5; 8]).expect("in bounds");
    one.post(1, SendOperation::Write(one.remote(64)), one.sge(0, 8));
    one.post(2, SendOperation::Read(one.remote(64)), one.sge(128, 8));
    let add = SendOperation::FetchAdd { remote: one.remote(64), add: 1 };
    // Without a fence, an atomic may be executed before the answer of an earlier read is made.
    let flags = SendFlags::SIGNALED | SendFlags::FENCE;
    one.post_with(3, add, &[one.sge(192, 8)], flags).expect("posted");
    assert_eq!(one.brief(3), [1, 2, 3].map(|n| (n, WcStatus::SUCCESS)));
    for (at, expected) in [(128, 5), (192, 5), (64, 6)] {
        let mut found = [0; 1];
        one.memory.read(at, &mut found).expect("in bounds");
        assert_eq!(found, [expected], "{at}");
    }
}

#[test]
fn it_refuses_itself_what_it_does_not_grant() {
    let one = Side::new(QueuePairType::Rc);
    one.init_granting(Access::empty());
    connected_to(&one, one.qp.number());
    one.receive(1, one.sge(0, 64));
    one.post(2, SendOperation::Write(one.remote(64)), one.sge(0, 8));
    one.post(3, SendOperation::Send, one.sge(0, 8));
    let done = one.sorted(3);
    let flushed = WcStatus::WR_FLUSH_ERR;
    assert_eq!(done, [(1, flushed), (2, WcStatus::REM_INV_REQ_ERR), (3, flushed)]);
    assert_eq!(one.event().kind, AsyncEventType::QueuePairRequestError);
}

#[test]
fn it_is_flushed_and_connects_again_after_a_reset() {
    let one = side(QueuePairType::Rc);
    for _ in 0..2 {
        // There is no receive.
        one.post(1, SendOperation::Send, one.sge(0, 8));
        one.expect_nothing();
        one.move_to(QueuePairState::Err).expect("from every state");
        one.post(2, SendOperation::Send, one.sge(0, 8));
        one.receive(3, one.sge(0, 8));
        let done = one.sorted(3);
        assert_eq!(done, [1, 2, 3].map(|n| (n, WcStatus::WR_FLUSH_ERR)));
        one.move_to(QueuePairState::Reset).expect("from every state");
        one.init();
        connected_to(&one, one.qp.number());
        one.receive(4, one.sge(64, 8));
        one.post(5, SendOperation::Send, one.sge(0, 8));
        let done = one.sorted(2);
        assert_eq!(done, [4, 5].map(|n| (n, WcStatus::SUCCESS)));
    }
}
