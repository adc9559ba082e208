//! The cost of each of thousands of connections.

use std::time::Instant;

use dat_conformance::{Node, until};
use dat_core::{Close, Connect, Ep, EpProvision, EpState, EvdFlags, Event};

use crate::completions::{NONE, each_once};
use crate::process::{MOST_KEPT, descriptors, mapped_files, raise_descriptors};

/// The number of connections, which `MANY_CONNECTIONS` overrides.
fn number() -> usize {
    std::env::var("MANY_CONNECTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

/// Resident memory of this process in KiB. A page that is mapped twice counts once.
fn resident() -> usize {
    let all = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux");
    let line = all.lines().find_map(|line| line.strip_prefix("Pss:")).expect("Linux 4.14");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Prints what was measured since `begin`.
fn print(what: &str, pairs: usize, begin: Instant, before: usize) {
    let (each, memory) = (begin.elapsed() / pairs as u32, resident().saturating_sub(before));
    println!("{what}: {each:?} each, resident since the start {} KiB each", memory / pairs);
}

/// Connects thousands of endpoints of two adapters, sends a message on each, disconnects them, and
/// prints time and memory. Needs a process of its own.
///
/// # Panics
/// If a connection or a message is lost, or something leaks.
pub fn connections(open: fn(&str) -> Node) {
    raise_descriptors();
    let pairs = number();
    let (near, far) = (open(""), open(""));
    let queue = |node: &Node, flags| {
        let options = dat_core::EvdOptions::new(2 * pairs as u32, flags);
        node.ia.evd_create(&options).expect("a dispatcher")
    };
    let (connected, accepted) =
        (queue(&near, EvdFlags::CONNECTION), queue(&far, EvdFlags::CONNECTION));
    let (sent, received) = (queue(&near, EvdFlags::DTO), queue(&far, EvdFlags::DTO));
    let psp = far.ia.psp_create_any(&far.requests, EpProvision::Consumer).expect("a port");
    let buffer = (near.buffer(64), far.buffer(64));
    let ep = |node: &Node, connect, done| {
        let spec = node.spec().connect_evd(connect).request_evd(done).recv_evd(done);
        node.ia.ep_create(&spec).expect("an endpoint")
    };
    let (descriptors_before, mapped_before, before) = (descriptors(), mapped_files(), resident());
    let begin = Instant::now();
    let all: Vec<(Ep, Ep)> = (0..pairs)
        .map(|_| (ep(&near, &connected, &sent), ep(&far, &accepted, &received)))
        .collect();
    print("two endpoints", pairs, begin, before);
    let begin = Instant::now();
    for (client, server) in &all {
        client.connect(&Connect::to(far.address(), psp.qualifier())).expect("an attempt");
        let request = dat_conformance::expect_request(&far.requests).request;
        request.accept(Some(server), b"").expect("unconnected");
    }
    let stands = |ep: &Ep| dat_conformance::state(ep) == EpState::Connected;
    until("all are established", || all.iter().all(|(one, other)| stands(one) && stands(other)));
    print("connect and accept", pairs, begin, before);
    let begin = Instant::now();
    for (index, (client, server)) in all.iter().enumerate() {
        server.post_recv(&[buffer.1.piece(0, 64)], index as u64, NONE).expect("live");
        client.post_send(&[buffer.0.piece(0, 64)], index as u64, NONE).expect("connected");
    }
    let cookies: Vec<u64> = (0..pairs as u64).collect();
    each_once(&[&received], &cookies);
    each_once(&[&sent], &cookies);
    print("a message of 64 bytes", pairs, begin, before);
    let begin = Instant::now();
    for (client, _) in &all {
        client.disconnect(Close::Graceful).expect("connected");
    }
    let has_ended = |ep: &Ep| dat_conformance::state(ep) == EpState::Disconnected;
    let ended = || all.iter().all(|(one, other)| has_ended(one) && has_ended(other));
    until("all are disconnected", ended);
    print("disconnect", pairs, begin, before);
    let events = [&connected, &accepted].map(dat_conformance::drain).concat();
    let connections = |event: &&Event| matches!(event, Event::Connection(_));
    assert_eq!(events.iter().filter(connections).count(), 4 * pairs);
    drop(all);
    // Each of the four dispatchers has a set of descriptors since it had many links.
    until("no descriptor is left", || descriptors() <= descriptors_before + 4);
    // Each adapter may keep the doorbells of its last peer mapped, and the memory of its last connections.
    until("no memory is left", || mapped_files() <= mapped_before + 2 + 2 * MOST_KEPT);
}
