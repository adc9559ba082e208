//! The accesses that a queue pair grants its peer (`qp_access_flags`), and what becomes of it when it refuses one.

use std::time::{Duration, Instant};

use dat_provider::mem::Memory;
use dat_soft_verbs::*;

use crate::world::{PATIENCE, QUEUE_PAIR, Side, connected, pair, register};

/// Two connected sides, the second of which grants its peer only some accesses.
fn granting(kind: QueuePairType, access: Access) -> [Side; 2] {
    let [one, other] = [Side::new(kind), Side::new(kind)];
    one.init();
    other.init_granting(access);
    one.rtr(other.qp.number());
    other.rtr(one.qp.number());
    [&one, &other].into_iter().for_each(Side::rts);
    [one, other]
}

/// Waits for a state that no call of this side brings about.
fn wait_for(side: &Side, state: QueuePairState) {
    let begun = Instant::now();
    while side.qp.state() != state {
        assert!(begun.elapsed() < PATIENCE, "{:?}", side.qp);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The next event, which is one of the queue pair.
fn expect_event(side: &Side, kind: AsyncEventType) {
    let expected = AsyncEvent { kind, element: AsyncElement::QueuePair(QUEUE_PAIR) };
    assert_eq!(side.event(), expected);
}

type MakeOperation = fn(Remote) -> SendOperation<'static>;

/// Each operation that the peer must permit: with its length, and the access that it needs.
const OPERATIONS: [(MakeOperation, u32, Access); 7] = [
    (SendOperation::Write, 8, Access::REMOTE_WRITE),
    (SendOperation::Write, 0, Access::REMOTE_WRITE),
    (SendOperation::Write, 48 << 10, Access::REMOTE_WRITE),
    (SendOperation::Read, 8, Access::REMOTE_READ),
    (SendOperation::Read, 48 << 10, Access::REMOTE_READ),
    (|remote| SendOperation::FetchAdd { remote, add: 1 }, 8, Access::REMOTE_ATOMIC),
    (|remote| SendOperation::CompareSwap { remote, compare: 0, swap: 1 }, 8, Access::REMOTE_ATOMIC),
];

#[test]
fn an_operation_that_the_queue_pair_does_not_permit_is_an_invalid_request() {
    for (operation, length, needed) in OPERATIONS {
        let [one, other] = granting(QueuePairType::Rc, Access::REMOTE - needed);
        one.memory.write(0, &[7; 64]).expect("in bounds");
        other.receive(5, other.sge(0, 64));
        one.post(1, operation(other.remote(0)), one.sge(0, length));
        one.post(2, SendOperation::Send, one.sge(0, 8));
        let expected = [(1, WcStatus::REM_INV_REQ_ERR), (2, WcStatus::WR_FLUSH_ERR)];
        assert_eq!(one.brief(2), expected, "{length} bytes, {needed:?}");
        assert_eq!(one.qp.state(), QueuePairState::Err);
        // The other side gets an event without a poll, and everything of it is flushed.
        expect_event(&other, AsyncEventType::QueuePairRequestError);
        wait_for(&other, QueuePairState::Err);
        assert_eq!(other.brief(1), [(5, WcStatus::WR_FLUSH_ERR)]);
        let mut found = [0; 64];
        other.memory.read(0, &mut found).expect("in bounds");
        assert_eq!(found, [0; 64]);
    }
}

#[test]
fn the_operations_that_the_queue_pair_permits_are_executed() {
    for (operation, length, needed) in OPERATIONS {
        let [one, other] = granting(QueuePairType::Rc, needed);
        one.post(1, operation(other.remote(0)), one.sge(0, length));
        assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)], "{length} bytes, {needed:?}");
        assert_eq!(other.qp.state(), QueuePairState::Rts);
    }
}

#[test]
fn a_write_that_an_unreliable_queue_pair_does_not_permit_is_dropped() {
    let [one, other] = granting(QueuePairType::Uc, Access::empty());
    one.memory.write(0, &[7; 64]).expect("in bounds");
    other.receive(5, other.sge(64, 64));
    one.post(1, SendOperation::Write(other.remote(0)), one.sge(0, 64));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    assert_eq!(one.brief(2), [1, 2].map(|n| (n, WcStatus::SUCCESS)));
    assert_eq!(other.brief(1), [(5, WcStatus::SUCCESS)]);
    let mut found = [0; 64];
    other.memory.read(0, &mut found).expect("in bounds");
    assert_eq!((found, other.qp.state()), ([0; 64], QueuePairState::Rts));
}

#[test]
fn the_accesses_can_be_changed_while_the_queue_pair_sends() {
    let [one, other] = granting(QueuePairType::Rc, Access::empty());
    let grant = |access| {
        let attributes =
            QueuePairAttributes { qp_access_flags: access, ..QueuePairAttributes::default() };
        other.qp.modify(&attributes, AttributeMask::ACCESS_FLAGS).expect("RTS to RTS");
    };
    let write = |n, length| {
        one.post(n, SendOperation::Write(other.remote(0)), one.sge(0, length));
        one.brief(1)[0].1
    };
    grant(Access::REMOTE_WRITE);
    assert_eq!((write(1, 8), write(2, 48 << 10)), (WcStatus::SUCCESS, WcStatus::SUCCESS));
    grant(Access::REMOTE_READ);
    assert_eq!(write(3, 48 << 10), WcStatus::REM_INV_REQ_ERR);
}

#[test]
fn memory_that_is_not_permitted_is_an_access_error_of_the_queue_pair() {
    let [one, other] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let region = register(&other.domain, &memory, Access::LOCAL_WRITE);
    let remote = Remote { address: memory.address(), key: region.remote_key() };
    other.receive(5, other.sge(0, 64));
    one.post(1, SendOperation::Write(remote), one.sge(0, 8));
    assert_eq!(one.brief(1), [(1, WcStatus::REM_ACCESS_ERR)]);
    expect_event(&other, AsyncEventType::QueuePairAccessError);
    wait_for(&other, QueuePairState::Err);
    assert_eq!(other.brief(1), [(5, WcStatus::WR_FLUSH_ERR)]);
    region.deregister().expect("not used");
}

#[test]
fn a_failed_receive_moves_the_queue_pair_to_the_error_state_without_a_poll() {
    let [one, other] = connected([Side::new(QueuePairType::Rc), Side::new(QueuePairType::Rc)]);
    other.receive(1, other.sge(0, 4));
    other.receive(2, other.sge(0, 64));
    one.post(3, SendOperation::Send, one.sge(0, 8));
    assert_eq!(one.brief(1), [(3, WcStatus::REM_INV_REQ_ERR)]);
    wait_for(&other, QueuePairState::Err);
    // The completions have the reason; there is no event besides.
    assert_eq!(other.brief(2), [(1, WcStatus::LOC_LEN_ERR), (2, WcStatus::WR_FLUSH_ERR)]);
}
