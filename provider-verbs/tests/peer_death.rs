//! What happens to one side when the process of the other is killed.
//!
//! It needs an RDMA device, whose address `DAT_TEST_RDMA` names: `.ci/guest` has one. Without it
//! the test says on standard error that it did not run, whatever the test runner captures.

use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use dat_core::registry::Configuration;
use dat_core::{
    CompletionFlags, Connect, ConnectionEventKind, DtoStatus, Endpoint, EpSpec, EpState, EvdFlags,
    EvdOptions, Event, EventDispatcher, InterfaceAdapter, ProtectionZone, PspMaker, Registry,
    Waited,
};
use provider_verbs::VerbsProvider;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);
const NONE: CompletionFlags = CompletionFlags::empty();
/// What names the port of the other process, in the process that is killed.
const PEER: &str = "DAT_TEST_RDMA_PEER";
const SENDS: u64 = 30;

struct Side {
    ia: InterfaceAdapter,
    pz: ProtectionZone,
    done: EventDispatcher,
    connect: EventDispatcher,
}

impl Side {
    /// An instance of the adapter of that address, named as a line of dat.conf names it.
    fn open(address: IpAddr) -> Self {
        let name = VerbsProvider::NAME;
        let line = format!("here u2.0 threadsafe default {name} {name}.0.1 \"{address} 0\" \"\"");
        let registry = Registry::with_configuration(Configuration::from_text("dat.conf", &line));
        registry.add_provider(provider_verbs::provider()).expect("an empty registry");
        let ia = registry.open("here").expect("the adapter of DAT_TEST_RDMA");
        let evd = |flags| ia.evd_create(&EvdOptions::new(256, flags)).expect("a dispatcher");
        Self {
            pz: ia.pz_create().expect("a zone"),
            done: evd(EvdFlags::DTO),
            connect: evd(EvdFlags::CONNECTION),
            ia,
        }
    }

    fn ep(&self) -> Endpoint {
        let spec = EpSpec::new(&self.pz).recv_evd(&self.done).request_evd(&self.done);
        self.ia.ep_create(&spec.connect_evd(&self.connect)).expect("an endpoint")
    }
}

#[track_caller]
fn next(evd: &EventDispatcher) -> Event {
    let mut event = Event::default();
    match evd.wait(LIMIT.into(), 1, &mut event) {
        Ok(Waited::Event { .. }) => event,
        other => panic!("no event: {other:?}"),
    }
}

#[track_caller]
fn connection(evd: &EventDispatcher) -> ConnectionEventKind {
    match next(evd) {
        Event::Connection(event) => event.kind,
        other => panic!("no event of a connection: {other:?}"),
    }
}

/// The process that is killed: it connects, says so, and sleeps.
fn be_killed(address: IpAddr, qualifier: u64) {
    let side = Side::open(address);
    let ep = side.ep();
    ep.connect(&Connect::to(address, qualifier)).expect("an attempt");
    assert_eq!(connection(&side.connect), ConnectionEventKind::Established);
    println!("connected");
    std::thread::sleep(LIMIT * 3);
}

#[test]
fn everything_outstanding_completes_and_the_end_is_told() {
    let Ok(address) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: what happens when the peer is killed");
        return;
    };
    let address: IpAddr = address.parse().expect("DAT_TEST_RDMA is an address");
    if let Ok(qualifier) = std::env::var(PEER) {
        return be_killed(address, qualifier.parse().expect("a qualifier"));
    }
    let side = Side::open(address);
    let requests = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
    let requests = side.ia.evd_create(&requests).expect("a dispatcher");
    let psp = side.ia.psp_create_any(&requests, PspMaker::Consumer).expect("a service point");
    let mut peer = Command::new(std::env::current_exe().expect("this program"))
        .args(["--nocapture", "everything_outstanding_completes_and_the_end_is_told"])
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
    // The other side has no receives: all of this is outstanding when it dies.
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
