//! Peers that are killed or stopped.

use std::process::Child;
use std::time::Duration;

use dat_conformance::{Background, Node, expect_connection, expect_request, until};
use dat_core::{Connect, ConnectionEventKind, DtoStatus, EpProvision, EpState, Event, Timeout};

use crate::completions::{NONE, each_once, posts};
use crate::process;

/// Rounds of kill -9; LOST_ROUNDS overrides the number.
fn rounds() -> u64 {
    std::env::var("LOST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

/// The other process: accepts each request, and keeps posting receives and sends.
///
/// # Panics
/// If a call on a live endpoint fails.
pub fn peer(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    process::announce(psp.qualifier());
    let ep = node.ep();
    let buffer = node.buffer(128);
    expect_request(&node.requests).request.accept(Some(&ep), b"").expect("unconnected");
    for cookie in 0..8 {
        ep.post_recv(&[buffer.piece(0, 64)], cookie, NONE).expect("live");
    }
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    loop {
        for event in dat_conformance::drain(&node.recv) {
            let Event::Dto(done) = event else { panic!("{event:?}") };
            if done.status != DtoStatus::Success {
                return;
            }
            ep.post_recv(&[buffer.piece(0, 64)], done.cookie, NONE).expect("live");
            let _ = ep.post_send(&[buffer.piece(64, 64)], 100, NONE);
        }
        dat_conformance::drain(&node.request);
    }
}

/// Starts the peer; returns its port.
fn start() -> (Child, u64) {
    process::start("lost::peer")
}

/// A peer is killed at random moments: each post completes once.
///
/// # Panics
/// If a cookie is lost or arrives twice, or the connection does not end with the right
/// event.
pub fn after_kill_9_of_the_peer_every_cookie_comes_once(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = node.buffer(128);
    let mut random = fastrand::Rng::new();
    for _ in 0..rounds() {
        let (mut child, port) = start();
        let ep = node.ep();
        ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        let cookies = posts(&ep, &buffer, 16, 16);
        std::thread::sleep(Duration::from_micros(random.u64(0..3000)));
        child.kill().expect("a child");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Disconnected);
        each_once(&[&node.recv, &node.request], &cookies);
        ep.free().expect("disconnected");
        child.wait().expect("a child");
    }
    buffer.lmr.free().expect("unused");
    node.finish();
}

/// One process dies in the middle of messages of each kind; the connections to the others continue.
///
/// # Panics
/// If a cookie is lost or arrives twice, or the connection does not end with the right
/// event.
pub fn the_death_of_one_peer_does_not_disturb_the_others(open: fn(&str) -> Node) {
    const PEERS: usize = 4;
    let node = open("");
    let buffer = node.buffer(128);
    let mut random = fastrand::Rng::new();
    let mut peers: Vec<_> = (0..PEERS)
        .map(|_| {
            let (child, port) = start();
            let ep = node.ep();
            ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
            expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
            (child, ep)
        })
        .collect();
    while let Some((mut child, ep)) = peers.pop() {
        let cookies = posts(&ep, &buffer, 16, 16);
        std::thread::sleep(Duration::from_micros(random.u64(0..3000)));
        child.kill().expect("a child");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Disconnected);
        each_once(&[&node.recv, &node.request], &cookies);
        ep.free().expect("disconnected");
        child.wait().expect("a child");
        for (_, ep) in &peers {
            let cookies = posts(ep, &buffer, 8, 8);
            let done = each_once(&[&node.recv, &node.request], &cookies);
            assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
        }
    }
    buffer.lmr.free().expect("unused");
    node.finish();
}

/// A peer ends while a thread sleeps until something arrives from it, and in a second round is stopped before: the
/// thread wakes up.
///
/// # Panics
/// If the thread sleeps on, or its receive does not end with the connection.
pub fn the_end_of_a_peer_wakes_a_waiter(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = node.buffer(64);
    for is_stopped in [false, true] {
        let (mut child, port) = start();
        let ep = node.ep();
        ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        ep.post_recv(&[buffer.piece(0, 64)], 7, NONE).expect("connected");
        let waiter = Background::with(&node.recv, |received| {
            let mut event = Event::default();
            received.wait(Timeout::Infinite, 1, &mut event).expect("no other waiter");
            event
        });
        waiter.until_asleep();
        if is_stopped {
            process::stop(&child);
        }
        child.kill().expect("a child");
        let Event::Dto(done) = waiter.join() else { panic!("another event") };
        assert_eq!((done.cookie, done.status), (7, DtoStatus::Flushed));
        expect_connection(&node.connect, &ep, ConnectionEventKind::Disconnected);
        ep.free().expect("disconnected");
        child.wait().expect("a child");
    }
    buffer.lmr.free().expect("unused");
    node.finish();
}

/// A peer that is stopped for a while loses nothing.
///
/// # Panics
/// If a cookie is lost or arrives twice, or the connection does not end with the right
/// event.
pub fn a_peer_that_was_stopped_goes_on(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = node.buffer(128);
    let (mut child, port) = start();
    let ep = node.ep();
    ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    process::stop(&child);
    let cookies = posts(&ep, &buffer, 8, 8);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(dat_conformance::state(&ep), EpState::Connected);
    process::go_on(&child);
    let done = each_once(&[&node.recv, &node.request], &cookies);
    assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
    child.kill().expect("a child");
    child.wait().expect("a child");
    until("it is disconnected", || dat_conformance::state(&ep) == EpState::Disconnected);
}
