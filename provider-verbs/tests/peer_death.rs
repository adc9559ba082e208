//! What happens to one side when the process of the other side is killed.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Command, Stdio};

use dat_core::{
    Connect, ConnectionEventKind, DtoStatus, EpProvision, EpState, EvdFlags, EvdOptions, Event,
};
use verbs_side::{LIMIT, NONE, Side, connection, device, next};

/// Gives the process to be killed the port of the other process.
const PEER: &str = "DAT_TEST_RDMA_PEER";
const SENDS: u64 = 30;

/// The process that is killed: it connects, reports that, and sleeps.
fn be_killed(address: IpAddr, qualifier: u64) {
    let side = Side::open(address);
    let ep = side.ep();
    ep.connect(&Connect::to(address, qualifier)).expect("an attempt");
    assert_eq!(connection(&side.connect), ConnectionEventKind::Established);
    println!("connected");
    std::thread::sleep(LIMIT * 3);
}

#[test]
fn all_outstanding_requests_complete_and_the_end_is_reported() {
    let Some(address) = device("what happens when the peer is killed") else { return };
    if let Ok(qualifier) = std::env::var(PEER) {
        return be_killed(address, qualifier.parse().expect("a qualifier"));
    }
    let side = Side::open(address);
    let requests = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
    let requests = side.ia.evd_create(&requests).expect("a dispatcher");
    let psp = side.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a service point");
    let mut peer = Command::new(std::env::current_exe().expect("this program"))
        .args(["--nocapture", "all_outstanding_requests_complete_and_the_end_is_reported"])
        .env(PEER, psp.qualifier().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the other process");
    let Event::ConnectionRequest(arrival) = next(&requests) else { panic!("no request") };
    let ep = side.ep();
    arrival.request.accept(Some(&ep), b"").expect("an unconnected endpoint");
    assert_eq!(connection(&side.connect), ConnectionEventKind::Established);
    let told = BufReader::new(peer.stdout.take().expect("piped"));
    let told = told.lines().map_while(Result::ok).any(|line| line.contains("connected"));
    assert!(told, "the other process is connected");
    // The other side posts no receives: all of these are outstanding when it dies.
    for cookie in 0..SENDS {
        ep.post_send(&[], cookie, NONE).expect("connected");
        ep.post_recv(&[], 100 + cookie, NONE).expect("connected");
    }
    peer.kill().expect("it runs");
    peer.wait().expect("it ended");
    let end = connection(&side.connect);
    assert!(
        matches!(end, ConnectionEventKind::Disconnected | ConnectionEventKind::Broken),
        "{end:?}"
    );
    assert_eq!(ep.status().expect("live").state, EpState::Disconnected);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for _ in 0..SENDS * 2 {
        let Event::Dto(done) = next(&side.done) else { panic!("no completion") };
        assert_ne!(done.status, DtoStatus::Success);
        let list = if done.cookie < 100 { &mut sends } else { &mut receives };
        list.push(done.cookie);
    }
    assert!(sends.into_iter().eq(0..SENDS), "each once, in order");
    assert!(receives.into_iter().eq(100..100 + SENDS), "each once, in order");
    ep.reset().expect("disconnected");
    assert_eq!(ep.status().expect("live").state, EpState::Unconnected);
}
