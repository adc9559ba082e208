//! The event of an attempt that fails over an RDMA device has its cause, for connections and for datagrams.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;

use dat_core::{
    Connect, ConnectionEventKind, DatagramEventKind, Ep, EpAttributes, EpSpec, Event, PathCause,
    RefusalCause,
};
use verbs_side::{LIMIT, Side, device, next};

/// A qualifier on which nothing listens.
const UNUSED: u64 = 7;

/// Longer than the connection manager sends a request again: 16 times, every 4.3 s.
const GIVES_UP: Duration = Duration::from_secs(150);

fn datagrams(side: &Side) -> Option<Ep> {
    let service_type = EpAttributes::SERVICE_DATAGRAM;
    let attributes = EpAttributes { service_type, ..side.ia.default_ep_attributes().clone() };
    let spec = EpSpec::new(&side.pz).recv_evd(&side.done).request_evd(&side.done);
    let spec = spec.connect_evd(&side.connect).attributes(&attributes);
    let has = side.ia.provider_attributes().datagrams_supported;
    has.then(|| side.ia.ep_create(&spec).expect("an endpoint"))
}

/// The causes of an attempt to connect and, on devices that have them, of one for datagrams.
fn causes(side: &Side, to: IpAddr, kind: ConnectionEventKind) -> Vec<RefusalCause> {
    let request = Connect::to(to, UNUSED).timeout(LIMIT);
    let ep = side.ep();
    ep.connect(&request).expect("an attempt");
    let Event::Connection(event) = next(&side.connect) else { panic!("no outcome") };
    assert_eq!(event.kind, kind, "{to}: {:?}", event.cause);
    let mut causes = vec![event.cause];
    ep.free().expect("disconnected");
    if let Some(ep) = datagrams(side) {
        ep.connect(&request).expect("an attempt");
        let Event::Datagram(event) = next(&side.connect) else { panic!("no outcome") };
        assert_eq!(event.kind, DatagramEventKind::Error, "{to}");
        causes.push(event.cause);
        ep.free().expect("unconnected");
    }
    for cause in &causes {
        let text = cause.text().expect("a text");
        println!("{to}: {text}");
    }
    causes
}

#[test]
fn an_address_that_is_reached_without_the_device_is_not_a_failure_of_the_peer() {
    let Some(address) = device("the cause of an address elsewhere") else { return };
    let side = Side::open(address);
    let unreachable = ConnectionEventKind::Unreachable;
    for cause in causes(&side, Ipv4Addr::LOCALHOST.into(), unreachable) {
        assert_eq!(cause, RefusalCause::Path(PathCause::OtherDevice));
    }
    // Of the range for documentation: there is no route to it, or one through another device.
    for cause in causes(&side, Ipv4Addr::new(192, 0, 2, 1).into(), unreachable) {
        assert!(
            matches!(cause, RefusalCause::Path(PathCause::Address(_) | PathCause::OtherDevice)),
            "{cause:?}"
        );
    }
}

#[test]
fn an_address_without_a_machine_is_not_taken_for_a_refusal() {
    let Some(address) = device("the cause of an address without a machine") else { return };
    if std::env::var_os("GUEST_NODE").is_none() {
        // Elsewhere any address of the network may be in use.
        return;
    }
    let side = Side::open(address);
    let IpAddr::V4(own) = address else { panic!("the guest has an IPv4 address") };
    let [a, b, c, _] = own.octets();
    let unused = Ipv4Addr::new(a, b, c, 199).into();
    for cause in causes(&side, unused, ConnectionEventKind::Unreachable) {
        let RefusalCause::Path(PathCause::Address(errno)) = cause else { panic!("{cause:?}") };
        assert!([libc::ETIMEDOUT, libc::EHOSTUNREACH].contains(&errno), "{errno}");
    }
}

#[test]
fn a_qualifier_without_a_listener_is_a_refusal() {
    let Some(address) = device("the cause of a missing listener") else { return };
    let side = Side::open(address);
    let (refused, own) = (ConnectionEventKind::NonPeerRejected, address);
    let ep = side.ep();
    ep.connect(&Connect::to(own, UNUSED).timeout(LIMIT)).expect("an attempt");
    let Event::Connection(event) = next(&side.connect) else { panic!("no outcome") };
    assert_eq!(event.kind, refused);
    let Some(ep) = datagrams(&side) else { return };
    ep.connect(&Connect::to(own, UNUSED).timeout(LIMIT)).expect("an attempt");
    let Event::Datagram(event) = next(&side.connect) else { panic!("no outcome") };
    assert_eq!((event.kind, event.cause), (DatagramEventKind::Error, RefusalCause::NoListener));
}

#[test]
fn a_machine_that_is_lost_before_it_answers_is_a_timeout_and_not_a_refusal() {
    let Some(address) = device("the cause of a lost machine") else { return };
    if std::env::var_os("GUEST_NODE").is_none() {
        // Elsewhere the table of neighbours is not that of the test.
        return;
    }
    let side = Side::open(address);
    let Some(datagrams) = datagrams(&side) else {
        // On iWARP, TCP resends for minutes.
        return;
    };
    let IpAddr::V4(own) = address else { panic!("the guest has an IPv4 address") };
    let [a, b, c, _] = own.octets();
    let lost = Ipv4Addr::new(a, b, c, 198);
    // The address is resolved, and nothing has it any more.
    let neighbour = format!("{lost} lladdr 02:00:00:00:00:99 dev v0 nud permanent");
    let added = Command::new("ip").args(["neigh", "replace"]).args(neighbour.split(' ')).status();
    assert!(added.expect("ip").success());
    let connection = side.ep();
    for ep in [&connection, &datagrams] {
        ep.connect(&Connect::to(lost, UNUSED)).expect("an attempt");
    }
    let cause = RefusalCause::Path(PathCause::Answer(libc::ETIMEDOUT));
    for _ in 0..2 {
        let mut event = Event::default();
        let waited = side.connect.wait(GIVES_UP.into(), 1, &mut event);
        match event {
            Event::Connection(event) => {
                assert_eq!((event.kind, event.cause), (ConnectionEventKind::TimedOut, cause));
            }
            Event::Datagram(event) => {
                assert_eq!((event.kind, event.cause), (DatagramEventKind::Error, cause));
            }
            other => panic!("{waited:?}: {other:?}"),
        }
    }
}
