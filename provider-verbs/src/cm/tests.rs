//! The layer against the manual pages rdma_create_id(3), rdma_create_qp(3) and
//! rdma_create_ep(3), a test for each sentence that can be tried.
//!
//! They need an RDMA device, whose address `DAT_TEST_RDMA` names: `.ci/guest` has one. Without
//! it each says on standard error that it did not run, whatever the test runner captures.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    AddressInfo, Channel, ConnectParameters, Event, EventKind, Hints, Id, IdQueuePairInit,
    PortSpace,
};
use crate::sys::verbs::ibv_qp_cap;
use crate::verbs::{CompletionQueue, ProtectionDomain, QueuePairKind, devices};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);

const CAPABILITIES: ibv_qp_cap = ibv_qp_cap {
    max_send_wr: 5,
    max_recv_wr: 6,
    max_send_sge: 2,
    max_recv_sge: 1,
    max_inline_data: 0,
};

const INIT: IdQueuePairInit<'static> = IdQueuePairInit {
    send_queue: None,
    receive_queue: None,
    shared: None,
    capabilities: CAPABILITIES,
    kind: QueuePairKind::Connected,
};

/// Runs a test with the address of the device, in a thread that has to end.
fn with_device(test: impl FnOnce(SocketAddr) + Send + 'static) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let Ok(text) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: {name}");
        return;
    };
    let address: IpAddr = text.parse().expect("DAT_TEST_RDMA is the address of an RDMA device");
    let thread = std::thread::spawn(move || test(SocketAddr::new(address, 0)));
    let deadline = Instant::now() + LIMIT;
    while !thread.is_finished() {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

fn new_channel() -> Arc<Channel> {
    Channel::new().expect("the libraries").expect("a channel")
}

#[track_caller]
fn expect(channel: &Arc<Channel>, kind: EventKind) -> Event {
    let event = channel.take_event().expect("an event");
    assert_eq!(event.kind, kind, "status {}", event.status);
    event
}

fn bound(address: SocketAddr, space: PortSpace) -> Id {
    let id = Id::new_synchronous(space).expect("an identifier");
    id.bind(address).expect("the device's own address");
    id
}

/// A listening identifier on a channel, and the address that it listens on.
fn listener(channel: &Arc<Channel>, address: SocketAddr, key: u64) -> (Id, SocketAddr) {
    let id = Id::new(channel, key, PortSpace::Tcp).expect("an identifier");
    id.bind(address).expect("the device's own address");
    id.listen(4).expect("it listens");
    let port = id.local_port();
    (id, SocketAddr::new(address.ip(), port))
}

// rdma_create_id(3)

#[test]
fn with_a_channel_operations_begin_and_their_outcome_is_an_event() {
    with_device(|address| {
        let channel = new_channel();
        let id = Id::new(&channel, 7, PortSpace::Tcp).expect("an identifier");
        assert!(!id.is_synchronous());
        id.resolve_address(None, address, LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::AddressResolved).key, 7);
        id.resolve_route(LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::RouteResolved).key, 7);
        assert!(id.kept_event().is_none(), "it keeps none");
    });
}

#[test]
fn without_a_channel_operations_block_and_keep_their_event() {
    with_device(|address| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        assert!(id.is_synchronous());
        id.resolve_address(None, address, LIMIT).expect("resolved");
        assert!(id.context().is_some(), "it is bound when the call returns");
        let kept = id.kept_event().expect("the event of the call");
        assert_eq!((kept.kind, kept.status), (EventKind::AddressResolved, 0));
        id.resolve_route(LIMIT).expect("resolved");
        let kept = id.kept_event().expect("that of the next call");
        assert_eq!(kept.kind, EventKind::RouteResolved);
    });
}

#[test]
fn an_operation_of_a_synchronous_one_gives_the_failure_itself() {
    with_device(|address| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, SocketAddr::new(address.ip(), 9), LIMIT).expect("resolved");
        id.resolve_route(LIMIT).expect("resolved");
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let refused = id.connect(&ConnectParameters::default()).expect_err("nobody listens");
        assert_eq!(refused.errno, libc::ECONNREFUSED);
    });
}

#[test]
fn there_are_identifiers_of_every_port_space() {
    with_device(|address| {
        for space in [PortSpace::Tcp, PortSpace::Udp] {
            assert!(bound(address, space).local_port() != 0);
        }
        // That of InfiniBand binds to addresses of its own kind.
        Id::new_synchronous(PortSpace::Ib).expect("an identifier");
    });
}

#[test]
fn an_identifier_has_a_device_from_its_binding_on() {
    with_device(|address| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        assert!(id.context().is_none());
        id.bind(address).expect("the device's own address");
        assert!(id.context().is_some());
        assert!(id.port() > 0);
        assert_eq!(id.local_address().map(|address| address.ip()), Some(address.ip()));
    });
}

#[test]
fn a_second_listener_on_a_port_is_refused() {
    with_device(|address| {
        let channel = new_channel();
        let (_first, taken) = listener(&channel, address, 1);
        let second = Id::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        let refused = second.bind(taken).expect_err("taken");
        assert_eq!(refused.errno, libc::EADDRINUSE);
    });
}

#[test]
fn an_address_of_no_device_is_refused() {
    with_device(|_| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        let nowhere = SocketAddr::new(IpAddr::from([192, 0, 2, 1]), 0);
        assert!(id.bind(nowhere).is_err());
    });
}

#[test]
fn it_is_released_while_events_of_it_wait() {
    with_device(|address| {
        let channel = new_channel();
        let id = Id::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        std::thread::sleep(Duration::from_millis(200));
        drop(id);
        // The channel outlives it and works.
        let next = Id::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        next.resolve_address(None, address, LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::AddressResolved).key, 2);
    });
}

#[test]
fn it_is_released_in_the_thread_that_takes_its_events() {
    with_device(|address| {
        let channel = new_channel();
        let id = Id::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        let event = expect(&channel, EventKind::AddressResolved);
        drop(id);
        assert_eq!(event.key, 1, "the event is a copy");
    });
}

// rdma_create_qp(3)

#[test]
fn without_a_binding_there_is_no_queue_pair() {
    with_device(|_| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        let refused = id.create_queue_pair(None, &INIT).expect_err("unbound");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn the_default_domain_is_one_for_the_device() {
    with_device(|address| {
        let ids = [0, 1].map(|_| bound(address, PortSpace::Tcp));
        for id in &ids {
            id.create_queue_pair(None, &INIT).expect("a queue pair");
        }
        let [one, other] = ids.each_ref().map(|id| id.domain().expect("the default one").raw());
        assert_eq!(one, other);
    });
}

#[test]
fn a_given_domain_is_that_of_the_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let domain = ProtectionDomain::new(&id.context().expect("bound")).expect("a domain");
        let capabilities = id.create_queue_pair(Some(&domain), &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair(capabilities).expect("made");
        assert_eq!(id.domain().expect("given").raw(), domain.raw());
        assert_eq!(queue_pair.domain().raw(), domain.raw());
    });
}

#[test]
fn a_domain_of_another_device_is_refused() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let all = devices().expect("the libraries").expect("the devices");
        // The same device opened again is another one to the library.
        let other = all.first().expect("a device").open().expect("opened");
        let domain = ProtectionDomain::new(&other).expect("a domain");
        let refused = id.create_queue_pair(Some(&domain), &INIT).expect_err("not of the device");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn queues_that_are_not_given_are_made_with_their_channels() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        assert!(id.queues().is_none());
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let [sends, receives] = id.queues().expect("made with it");
        assert!(sends.channel.is_some() && receives.channel.is_some());
        assert!(sends.queue.depth() >= CAPABILITIES.max_send_wr);
        assert!(receives.queue.depth() >= CAPABILITIES.max_recv_wr);
        sends.queue.arm(false).expect("it can be waited on");
    });
}

#[test]
fn given_queues_are_those_of_the_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let context = id.context().expect("bound");
        let queue = CompletionQueue::new(&context, 16, 1, None).expect("a queue");
        let init =
            IdQueuePairInit { send_queue: Some(&queue), receive_queue: Some(&queue), ..INIT };
        let capabilities = id.create_queue_pair(None, &init).expect("a queue pair");
        let queue_pair = id.queue_pair(capabilities).expect("made");
        queue_pair.post_receive(3, &[]).expect("posted");
        queue_pair.set_error().expect("in error");
        let mut done = [crate::verbs::WorkCompletion::default()];
        while queue.poll(&mut done).expect("polled") == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(done[0].wr_id, 3);
    });
}

#[test]
fn the_capabilities_that_it_got_are_returned() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let got = id.create_queue_pair(None, &INIT).expect("a queue pair");
        assert!(got.max_send_wr >= CAPABILITIES.max_send_wr, "{got:?}");
        assert!(got.max_recv_wr >= CAPABILITIES.max_recv_wr, "{got:?}");
        assert!(got.max_send_sge >= CAPABILITIES.max_send_sge, "{got:?}");
        assert!(got.max_recv_sge >= CAPABILITIES.max_recv_sge, "{got:?}");
    });
}

#[test]
fn an_identifier_has_one_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let refused = id.create_queue_pair(None, &INIT).expect_err("the second");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn receives_are_posted_right_after_and_on_datagrams_sends_too() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let capabilities = id.create_queue_pair(None, &INIT).expect("a queue pair");
        let connected = id.queue_pair(capabilities).expect("made");
        for number in 0..u64::from(CAPABILITIES.max_recv_wr) {
            connected.post_receive(number, &[]).expect("posted before there is a connection");
        }
        let id = bound(address, PortSpace::Udp);
        let init = IdQueuePairInit { kind: QueuePairKind::Datagram, ..INIT };
        let capabilities = id.create_queue_pair(None, &init).expect("a queue pair");
        let datagrams = id.queue_pair(capabilities).expect("made");
        datagrams.post_receive(1, &[]).expect("posted");
        assert_eq!(datagrams.query_state(), Ok(crate::sys::verbs::IBV_QPS_RTS), "it can send");
    });
}

// rdma_create_ep(3)

fn resolve(address: SocketAddr, passive: bool) -> AddressInfo {
    let hints = Hints { space: PortSpace::Tcp, passive };
    AddressInfo::resolve(address, hints).expect("an address of the device")
}

#[test]
fn with_attributes_the_active_side_has_its_queue_pair_at_once() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1);
        let id = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        assert!(id.queue_pair(CAPABILITIES).is_some());
        assert!(id.is_synchronous());
        assert_eq!(id.peer_port(), at.port(), "it is resolved");
    });
}

#[test]
fn without_attributes_there_is_no_queue_pair() {
    with_device(|address| {
        let at = SocketAddr::new(address.ip(), 4_791);
        let id = Id::create_endpoint(&resolve(at, false), None, None).expect("an identifier");
        assert!(id.queue_pair(CAPABILITIES).is_none());
        let id = Id::create_endpoint(&resolve(address, true), None, None).expect("an identifier");
        assert!(id.queue_pair(CAPABILITIES).is_none());
    });
}

#[test]
fn the_passive_side_keeps_domain_and_attributes_for_each_request() {
    with_device(|address| {
        let passive = Id::create_endpoint(&resolve(address, true), None, Some(&INIT));
        let passive = passive.expect("an identifier");
        assert!(passive.queue_pair(CAPABILITIES).is_none(), "it has none itself");
        passive.listen(4).expect("at once");
        let at = SocketAddr::new(address.ip(), passive.local_port());
        for round in 0..2_u8 {
            let active = std::thread::spawn(move || {
                let from = resolve(at, false);
                let id = Id::create_endpoint(&from, None, Some(&INIT)).expect("whole");
                let data = [round; 3];
                let wanted = ConnectParameters { private_data: &data, ..Default::default() };
                // No call to resolve anything comes before.
                id.connect(&wanted).expect("connected when it returns");
                let kept = id.kept_event().expect("the event of the call");
                assert_eq!(kept.kind, EventKind::Established);
                id
            });
            let request = passive.take_request().expect("a request");
            let kept = request.kept_event().expect("the event of the request");
            assert_eq!(kept.kind, EventKind::ConnectRequest);
            assert_eq!(kept.private_data[..3], [round; 3]);
            let queue_pair = request.queue_pair(CAPABILITIES).expect("made with the request");
            queue_pair.post_receive(1, &[]).expect("posted before it is accepted");
            request.accept(&ConnectParameters::default()).expect("connected when it returns");
            let active = active.join().expect("the active side");
            // It waits for the answer of the other side, which the release gives.
            let active = std::thread::spawn(move || active.disconnect());
            drop((queue_pair, request));
            active.join().expect("the active side").expect("connected");
        }
    });
}

#[test]
fn it_is_synchronous_until_it_is_migrated_to_a_channel() {
    with_device(|address| {
        let passive = Id::create_endpoint(&resolve(address, true), None, Some(&INIT));
        let passive = passive.expect("an identifier");
        passive.listen(4).expect("at once");
        let at = SocketAddr::new(address.ip(), passive.local_port());
        let active = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        let channel = new_channel();
        active.migrate(Some(&channel)).expect("moved");
        assert!(!active.is_synchronous());
        active.connect(&ConnectParameters::default()).expect("it begins, and returns at once");
        let request = passive.take_request().expect("a request");
        // It waits for the other side's last word, which that sends as it takes the event.
        let passive = std::thread::spawn(move || request.accept(&ConnectParameters::default()));
        expect(&channel, EventKind::Established);
        passive.join().expect("the passive side").expect("connected");
    });
}

#[test]
fn it_is_released_with_its_queue_pair() {
    with_device(|address| {
        for _ in 0..20 {
            let at = SocketAddr::new(address.ip(), 4_791);
            let id = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
            let queue_pair = id.queue_pair(CAPABILITIES).expect("made");
            drop(id);
            queue_pair.post_receive(1, &[]).expect("whoever uses the queue pair keeps it");
        }
    });
}

// rdma_establish(3), rdma_reject(3)

#[test]
fn who_has_no_queue_pair_of_the_identifiers_gets_the_response_and_establishes() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5);
        let id = Id::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, at, LIMIT).expect("it begins");
        expect(&here, EventKind::AddressResolved);
        id.resolve_route(LIMIT).expect("it begins");
        expect(&here, EventKind::RouteResolved);
        let wanted = ConnectParameters {
            private_data: b"hello",
            queue_pair: Some((77, false)),
            ..ConnectParameters::default()
        };
        id.connect(&wanted).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        assert_eq!(event.key, 5, "that of the listener");
        assert_eq!(&event.private_data[..5], b"hello");
        let request = event.request.expect("an identifier of its own");
        request.set_key(6);
        let answer = ConnectParameters { queue_pair: Some((78, false)), ..wanted };
        request.accept(&answer).expect("it begins");
        expect(&here, EventKind::ConnectResponse);
        id.establish().expect("established");
        assert_eq!(expect(&there, EventKind::Established).key, 6);
        id.disconnect().expect("connected");
        assert_eq!(expect(&there, EventKind::Disconnected).key, 6);
    });
}

#[test]
fn a_refusal_carries_private_data() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5);
        let id = Id::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, at, LIMIT).expect("it begins");
        expect(&here, EventKind::AddressResolved);
        id.resolve_route(LIMIT).expect("it begins");
        expect(&here, EventKind::RouteResolved);
        let queue_pair = Some((77, false));
        id.connect(&ConnectParameters { queue_pair, ..Default::default() }).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        event.request.expect("an identifier").reject(b"no").expect("sent");
        let event = expect(&here, EventKind::Rejected);
        assert_eq!((&event.private_data[..2], event.status), (&b"no"[..], 28));
    });
}
