//! Queue pairs for datagrams.

use std::sync::Arc;

use dat_soft_verbs::*;

use crate::world::{BYTES, Side};

const KEY: u32 = 0x1122_3344;

/// A side that is ready to send.
fn side() -> Side {
    let side = Side::new(QueuePairType::Ud);
    init(&side);
    for (state, mask) in [
        (QueuePairState::Rtr, AttributeMask::STATE),
        (QueuePairState::Rts, AttributeMask::STATE | AttributeMask::SQ_PSN),
    ] {
        let attributes = QueuePairAttributes { qp_state: state, ..QueuePairAttributes::default() };
        side.qp.modify(&attributes, mask).expect("the next state");
    }
    side
}

fn init(side: &Side) {
    type M = AttributeMask;
    let attributes = QueuePairAttributes {
        qp_state: QueuePairState::Init,
        port_num: 1,
        qkey: KEY,
        ..QueuePairAttributes::default()
    };
    side.qp.modify(&attributes, M::STATE | M::PKEY_INDEX | M::PORT | M::QKEY).expect("INIT");
}

fn address(from: &Side) -> Arc<AddressHandle> {
    let vector = from.towards(1).ah_attr;
    from.domain.create_address_handle(vector).expect("the loopback address")
}

fn send(from: &Side, to: u32, key: u32, operation: SendOperation<'_>, sge: Sge) -> Result<()> {
    let address = address(from);
    from.qp.post_send(&SendRequest {
        wr_id: 1,
        operation,
        flags: SendFlags::SIGNALED,
        data: Data::Segments(&[sge]),
        destination: Some(Destination { address: &address, number: to, key }),
    })
}

#[test]
fn a_datagram_arrives_behind_its_route_header_with_the_number_of_its_sender() {
    let [one, other] = [side(), side()];
    one.memory.write(0, b"hello").expect("inside");
    other.receive(7, other.sge(0, 100));
    send(&one, other.qp.number(), KEY, SendOperation::Send, one.sge(0, 5)).expect("a datagram");
    let got = other.one();
    assert_eq!((got.wr_id, got.status, got.opcode), (7, WcStatus::SUCCESS, WcOpcode::RECV));
    assert_eq!((got.byte_len, got.wc_flags), (45, WcFlags::GRH.bits()));
    assert_eq!((got.src_qp, got.qp_num), (one.qp.number(), other.qp.number()));
    assert_eq!(other.memory.to_vec(40, 5).expect("inside"), b"hello");
    assert_eq!(other.memory.to_vec(32, 4).expect("inside"), [127, 0, 0, 1], "its source");
    let sent = one.one();
    assert_eq!((sent.status, sent.opcode), (WcStatus::SUCCESS, WcOpcode::SEND));
    // What a receive says of its sender is enough for an answer.
    one.receive(8, one.sge(0, 100));
    let data = SendOperation::SendWithImmediate(u32::from_ne_bytes([4, 3, 2, 1]));
    send(&other, got.src_qp, KEY, data, other.sge(0, 0)).expect("a datagram");
    let got = one.one();
    assert_eq!((got.byte_len, got.imm_data.to_ne_bytes()), (40, [4, 3, 2, 1]));
    assert_eq!(got.wc_flags, (WcFlags::GRH | WcFlags::WITH_IMM).bits());
}

#[test]
fn a_datagram_with_another_key_is_dropped() {
    let [one, other] = [side(), side()];
    other.receive(1, other.sge(0, 100));
    send(&one, other.qp.number(), KEY + 1, SendOperation::Send, one.sge(0, 5)).expect("posted");
    assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)]);
    other.expect_nothing();
    // The highest bit denotes the key of the sender.
    send(&one, other.qp.number(), 1 << 31, SendOperation::Send, one.sge(0, 5)).expect("posted");
    assert_eq!(other.brief(1), [(1, WcStatus::SUCCESS)]);
    let attributes = QueuePairAttributes { qkey: KEY + 1, ..QueuePairAttributes::default() };
    other.qp.modify(&attributes, AttributeMask::QKEY).expect("in RTS");
    other.receive(2, other.sge(0, 100));
    send(&one, other.qp.number(), KEY + 1, SendOperation::Send, one.sge(0, 5)).expect("posted");
    assert_eq!(other.brief(1), [(2, WcStatus::SUCCESS)]);
}

#[test]
fn they_only_send_and_only_to_a_destination() {
    let one = side();
    let errno = |result: Result<()>| result.expect_err("refused").errno;
    let sge = one.sge(0, 8);
    let write = SendOperation::Write(one.remote(0));
    assert_eq!(errno(send(&one, one.qp.number(), KEY, write, sge)), libc::EINVAL);
    let nowhere = one.post_with(1, SendOperation::Send, &[sge], SendFlags::SIGNALED);
    assert_eq!(errno(nowhere), libc::EINVAL);
}

#[test]
fn a_failed_request_stops_requests_and_not_receives() {
    let [one, other] = [side(), side()];
    let bad = one.sge(BYTES, 8);
    send(&one, other.qp.number(), KEY, SendOperation::Send, bad).expect("posted");
    assert_eq!(one.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
    assert_eq!(one.qp.state(), QueuePairState::Sqe);
    send(&one, other.qp.number(), KEY, SendOperation::Send, one.sge(0, 8)).expect("posted");
    assert_eq!(one.brief(1), [(1, WcStatus::WR_FLUSH_ERR)]);
    one.receive(5, one.sge(0, 100));
    send(&other, one.qp.number(), KEY, SendOperation::Send, other.sge(0, 8)).expect("posted");
    assert_eq!(one.brief(1), [(5, WcStatus::SUCCESS)]);
    one.move_to(QueuePairState::Rts).expect("from SQE");
    other.receive(6, other.sge(0, 100));
    send(&one, other.qp.number(), KEY, SendOperation::Send, one.sge(0, 8)).expect("posted");
    assert_eq!(other.done(2)[1].wr_id, 6);
}

#[test]
fn receives_are_flushed_in_the_error_state_and_dropped_by_a_reset() {
    let one = side();
    one.receive(5, one.sge(0, 100));
    one.move_to(QueuePairState::Err).expect("from every state");
    assert_eq!(one.brief(1), [(5, WcStatus::WR_FLUSH_ERR)]);
    one.move_to(QueuePairState::Reset).expect("from every state");
    init(&one);
    one.receive(6, one.sge(0, 100));
    one.move_to(QueuePairState::Reset).expect("from every state");
    one.expect_nothing();
}

#[test]
fn members_of_a_group_receive_what_is_sent_to_it() {
    let [one, other, member] = [side(), side(), side()];
    let group = gid_of([239, 1, 2, 3].into());
    [&other, &member].into_iter().for_each(|it| it.qp.attach_multicast(&group).expect("a group"));
    let vector = AddressVector { dgid: group, ..one.towards(1).ah_attr };
    let address = one.domain.create_address_handle(vector).expect("a group");
    let sges = [one.sge(0, 5)];
    let to_group = SendRequest {
        wr_id: 1,
        operation: SendOperation::Send,
        flags: SendFlags::SIGNALED,
        data: Data::Segments(&sges),
        destination: Some(Destination { address: &address, number: 0xff_ffff, key: KEY }),
    };
    [&other, &member].into_iter().for_each(|it| it.receive(1, it.sge(0, 100)));
    let posted = one.qp.post_send(&to_group);
    posted.expect("a datagram");
    for it in [&other, &member] {
        assert_eq!(
            (it.one().src_qp, it.memory.to_vec(40, 5)),
            (one.qp.number(), one.memory.to_vec(0, 5))
        );
    }
    member.qp.detach_multicast(&group).expect("a member");
    member.receive(2, member.sge(0, 100));
    one.qp.post_send(&to_group).expect("a datagram");
    member.expect_nothing();
    assert_eq!(member.qp.detach_multicast(&group).expect_err("no member").errno, libc::EINVAL);
}
