//! Waits that the device itself ends: which other threads run.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use dat_core::{
    ConnectionEventKind, DtoStatus, EpSpec, EvdFlags, EvdOptions, Event, Operation, ReturnType,
    RmrTriplet,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use verbs_side::{LIMIT, NONE, Side, connection, device, next};

/// Number of voluntary context switches of the thread with that name.
fn waits_of(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a process has threads");
    let of_name = tasks.flatten().filter(|task| {
        let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        comm.trim() == name
    });
    let count = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or_default()
    };
    of_name.map(|task| count(std::fs::read_to_string(task.path().join("status")).unwrap())).sum()
}

#[test]
fn no_thread_is_woken_for_a_waiter() {
    let Some(address) = device("no thread is woken for a waiter") else { return };
    const ROUNDS: u32 = 300;
    let side = Side::open(address);
    let evd = || side.ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO)).expect("a dispatcher");
    let (here, there) = (evd(), evd());
    let ep = |received: &dat_core::Evd| {
        let spec = EpSpec::new(&side.pz).recv_evd(received).connect_evd(&side.connect);
        side.ia.ep_create(&spec).expect("an endpoint")
    };
    let (one, other) = (ep(&here), ep(&there));
    for cookie in 0..ROUNDS.min(8) {
        one.post_recv(&[], cookie.into(), NONE).expect("posted");
        other.post_recv(&[], cookie.into(), NONE).expect("posted");
    }
    side.link(&one, &other);
    let (before, start) = (waits_of("dat-events"), Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                next(&there);
                other.post_recv(&[], 0, NONE).expect("connected");
                // Long enough for the other side to fall asleep.
                std::thread::sleep(Duration::from_millis(2));
                other.post_send(&[], 0, dat_core::CompletionFlags::SUPPRESS).expect("connected");
            }
        });
        for _ in 0..ROUNDS {
            one.post_send(&[], 0, dat_core::CompletionFlags::SUPPRESS).expect("connected");
            next(&here);
            one.post_recv(&[], 0, NONE).expect("connected");
        }
    });
    // The thread checks every 20 ms whether the channels are still in use.
    let looks = start.elapsed().as_millis() as u64 / 20;
    let woken = waits_of("dat-events") - before;
    // There would be one more for each wait of both sides if they did not sleep on their channels;
    // on a busy machine some waits outlast the interval of the check.
    let most = looks + u64::from(ROUNDS) / 2;
    assert!(woken <= most, "{woken} times for {ROUNDS} waits on each side, {looks} looks");
}

#[test]
fn an_armed_descriptor_works_after_a_wait() {
    let Some(address) = device("an armed descriptor after a wait") else { return };
    let side = Side::open(address);
    let (one, other) = (side.ep(), side.ep());
    side.link(&one, &other);
    for cookie in 0..20 {
        other.post_recv(&[], cookie, NONE).expect("connected");
        one.post_send(&[], cookie, NONE).expect("connected");
        for _ in 0..2 {
            assert!(matches!(next(&side.done), Event::Dto(_)));
        }
        other.post_recv(&[], 100, NONE).expect("connected");
        if !side.done.arm().expect("no thread waits") {
            one.post_send(&[], 101, NONE).expect("connected");
            let mut readable = [PollFd::new(side.done.as_fd(), PollFlags::POLLIN)];
            let limit = PollTimeout::try_from(LIMIT).expect("some seconds");
            assert_eq!(poll(&mut readable, limit), Ok(1), "round {cookie}");
        }
        for _ in 0..2 {
            assert!(matches!(next(&side.done), Event::Dto(_)));
        }
        side.done.disarm();
    }
}

#[test]
fn a_failure_is_noticed_without_a_poll() {
    let Some(address) = device("a failure that is not polled") else { return };
    let side = Side::open(address);
    // It has no dispatcher for its requests.
    let spec = EpSpec::new(&side.pz).recv_evd(&side.done).connect_evd(&side.connect);
    let one = side.ia.ep_create(&spec).expect("an endpoint");
    let other = side.ep();
    side.link(&one, &other);
    let (_memory, lmr) = side.memory(64);
    let piece = [lmr.triplet(0, 8).expect("inside")];
    let there = lmr.remote_triplet(8, 8).expect("inside");
    // The queue is full until the device, which is a thread of this process over soft-verbs, has executed requests.
    let until = Instant::now() + LIMIT;
    let write = |cookie, to| loop {
        match one.post_rdma_write(&piece, cookie, to, NONE) {
            Err(e) if e.is(ReturnType::InsufficientResources) && Instant::now() < until => {
                std::thread::yield_now();
            }
            posted => return posted,
        }
    };
    for cookie in 0..100 {
        write(cookie, there).expect("there is room again and again");
    }
    let nowhere = RmrTriplet { context: 0x7fff_fff1, ..there };
    write(100, nowhere).expect("only the other side can see it");
    assert_eq!(connection(&side.connect), ConnectionEventKind::Broken);
    // The reason can be queried, with the device's description.
    let failure = one.failure().expect("live").expect("a write was refused");
    let what = (failure.operation, failure.cookie, failure.status);
    assert_eq!(what, (Operation::RdmaWrite, 100, DtoStatus::RemoteAccess));
    let words = failure.to_string();
    assert!(words.contains("IBV_WC_REM_ACCESS_ERR (10), vendor error 0x"), "{words}");
    assert_eq!(other.failure(), Ok(None), "the other side did nothing that failed");
}
