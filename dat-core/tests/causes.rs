//! What a provider knows of the cause of a failed attempt reaches the program with the event.

mod altered_stub;

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use altered_stub::{AlteredStub, Attempts};
use dat_core::provider::{ConnectionSink, ConnectionUpcall};
use dat_core::{
    Connect, ConnectionEventKind, DatagramEventKind, EpAttributes, EpSpec, EvdFlags, EvdOptions,
    Event, Ia, LocalCause, PathCause, RefusalCause, Timeout, WaitResult,
};
use nix::errno::Errno;

const LIMIT: Timeout = Timeout::After(Duration::from_secs(20));

/// The event of an attempt that the provider ends in that way.
fn outcome(end: ConnectionUpcall<'static>, datagrams: bool, to: Option<IpAddr>) -> Event {
    let ia = altered_stub::open(Arc::new(AlteredStub {
        attempts: Some(Arc::new(end)),
        ..AlteredStub::default()
    }));
    let own = ia.attributes().address;
    attempt(&ia, datagrams, to.map_or(Connect::to(own, 1), |to| Connect::to(to, 1)))
}

fn attempt(ia: &Ia, datagrams: bool, to: Connect<'_>) -> Event {
    let pz = ia.pz_create().expect("a zone");
    let options = EvdOptions::new(4, EvdFlags::DTO | EvdFlags::CONNECTION);
    let evd = ia.evd_create(&options).expect("a dispatcher");
    let mut attributes = ia.default_ep_attributes().clone();
    if datagrams {
        attributes.service_type = EpAttributes::SERVICE_DATAGRAM;
    }
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let ep = ia.ep_create(&spec.attributes(&attributes)).expect("an endpoint");
    ep.connect(&to).expect("an attempt");
    let mut event = Event::default();
    let waited = evd.wait(LIMIT, 1, &mut event).expect("an event");
    assert!(matches!(waited, WaitResult::Event { .. }));
    event
}

/// Each end of an attempt with the event of a connection, and the cause for a connection and for datagrams.
fn table() -> Vec<(ConnectionUpcall<'static>, ConnectionEventKind, [RefusalCause; 2])> {
    use ConnectionEventKind::{NonPeerRejected, TimedOut, Unreachable};
    let local = RefusalCause::Local(LocalCause { what: "try", errno: Errno::ENOMEM as i32 });
    let path = |cause| (ConnectionUpcall::NoPath { cause }, RefusalCause::Path(cause));
    let (lost, lost_cause) = path(PathCause::Answer(Errno::ETIMEDOUT as i32));
    let (no_route, no_route_cause) = path(PathCause::Address(Errno::ENETUNREACH as i32));
    let (elsewhere, elsewhere_cause) = path(PathCause::OtherDevice);
    vec![
        (lost, TimedOut, [lost_cause; 2]),
        (no_route, Unreachable, [no_route_cause; 2]),
        (elsewhere, Unreachable, [elsewhere_cause; 2]),
        (ConnectionUpcall::NonPeerRejected { cause: local }, NonPeerRejected, [local; 2]),
        (
            ConnectionUpcall::Unreachable,
            Unreachable,
            [RefusalCause::Unknown, RefusalCause::Unreachable],
        ),
        (ConnectionUpcall::TimedOut, TimedOut, [RefusalCause::Unknown, RefusalCause::TimedOut]),
    ]
}

#[test]
fn the_event_of_a_failed_connection_has_its_cause() {
    for (end, kind, [cause, _]) in table() {
        let Event::Connection(event) = outcome(end, false, None) else { panic!("{end:?}") };
        assert_eq!((event.kind, event.cause), (kind, cause));
    }
}

#[test]
fn the_event_of_a_datagram_attempt_has_its_cause() {
    for (end, _, [_, cause]) in table() {
        let Event::Datagram(event) = outcome(end, true, None) else { panic!("{end:?}") };
        assert_eq!((event.kind, event.cause), (DatagramEventKind::Error, cause));
        assert!(cause.text().is_some(), "the program gets words: {cause:?}");
    }
}

#[test]
fn an_address_of_another_family_explains_that_it_is_not_resolved() {
    let own = altered_stub::open(Arc::new(AlteredStub::default())).attributes().address;
    let to: IpAddr = match own.to_string().contains(':') {
        true => [192, 0, 2, 1].into(),
        false => "2001:db8::1".parse().expect("an address"),
    };
    for errno in [Errno::ENETUNREACH, Errno::EINVAL] {
        let end = ConnectionUpcall::NoPath { cause: PathCause::Address(errno as i32) };
        let Event::Connection(event) = outcome(end, false, Some(to)) else { panic!("{errno}") };
        assert_eq!(event.cause, RefusalCause::OtherFamily);
        let Event::Datagram(event) = outcome(end, true, Some(to)) else { panic!("{errno}") };
        assert_eq!(event.cause, RefusalCause::OtherFamily);
    }
    // An answer was awaited, so the address was resolved.
    let cause = PathCause::Answer(Errno::ETIMEDOUT as i32);
    let end = ConnectionUpcall::NoPath { cause };
    let Event::Connection(event) = outcome(end, false, Some(to)) else { panic!("no event") };
    assert_eq!(event.cause, RefusalCause::Path(cause));
}

/// Attempts that take long to begin, and what becomes of them.
#[derive(Default)]
struct Slow(Mutex<Vec<&'static str>>);

impl Slow {
    fn note(&self, what: &'static str) {
        self.0.lock().expect("no panic").push(what);
    }

    fn notes(&self) -> Vec<&'static str> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Attempts for Slow {
    fn connect(&self, _attempt: u64, _: &dyn ConnectionSink) {
        thread::sleep(Duration::from_millis(50));
        self.note("begun");
    }

    fn abandon(&self, _attempt: u64) {
        self.note("abandoned");
    }
}

/// Otherwise the provider would know nothing of the attempt yet, and would keep it.
#[test]
fn an_attempt_whose_time_out_expires_while_it_begins_is_abandoned_afterwards() {
    let slow = Arc::new(Slow::default());
    let attempts: Arc<dyn Attempts> = Arc::clone(&slow) as _;
    let stub = AlteredStub { attempts: Some(attempts), ..AlteredStub::default() };
    let ia = altered_stub::open(Arc::new(stub));
    let to =
        Connect { timeout: Timeout::from_micros(1000), ..Connect::to(ia.attributes().address, 1) };
    let Event::Datagram(event) = attempt(&ia, true, to) else { panic!("another event") };
    assert_eq!((event.kind, event.cause), (DatagramEventKind::Error, RefusalCause::TimedOut));
    while slow.notes().len() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(slow.notes(), ["begun", "abandoned"]);
}
