//! The states of queue pairs.

use dat_soft_verbs::*;

use crate::world::{QUEUE_PAIR, Side, all_access, pair, to_init, to_rtr};

#[test]
fn what_can_be_posted_depends_on_the_state() {
    let side = Side::new(QueuePairType::Rc);
    let send = || {
        let sges = [side.sge(0, 8)];
        side.post_with(1, SendOperation::Send, &sges, SendFlags::SIGNALED).err().map(|it| it.errno)
    };
    let receive = || side.qp.post_receive(2, &[side.sge(0, 8)]).err().map(|error| error.errno);
    assert_eq!((receive(), send()), (Some(libc::EINVAL), Some(libc::EINVAL)));
    side.init();
    assert_eq!((receive(), send()), (None, Some(libc::EINVAL)));
    side.rtr(0x00ff_ff01);
    assert_eq!((receive(), send()), (None, Some(libc::EINVAL)));
    side.rts();
    assert_eq!((receive(), send()), (None, None));
    side.move_to(QueuePairState::Err).expect("from every state");
    assert_eq!((receive(), send()), (None, None));
    let done = side.brief(6);
    assert!(done.iter().all(|(_, status)| *status == WcStatus::WR_FLUSH_ERR), "{done:?}");
    side.move_to(QueuePairState::Reset).expect("from every state");
    assert_eq!((receive(), send()), (Some(libc::EINVAL), Some(libc::EINVAL)));
}

#[test]
fn receives_that_were_posted_before_any_connection_are_flushed() {
    let side = Side::new(QueuePairType::Rc);
    side.init();
    side.receive(5, side.sge(0, 8));
    side.move_to(QueuePairState::Err).expect("from every state");
    assert_eq!(side.brief(1), [(5, WcStatus::WR_FLUSH_ERR)]);
}

#[test]
fn a_reset_drops_what_is_outstanding_and_what_has_completed() {
    let [one, other] = pair();
    one.receive(1, one.sge(0, 64));
    other.receive(1, other.sge(0, 64));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    other.done(1);
    one.move_to(QueuePairState::Reset).expect("from every state");
    one.expect_nothing();
    let attributes = one.qp.query();
    assert_eq!((attributes.qp_state, attributes.dest_qp_num), (QueuePairState::Reset, 0));
}

#[test]
fn a_queue_pair_connects_again_after_a_reset() {
    let [one, other] = pair();
    for round in 0..3 {
        other.receive(round, other.sge(0, 64));
        one.post(round, SendOperation::Send, one.sge(0, 8));
        assert_eq!(other.brief(1), [(round, WcStatus::SUCCESS)]);
        assert_eq!(one.brief(1), [(round, WcStatus::SUCCESS)]);
        let sides = [&one, &other];
        for side in sides {
            side.move_to(QueuePairState::Reset).expect("from every state");
            side.init();
        }
        one.rtr(other.qp.number());
        other.rtr(one.qp.number());
        sides.iter().for_each(|side| side.rts());
    }
}

#[test]
fn the_attributes_are_those_that_were_set() {
    let side = Side::new(QueuePairType::Rc);
    side.init();
    let expected = QueuePairAttributes { qp_state: QueuePairState::Rtr, ..side.towards(0x1234) };
    side.rtr(0x1234);
    let found = side.qp.query();
    assert_eq!(found.ah_attr, expected.ah_attr);
    assert_eq!((found.dest_qp_num, found.path_mtu), (0x1234, 5));
    assert_eq!((found.qp_access_flags, found.port_num), (all_access(), 1));
    assert_eq!((found.qp_state, found.cur_qp_state), (QueuePairState::Rtr, QueuePairState::Rtr));
    assert_eq!(found.cap.max_send_wr, 16);
    assert_eq!(found.timeout, 0, "set later");
}

#[test]
fn a_value_that_is_out_of_range_changes_nothing() {
    let side = Side::new(QueuePairType::Rc);
    let init =
        QueuePairAttributes { qp_state: QueuePairState::Init, port_num: 2, ..side.towards(1) };
    let error = side.qp.modify(&init, to_init()).expect_err("no such port");
    assert!(error.text().contains("port_num is 2"), "{error}");
    assert_eq!(side.qp.state(), QueuePairState::Reset);
    side.init();
    let good = QueuePairAttributes { qp_state: QueuePairState::Rtr, ..side.towards(1) };
    let mut bad = [good; 5];
    bad[0].path_mtu = 6;
    bad[1].min_rnr_timer = 32;
    bad[2].dest_qp_num = 1 << 24;
    bad[3].ah_attr.is_global = false;
    bad[4].ah_attr.sgid_index = 63;
    for attributes in bad {
        let error = side.qp.modify(&attributes, to_rtr(QueuePairType::Rc)).expect_err("bad");
        assert_eq!(error.errno, libc::EINVAL, "{error}");
    }
    let wrong = QueuePairAttributes { cur_qp_state: QueuePairState::Rts, ..good };
    let mask = to_rtr(QueuePairType::Rc) | AttributeMask::CUR_STATE;
    side.qp.modify(&wrong, mask).expect_err("it is in INIT");
    assert_eq!((side.qp.state(), side.qp.query().path_mtu), (QueuePairState::Init, 0));
}

#[test]
fn a_drained_queue_reports_it_and_later_requests_wait() {
    let [one, other] = pair();
    // The peer has no receive, so the request cannot finish.
    one.post(1, SendOperation::Send, one.sge(0, 8));
    let attributes = QueuePairAttributes {
        qp_state: QueuePairState::Sqd,
        en_sqd_async_notify: true,
        ..QueuePairAttributes::default()
    };
    let mask = AttributeMask::STATE | AttributeMask::EN_SQD_ASYNC_NOTIFY;
    one.qp.modify(&attributes, mask).expect("SQD");
    assert!(one.qp.query().sq_draining);
    one.post(2, SendOperation::Send, one.sge(0, 8));
    (1..3).for_each(|n| other.receive(n, other.sge(0, 64)));
    let event = one.event();
    assert_eq!(event.kind, AsyncEventType::SendQueueDrained);
    assert_eq!(event.element, AsyncElement::QueuePair(QUEUE_PAIR));
    assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)]);
    one.expect_nothing();
    one.move_to(QueuePairState::Rts).expect("RTS");
    assert_eq!(one.brief(1), [(2, WcStatus::SUCCESS)]);
    assert_eq!(other.brief(2), [1, 2].map(|n| (n, WcStatus::SUCCESS)));
}
