//! What each operation does.

use dat_soft_verbs::*;

use crate::world::{Side, connected, pair};

fn immediate(bytes: [u8; 4]) -> u32 {
    u32::from_ne_bytes(bytes)
}

#[test]
fn a_message_arrives_with_its_length_and_the_numbers_of_the_queue_pairs() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let [one, other] = connected([Side::new(kind), Side::new(kind)]);
        one.memory.write(0, b"hello").expect("inside");
        other.receive(7, other.sge(100, 64));
        one.post(8, SendOperation::Send, one.sge(0, 5));
        let got = other.one();
        assert_eq!((got.wr_id, got.status, got.opcode), (7, WcStatus::SUCCESS, WcOpcode::RECV));
        assert_eq!((got.byte_len, got.qp_num, got.wc_flags), (5, other.qp.number(), 0));
        assert_eq!(other.memory.to_vec(100, 5).expect("inside"), b"hello");
        let sent = one.one();
        assert_eq!((sent.wr_id, sent.status, sent.opcode), (8, WcStatus::SUCCESS, WcOpcode::SEND));
        assert_eq!(sent.qp_num, one.qp.number());
    }
}

#[test]
fn a_message_is_gathered_and_scattered() {
    let [one, other] = pair();
    let bytes: Vec<u8> = (0..90).collect();
    one.memory.write(0, &bytes).expect("inside");
    let from: Vec<_> = (0..30).map(|n| one.sge(n * 3, 3)).collect();
    let to: Vec<_> = (0..30).map(|n| other.sge((29 - n) * 4, 4)).collect();
    other.qp.post_receive(1, &to).expect("a receive");
    one.post_with(2, SendOperation::Send, &from, SendFlags::SIGNALED).expect("a send");
    assert_eq!(other.one().byte_len, 90);
    let found: Vec<_> =
        (0..30).flat_map(|n| other.memory.to_vec((29 - n) * 4, 4).expect("it")).collect();
    assert_eq!(found[..90], bytes);
}

#[test]
fn a_message_may_be_empty() {
    let [one, other] = pair();
    other.qp.post_receive(1, &[]).expect("a receive");
    one.post_with(2, SendOperation::Send, &[], SendFlags::SIGNALED).expect("a send");
    assert_eq!((other.one().byte_len, one.one().status), (0, WcStatus::SUCCESS));
}

#[test]
fn immediate_data_arrives_in_the_order_of_its_bytes() {
    let [one, other] = pair();
    let data = immediate([1, 2, 3, 4]);
    other.receive(1, other.sge(0, 64));
    other.receive(2, other.sge(0, 64));
    one.post(3, SendOperation::SendWithImmediate(data), one.sge(0, 8));
    let got = other.one();
    assert_eq!((got.imm_data.to_ne_bytes(), got.byte_len), ([1, 2, 3, 4], 8));
    assert_eq!((got.opcode, got.wc_flags), (WcOpcode::RECV, WcFlags::WITH_IMM.bits()));
    one.memory.write(0, &[9; 8]).expect("inside");
    one.post(4, SendOperation::WriteWithImmediate(other.remote(256), data), one.sge(0, 8));
    let got = other.one();
    assert_eq!((got.imm_data.to_ne_bytes(), got.byte_len, got.wr_id), ([1, 2, 3, 4], 8, 2));
    assert_eq!(got.opcode, WcOpcode::RECV_RDMA_WITH_IMM);
    assert_eq!(got.wc_flags, WcFlags::WITH_IMM.bits());
    assert_eq!(other.memory.to_vec(256, 8).expect("inside"), [9; 8]);
    let sent = one.done(2);
    assert_eq!([sent[0].opcode, sent[1].opcode], [WcOpcode::SEND, WcOpcode::RDMA_WRITE]);
}

#[test]
fn writes_and_reads_access_the_memory_of_the_peer() {
    let [one, other] = pair();
    one.memory.write(0, b"written").expect("inside");
    other.memory.write(1000, b"to be read").expect("inside");
    one.post(1, SendOperation::Write(other.remote(64)), one.sge(0, 7));
    one.post(2, SendOperation::Read(other.remote(1000)), one.sge(64, 10));
    let done = one.done(2);
    assert_eq!([done[0].opcode, done[1].opcode], [WcOpcode::RDMA_WRITE, WcOpcode::RDMA_READ]);
    assert!(done.iter().all(|one| one.status == WcStatus::SUCCESS));
    assert_eq!(done[1].byte_len, 10);
    assert_eq!(other.memory.to_vec(64, 7).expect("inside"), b"written");
    assert_eq!(one.memory.to_vec(64, 10).expect("inside"), b"to be read");
}

#[test]
fn atomics_return_what_was_there() {
    let [one, other] = pair();
    other.memory.write(8, &40_u64.to_ne_bytes()).expect("inside");
    let remote = other.remote(8);
    one.post(1, SendOperation::FetchAdd { remote, add: 2 }, one.sge(0, 8));
    one.post(2, SendOperation::CompareSwap { remote, compare: 42, swap: 7 }, one.sge(8, 8));
    one.post(3, SendOperation::CompareSwap { remote, compare: 42, swap: 8 }, one.sge(16, 8));
    let opcodes: Vec<_> = one.done(3).iter().map(|one| (one.opcode, one.status)).collect();
    let expected = [WcOpcode::FETCH_ADD, WcOpcode::COMP_SWAP, WcOpcode::COMP_SWAP];
    assert_eq!(opcodes, expected.map(|opcode| (opcode, WcStatus::SUCCESS)));
    let word = |side: &Side, at| {
        u64::from_ne_bytes(side.memory.to_vec(at, 8).expect("inside").try_into().expect("eight"))
    };
    assert_eq!([0, 8, 16].map(|at| word(&one, at)), [40, 42, 7]);
    assert_eq!(word(&other, 8), 7);
}

#[test]
fn unsignaled_requests_complete_only_if_they_fail() {
    let [one, other] = pair();
    for n in 0..8 {
        one.post_with(
            n,
            SendOperation::Write(other.remote(0)),
            &[one.sge(0, 8)],
            SendFlags::empty(),
        )
        .expect("a write");
    }
    one.post(8, SendOperation::Write(other.remote(0)), one.sge(0, 8));
    assert_eq!(one.brief(1), [(8, WcStatus::SUCCESS)]);
    let outside = Remote { key: 1, ..other.remote(0) };
    one.post_with(9, SendOperation::Write(outside), &[one.sge(0, 8)], SendFlags::empty())
        .expect("posted");
    assert_eq!(one.brief(1), [(9, WcStatus::REM_ACCESS_ERR)]);
}

#[test]
fn a_queue_pair_that_signals_all_completes_each_request() {
    let side = || Side::with(QueuePairType::Rc, |_, init| init.signals_all = true);
    let [one, other] = connected([side(), side()]);
    one.post_with(1, SendOperation::Write(other.remote(0)), &[one.sge(0, 8)], SendFlags::empty())
        .expect("a write");
    assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)]);
}

#[test]
fn inline_data_is_copied_at_the_post_and_needs_no_key() {
    let [one, other] = pair();
    for n in 0..100_u8 {
        other.receive(n.into(), other.sge(0, 64));
        let mut bytes = [n; 40];
        let request = SendRequest {
            wr_id: 200,
            operation: SendOperation::Send,
            flags: SendFlags::SIGNALED,
            data: Data::Inline(Inline::from_bytes(&bytes)),
            destination: None,
        };
        one.qp.post_send(&request).expect("a send");
        bytes.fill(255);
        assert_eq!(other.brief(1), [(n.into(), WcStatus::SUCCESS)]);
        assert_eq!(other.memory.to_vec(0, 40).expect("inside"), [n; 40]);
        assert_eq!(one.brief(1), [(200, WcStatus::SUCCESS)]);
    }
    let bytes = [0; 257];
    let request = SendRequest {
        wr_id: 1,
        operation: SendOperation::Send,
        flags: SendFlags::SIGNALED,
        data: Data::Inline(Inline::from_bytes(&bytes)),
        destination: None,
    };
    assert_eq!(one.qp.post_send(&request).expect_err("too long").errno, libc::EINVAL);
}

#[test]
fn inline_data_of_all_outstanding_requests_is_kept_apart() {
    let [one, other] = pair();
    // The peer has no receive, so the requests wait.
    for n in 0..16_u8 {
        let bytes = [n; 32];
        let request = SendRequest {
            wr_id: n.into(),
            operation: SendOperation::Send,
            flags: SendFlags::SIGNALED,
            data: Data::Inline(Inline::from_bytes(&bytes)),
            destination: None,
        };
        one.qp.post_send(&request).expect("space");
    }
    for n in 0..16_u8 {
        other.receive(n.into(), other.sge(0, 64));
        assert_eq!(other.brief(1), [(n.into(), WcStatus::SUCCESS)]);
        assert_eq!(other.memory.to_vec(0, 32).expect("inside"), [n; 32]);
    }
    one.done(16);
}

#[test]
fn a_fence_waits_for_the_reads_before() {
    let [one, other] = pair();
    other.memory.write(0, &[3; 4096]).expect("inside");
    for n in 0..50 {
        one.post(n, SendOperation::Read(other.remote(0)), one.sge(0, 4096));
        let flags = SendFlags::SIGNALED | SendFlags::FENCE;
        one.post_with(n, SendOperation::Write(other.remote(8192)), &[one.sge(0, 4096)], flags)
            .expect("a write");
        one.done(2);
        assert_eq!(other.memory.to_vec(8192, 4096).expect("inside"), [3; 4096]);
        one.memory.write(0, &[0; 4096]).expect("inside");
    }
}

#[test]
fn requests_that_are_posted_before_the_connection_are_executed_in_order() {
    let sides = [Side::new(QueuePairType::Rc), Side::new(QueuePairType::Rc)];
    let [one, other] = &sides;
    sides.iter().for_each(Side::init);
    (0..4).for_each(|n| other.receive(n, other.sge(0, 64)));
    one.rtr(other.qp.number());
    one.rts();
    for n in 0..4 {
        let bytes = [n as u8; 8];
        let request = SendRequest {
            wr_id: n,
            operation: SendOperation::Send,
            flags: SendFlags::SIGNALED,
            data: Data::Inline(Inline::from_bytes(&bytes)),
            destination: None,
        };
        one.qp.post_send(&request).expect("a send");
    }
    one.expect_nothing();
    other.rtr(one.qp.number());
    for n in 0..4 {
        assert_eq!(other.brief(1), [(n, WcStatus::SUCCESS)]);
    }
    assert_eq!(one.brief(4), [0, 1, 2, 3].map(|n| (n, WcStatus::SUCCESS)));
}
