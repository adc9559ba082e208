//! How operations fail, and what follows.

use std::time::{Duration, Instant};

use dat_provider::mem::Memory;
use dat_soft_verbs::*;
use dat_two_processes::process;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::world::{Side, all_access, connected, connected_to, pair, register};

#[test]
fn a_bad_local_key_is_a_completion_and_the_rest_is_flushed() {
    let [one, other] = pair();
    (10..12).for_each(|n| one.receive(n, one.sge(0, 64)));
    other.receive(1, other.sge(0, 64));
    one.post(1, SendOperation::Send, Sge { key: 1, ..one.sge(0, 8) });
    one.post(2, SendOperation::Send, one.sge(0, 8));
    let done = one.sorted(4);
    let flushed = WcStatus::WR_FLUSH_ERR;
    assert_eq!(done, [(1, WcStatus::LOC_PROT_ERR), (2, flushed), (10, flushed), (11, flushed)]);
    assert_eq!(one.qp.state(), QueuePairState::Err);
    // The peer notices nothing until it sends.
    other.expect_nothing();
    assert_eq!(other.qp.state(), QueuePairState::Rts);
    other.post(3, SendOperation::Send, other.sge(0, 8));
    assert_eq!(other.brief(2), [(3, WcStatus::RETRY_EXC_ERR), (1, flushed)]);
}

#[test]
fn a_failed_request_of_an_unreliable_connection_stops_requests_and_not_receives() {
    let [one, other] = connected([0, 1].map(|_| Side::new(QueuePairType::Uc)));
    one.receive(10, one.sge(0, 64));
    one.post(1, SendOperation::Send, Sge { key: 1, ..one.sge(0, 8) });
    assert_eq!(one.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
    assert_eq!(one.qp.state(), QueuePairState::Sqe);
    one.post(2, SendOperation::Send, one.sge(0, 8));
    assert_eq!(one.brief(1), [(2, WcStatus::WR_FLUSH_ERR)]);
    one.expect_nothing();
    assert_eq!(other.qp.state(), QueuePairState::Rts);
}

#[test]
fn memory_of_another_domain_and_beyond_a_region_is_not_accessed() {
    let another = Side::new(QueuePairType::Rc);
    let [one, other] = pair();
    other.receive(1, other.sge(0, 8));
    one.post(1, SendOperation::Send, another.sge(0, 8));
    assert_eq!(one.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
    let [one, other] = pair();
    one.post(1, SendOperation::Write(other.remote(0)), one.sge(crate::world::BYTES - 4, 8));
    assert_eq!(one.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
}

#[test]
fn a_remote_access_that_is_not_permitted_fails_on_both_sides() {
    for operation in [
        |remote| SendOperation::Write(remote),
        |remote| SendOperation::Read(remote),
        |remote| SendOperation::FetchAdd { remote, add: 1 },
    ] {
        let [one, other] = pair();
        let memory = Memory::zeroed(64).expect("memory");
        let region = register(&other.domain, &memory, Access::LOCAL_WRITE);
        let remote = Remote { address: memory.address(), key: region.remote_key() };
        one.post(1, operation(remote), one.sge(0, 8));
        one.post(2, SendOperation::Send, one.sge(0, 8));
        assert_eq!(one.brief(2), [(1, WcStatus::REM_ACCESS_ERR), (2, WcStatus::WR_FLUSH_ERR)]);
        assert_eq!(one.qp.state(), QueuePairState::Err);
        region.deregister().expect("not used");
    }
}

#[test]
fn a_receive_that_is_too_short_fails_on_both_sides() {
    let [one, other] = pair();
    other.receive(1, other.sge(0, 4));
    other.receive(2, other.sge(0, 64));
    one.post(3, SendOperation::Send, one.sge(0, 8));
    assert_eq!(one.brief(1), [(3, WcStatus::REM_INV_REQ_ERR)]);
    assert_eq!(other.brief(2), [(1, WcStatus::LOC_LEN_ERR), (2, WcStatus::WR_FLUSH_ERR)]);
    assert_eq!([one.qp.state(), other.qp.state()], [QueuePairState::Err; 2]);
}

#[test]
fn a_peer_that_is_gone_leaves_receives_and_fails_requests_after_their_retries() {
    let [one, other] = pair();
    one.receive(1, one.sge(0, 64));
    other.post(9, SendOperation::Write(one.remote(0)), other.sge(0, 8));
    other.done(1);
    other.qp.destroy().expect("nothing uses it");
    one.expect_nothing();
    let begun = Instant::now();
    one.post(2, SendOperation::Send, one.sge(0, 8));
    one.post(3, SendOperation::Send, one.sge(0, 8));
    one.expect_nothing();
    assert_eq!(one.qp.state(), QueuePairState::Rts);
    let done = one.sorted(3);
    // A timeout of 14 is 67 ms, and there are 7 retries.
    assert!(begun.elapsed() >= Duration::from_millis(536), "{:?}", begun.elapsed());
    let flushed = WcStatus::WR_FLUSH_ERR;
    assert_eq!(done, [(1, flushed), (2, WcStatus::RETRY_EXC_ERR), (3, flushed)]);
    assert_eq!(one.qp.state(), QueuePairState::Err);
}

#[test]
fn a_request_that_is_posted_while_the_peer_is_lost_fails_too() {
    for round in 0..400 {
        let [one, other] = [0, 1].map(|_| Side::new(QueuePairType::Rc));
        [&one, &other].into_iter().for_each(Side::init);
        one.rtr(other.qp.number());
        connected_to(&other, one.qp.number());
        let qp_state = QueuePairState::Rts;
        let attributes =
            QueuePairAttributes { qp_state, timeout: 8, retry_cnt: 0, ..one.towards(1) };
        one.qp.modify(&attributes, crate::world::to_rts(one.qp.kind())).expect("RTS");
        one.post(1, SendOperation::Write(other.remote(0)), one.sge(0, 8));
        assert_eq!(one.brief(1), [(1, WcStatus::SUCCESS)]);
        let posts = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                posts.wait();
                other.qp.destroy().expect("nothing uses it");
            });
            posts.wait();
            std::thread::sleep(Duration::from_micros(5 * (round % 40)));
            one.post(2, SendOperation::Send, one.sge(0, 8));
            assert_eq!(one.brief(1), [(2, WcStatus::RETRY_EXC_ERR)], "{round}");
        });
    }
}

#[test]
fn requests_to_a_peer_that_is_gone_are_flushed_in_the_error_state() {
    let [one, other] = pair();
    one.receive(1, one.sge(0, 64));
    // It has no receive, so this is outstanding when it goes.
    one.post(2, SendOperation::Send, one.sge(0, 8));
    other.qp.destroy().expect("nothing uses it");
    one.post(3, SendOperation::Write(other.remote(0)), one.sge(0, 8));
    one.expect_nothing();
    one.move_to(QueuePairState::Err).expect("from every state");
    one.post(4, SendOperation::Send, one.sge(0, 8));
    let done = one.sorted(4);
    assert_eq!(done, [1, 2, 3, 4].map(|n| (n, WcStatus::WR_FLUSH_ERR)));
}

#[test]
fn requests_complete_in_the_order_of_the_posts_when_the_queue_pair_is_flushed() {
    const COUNT: u64 = 14;
    for round in 0..40 {
        let [one, other] = pair();
        (0..16).for_each(|n| other.receive(n, other.sge(0, 64)));
        let posts = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                posts.wait();
                for n in 0..COUNT {
                    one.post(n, SendOperation::Send, one.sge(0, 8));
                }
            });
            scope.spawn(|| {
                posts.wait();
                std::thread::sleep(Duration::from_micros(20 * (round % 10)));
                one.move_to(QueuePairState::Err).expect("from every state");
            });
            let done = one.brief(COUNT as usize);
            let order: Vec<_> = done.iter().map(|(wr_id, _)| *wr_id).collect();
            assert!(order.is_sorted(), "{done:?}");
            let is_flushed = |(_, status): &(u64, WcStatus)| *status == WcStatus::WR_FLUSH_ERR;
            assert!(done.iter().skip_while(|one| !is_flushed(one)).all(is_flushed), "{done:?}");
        });
    }
}

/// Two sides, the first of which is connected to the queue pair that the second one had.
fn towards_nobody(kind: QueuePairType) -> [Side; 2] {
    let [one, other] = [Side::new(kind), Side::new(kind)];
    let number = other.qp.number();
    other.qp.destroy().expect("nothing uses it");
    one.init();
    connected_to(&one, number);
    [one, other]
}

#[test]
fn a_peer_that_does_not_exist_is_tried_for_about_a_second() {
    let begun = Instant::now();
    let [one, _other] = towards_nobody(QueuePairType::Rc);
    one.receive(1, one.sge(0, 64));
    one.post_with(2, SendOperation::Send, &[one.sge(0, 8)], SendFlags::empty()).expect("posted");
    one.post(3, SendOperation::Send, one.sge(0, 8));
    let done = one.sorted(3);
    let flushed = WcStatus::WR_FLUSH_ERR;
    assert_eq!(done, [(1, flushed), (2, WcStatus::RETRY_EXC_ERR), (3, flushed)]);
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
}

#[test]
fn requests_of_an_unreliable_connection_to_a_peer_that_does_not_exist_are_lost() {
    let [one, other] = towards_nobody(QueuePairType::Uc);
    one.receive(1, one.sge(0, 64));
    one.post(2, SendOperation::Send, one.sge(0, 8));
    one.post(3, SendOperation::Write(other.remote(0)), one.sge(0, 8));
    assert_eq!(one.brief(2), [(2, WcStatus::SUCCESS), (3, WcStatus::SUCCESS)]);
    assert_eq!(one.qp.state(), QueuePairState::Rts);
    one.expect_nothing();
}

#[test]
fn a_full_queue_refuses_posts_and_takes_them_again_later() {
    let [one, other] = pair();
    let errors = |result: Result<()>| result.err().map(|error| error.errno);
    for n in 0..16 {
        other.receive(n, other.sge(0, 64));
    }
    let refused = other.qp.post_receive(16, &[other.sge(0, 64)]);
    assert_eq!(errors(refused), Some(libc::ENOMEM));
    one.post(1, SendOperation::Send, one.sge(0, 8));
    other.done(1);
    other.receive(16, other.sge(0, 64));
    let many = [one.sge(0, 1); 31];
    let refused = one.post_with(2, SendOperation::Send, &many, SendFlags::SIGNALED);
    assert_eq!(errors(refused), Some(libc::EINVAL));
    let refused = other.qp.post_receive(2, &many);
    assert_eq!(errors(refused), Some(libc::EINVAL));
}

#[test]
fn objects_in_use_are_not_destroyed() {
    let [one, _other] = pair();
    let is_busy = |result: Result<()>| result.expect_err("in use").errno == libc::EBUSY;
    assert!(is_busy(one.domain.deallocate()));
    assert!(is_busy(one.queue.destroy()));
    assert!(is_busy(one.channel.destroy()));
    one.qp.destroy().expect("not used");
    assert!(is_busy(one.domain.deallocate()), "the region is left");
    one.queue.destroy().expect("not used any more");
    one.channel.destroy().expect("not used any more");
    one.region.deregister().expect("not used");
    assert_eq!(one.qp.destroy().expect_err("twice").errno, libc::EINVAL);
    assert_eq!(one.region.deregister().expect_err("twice").errno, libc::EINVAL);
}

#[test]
fn memory_that_the_peer_writes_needs_local_writes_and_addresses_that_exist() {
    let side = Side::new(QueuePairType::Rc);
    let (address, length) = (side.memory.address(), 64);
    for (access, iova, errno) in [
        (Access::REMOTE_WRITE, address, libc::EINVAL),
        (Access::REMOTE_ATOMIC, address, libc::EINVAL),
        (all_access(), u64::MAX - 63, libc::EINVAL),
    ] {
        // SAFETY: the memory outlives the region, which is refused.
        let region = unsafe { side.domain.register(address, length, iova, access) };
        assert_eq!(region.expect_err("refused").errno, errno);
    }
}

#[test]
fn a_peer_that_is_never_ready_is_waited_for_about_a_second() {
    let sides = [Side::new(QueuePairType::Rc), Side::new(QueuePairType::Rc)];
    sides.iter().for_each(Side::init);
    // Of the two sides, one would connect and one would wait.
    for n in 0..2 {
        let (one, other) = (&sides[n], &sides[1 - n]);
        one.rtr(other.qp.number());
        one.rts();
        one.post(1, SendOperation::Send, one.sge(0, 8));
        assert_eq!(one.brief(1), [(1, WcStatus::RETRY_EXC_ERR)]);
        assert_eq!(one.qp.state(), QueuePairState::Err);
        one.move_to(QueuePairState::Reset).expect("from every state");
        one.init();
    }
}

#[test]
fn a_peer_that_is_not_reached_for_lack_of_descriptors_is_explained() {
    let mut command = process::command("errors::no_descriptor_is_left_for_the_connection");
    let ran = command.env("SOFT_VERBS_LOG", "1").output().expect("a process");
    let log = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{log}");
    let begin = "soft-verbs: the requests of QueuePair(";
    let mut lines = log.lines().filter(|line| line.starts_with(begin));
    assert!(lines.any(|line| line.contains("raise its limit (ulimit -n)")), "{log}");
}

#[test]
#[ignore = "lowers the limit of its process, for the test above"]
fn no_descriptor_is_left_for_the_connection() {
    let sides = [0, 1].map(|_| Side::new(QueuePairType::Rc));
    sides.iter().for_each(Side::init);
    let gids = sides[0].context.gids();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..limit }).expect("lower");
    for (side, peer) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
        connected_to(side, peer.qp.number());
        side.post(1, SendOperation::Send, side.sge(0, 8));
    }
    for side in &sides {
        assert_eq!(side.brief(1), [(1, WcStatus::RETRY_EXC_ERR)]);
    }
    assert_eq!(sides[0].context.gids(), gids, "the addresses are still there");
}
