//! rdma_create_id(3).

use super::*;
use crate::cm::Parameters;
use crate::verbs::AddressHandle;

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

#[test]
fn nothing_is_communicated_before_a_binding() {
    with_device(|address| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        let refused = id.connect(&ConnectParameters::default()).expect_err("unbound");
        assert_eq!(refused.errno, libc::EINVAL);
        let refused = id.accept(&ConnectParameters::default()).expect_err("unbound");
        assert_eq!(refused.errno, libc::EINVAL);
        assert!(id.resolve_route(LIMIT).is_err(), "to nowhere");
        id.resolve_address(None, address, LIMIT).expect("which binds it");
    });
}

#[test]
fn the_event_of_an_operation_is_there_until_the_next() {
    with_device(|address| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("resolved");
        for _ in 0..3 {
            let kept = id.kept_event().expect("looking at it takes nothing");
            assert_eq!(kept.kind, EventKind::AddressResolved);
        }
        id.resolve_route(LIMIT).expect("resolved");
        assert_eq!(id.kept_event().expect("the next").kind, EventKind::RouteResolved);
    });
}

#[test]
fn connections_carry_messages_each_once_and_in_order() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let [from, to] = [&active, &passive]
            .map(|id| Registered::new(&id.domain().expect("the default one"), 64));
        let [source, target] =
            [&active, &passive].map(|id| id.queue_pair(CAPABILITIES).expect("made"));
        // Three messages of different lengths are three, and not one stream.
        for (number, length) in [(1, 7), (2, 0), (3, 9)] {
            target.post_receive(number, &[to.piece(number as usize * 16, 16)]).expect("posted");
            let piece = [from.piece(0, length)];
            let segments = if length > 0 { &piece[..] } else { &[] };
            post(&source, number, segments, What::Send);
        }
        let [_, receives] = passive.queues().expect("made with it");
        for expected in [(1, 0, 7), (2, 0, 0), (3, 0, 9)] {
            let done = completion(&receives.queue);
            assert_eq!((done.wr_id, done.status, done.byte_len), expected);
        }
        let [sends, _] = active.queues().expect("made with it");
        for number in 1..=3 {
            let done = completion(&sends.queue);
            assert_eq!((done.wr_id, done.status), (number, 0), "nothing was lost");
        }
        let active = std::thread::spawn(move || active.disconnect());
        // All that keeps the other side: its end is what the disconnect waits for.
        drop((target, receives, to, passive));
        active.join().expect("the active side").expect("connected");
    });
}

#[test]
fn the_udp_port_space_carries_datagrams_without_a_connection() {
    with_device(|address| {
        let channel = new_channel();
        let init = IdQueuePairInit { kind: QueuePairKind::Datagram, ..INIT };
        let answering = Id::new(&channel, 1, PortSpace::Udp).expect("an identifier");
        answering.bind(address).expect("the device's own address");
        answering.create_queue_pair(None, &init).expect("a queue pair");
        answering.listen(4).expect("it listens");
        let number = answering.queue_pair(CAPABILITIES).expect("made").number();
        let at = SocketAddr::new(address.ip(), answering.local_port());
        let asking = Id::new(&channel, 2, PortSpace::Udp).expect("an identifier");
        asking.set_type_of_service(0xb8).expect("a byte");
        find_way(&asking, &channel, at);
        asking.create_queue_pair(None, &init).expect("a queue pair");
        asking.connect(&ConnectParameters::default()).expect("it begins");
        let event = expect(&channel, EventKind::ConnectRequest);
        assert!(matches!(event.parameters, Parameters::Datagram { .. }));
        let request = event.request.expect("an identifier");
        let queue_pair = Some((number, false));
        request.accept(&ConnectParameters { queue_pair, ..Default::default() }).expect("sent");
        let event = expect(&channel, EventKind::Established);
        let Parameters::Datagram { way, number: told, key } = event.parameters else {
            panic!("no address")
        };
        assert_eq!((event.key, told), (2, number));
        assert_eq!(way.grh.traffic_class, 0xb8, "the type of service");
        let source = asking.queue_pair(CAPABILITIES).expect("made");
        let target = answering.queue_pair(CAPABILITIES).expect("made");
        let handle = AddressHandle::new(source.domain(), &way).expect("a way");
        let [from, to] =
            [&source, &target].map(|queue_pair| Registered::new(queue_pair.domain(), 64));
        target.post_receive(5, &[to.piece(0, 64)]).expect("posted");
        post(&source, 6, &[from.piece(0, 8)], What::Datagram { handle: &handle, number, key });
        let [_, receives] = answering.queues().expect("made with it");
        let done = completion(&receives.queue);
        assert_eq!((done.wr_id, done.status, done.byte_len), (5, 0, 48), "behind the route header");
        let [sends, _] = asking.queues().expect("made with it");
        assert_eq!(completion(&sends.queue).wr_id, 6);
        // Without a receive there nothing fails here.
        post(&source, 7, &[from.piece(0, 8)], What::Datagram { handle: &handle, number, key });
        let done = completion(&sends.queue);
        assert_eq!((done.wr_id, done.status), (7, 0));
    });
}
