//! rdma_create_id(3).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdma_verbs::cm::{
    CmId, CmQueuePairInit, ConnectParameters, EventKind, Membership, Parameters, PortSpace,
    UDP_QUEUE_KEY,
};
use rdma_verbs::verbs::{Access, AddressHandle, QueuePairType, SendFlags};

use crate::common::*;

#[test]
fn an_identifier_holds_the_state_of_a_communication() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        assert_eq!(id.port_space(), Some(PortSpace::Tcp));
        assert_eq!(id.local_address().map(|local| local.ip()), Some(address.ip()));
        assert!(id.local_port() != 0);
    });
}

#[test]
fn events_arrive_on_the_channel_with_the_key() {
    with_device(|address| {
        let (channel, other) = (new_channel(), new_channel());
        other.set_nonblocking().expect("its descriptor");
        let id = CmId::new(&channel, 7, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::AddressResolved).key, 7);
        assert!(other.take_event().expect_err("none").would_block());
        id.set_key(8);
        id.resolve_route(LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::RouteResolved).key, 8);
    });
}

#[test]
fn each_port_space_has_identifiers() {
    with_device(|address| {
        for space in [PortSpace::Tcp, PortSpace::Udp] {
            let id = bound(address, space);
            assert_eq!(id.port_space(), Some(space));
            assert!(id.local_port() != 0);
        }
        assert_eq!(synchronous(PortSpace::Ib).port_space(), Some(PortSpace::Ib));
    });
}

#[test]
fn a_failure_is_an_error_with_its_errno() {
    with_device(|address| {
        let channel = new_channel();
        let (_first, taken) = listener(&channel, address, 1, PortSpace::Tcp);
        let second = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        let refused = second.bind(taken).expect_err("taken");
        assert_eq!(refused.errno, libc::EADDRINUSE);
        assert!(refused.to_string().contains("rdma_bind_addr on identifier 2"), "{refused}");
        assert!(refused.advice().is_some());
        let nowhere = SocketAddr::new(IpAddr::from([192, 0, 2, 1]), 0);
        assert!(synchronous(PortSpace::Tcp).bind(nowhere).is_err());
    });
}

#[test]
fn an_unbound_identifier_cannot_communicate() {
    with_device(|address| {
        let id = synchronous(PortSpace::Tcp);
        assert!(id.context().is_none());
        let wanted = ConnectParameters::default();
        assert_eq!(id.connect(&wanted).expect_err("unbound").errno, libc::EINVAL);
        assert_eq!(id.accept(&wanted).expect_err("unbound").errno, libc::EINVAL);
        assert_eq!(id.create_queue_pair(None, &INIT).expect_err("unbound").errno, libc::EINVAL);
        assert!(id.resolve_route(LIMIT).is_err(), "to nowhere");
        id.bind(address).expect("the device's own address");
        assert!(id.context().is_some());
        assert!(id.port() > 0);
    });
}

#[test]
fn asynchronous_operations_return_before_their_outcome() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 7, PortSpace::Tcp).expect("an identifier");
        assert!(!id.is_synchronous());
        // No program listens on the port, which the calls do not report.
        id.resolve_address(None, SocketAddr::new(address.ip(), 9), LIMIT).expect("it begins");
        expect(&channel, EventKind::AddressResolved);
        id.resolve_route(LIMIT).expect("it begins");
        expect(&channel, EventKind::RouteResolved);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        id.connect(&ConnectParameters::default()).expect("it begins");
        let event = channel.take_event().expect("an event");
        assert_eq!(event.outcome().expect_err("refused").errno, libc::ECONNREFUSED);
        assert!(id.last_event().is_none(), "it keeps none");
    });
}

#[test]
fn an_identifier_without_a_channel_is_synchronous() {
    with_device(|address| {
        let id = synchronous(PortSpace::Tcp);
        assert!(id.is_synchronous());
        id.resolve_address(None, address, LIMIT).expect("resolved");
        assert!(id.context().is_some(), "it is bound when the call returns");
    });
}

#[test]
fn a_synchronous_call_returns_with_its_outcome() {
    with_device(|address| {
        let id = synchronous(PortSpace::Tcp);
        id.resolve_address(None, SocketAddr::new(address.ip(), 9), LIMIT).expect("resolved");
        id.resolve_route(LIMIT).expect("resolved");
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let refused = id.connect(&ConnectParameters::default()).expect_err("no program listens");
        assert_eq!(refused.errno, libc::ECONNREFUSED);
    });
}

#[test]
fn the_event_of_a_call_is_kept_until_the_next() {
    with_device(|address| {
        let id = synchronous(PortSpace::Tcp);
        assert!(id.last_event().is_none(), "there was no call");
        id.resolve_address(None, address, LIMIT).expect("resolved");
        for _ in 0..3 {
            let kept = id.last_event().expect("it is copied, and not taken");
            assert_eq!((kept.kind, kept.status), (EventKind::AddressResolved, 0));
        }
        id.resolve_route(LIMIT).expect("resolved");
        assert_eq!(id.last_event().expect("the next").kind, EventKind::RouteResolved);
    });
}

#[test]
fn a_dropped_identifier_frees_its_port_number() {
    with_device(|address| {
        let channel = new_channel();
        let (id, at) = listener(&channel, address, 1, PortSpace::Tcp);
        drop(id);
        let next = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        next.bind(at).expect("the port is free again");
    });
}

#[test]
fn tcp_identifiers_have_reliable_connections() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let (from, to) = (active.queue_pair().expect("made"), passive.queue_pair().expect("made"));
        assert_eq!(from.queue_pair_type(), QueuePairType::Rc);
        let [source, target] = [&from, &to].map(|qp| region(qp.domain(), 64, Access::LOCAL_WRITE));
        for number in 0..4_u8 {
            let at = usize::from(number) * 16;
            let segment = target.segment(at..at + 16).expect("inside");
            to.post_receive(u64::from(number), &[segment]).expect("posted");
        }
        for number in 0..4_u8 {
            let at = usize::from(number) * 16;
            source.write(at, &[number + 1; 16]).expect("inside");
            let segment = source.segment(at..at + 16).expect("inside");
            active.post_send(u64::from(number), &[segment], SendFlags::SIGNALED).expect("posted");
        }
        for number in 0..4_u8 {
            let sent = active.send_completion().expect("complete");
            assert!(sent.is_success(), "acknowledged: {}", sent.status);
            let received = passive.receive_completion().expect("complete");
            assert_eq!((received.id, received.length), (u64::from(number), 16), "in order");
            let at = usize::from(number) * 16;
            assert_eq!(target.to_vec(at..at + 16).expect("inside"), [number + 1; 16]);
        }
        drop((from, to));
        disconnect(active, passive);
    });
}

#[test]
fn messages_keep_their_boundaries() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let source = active.register_messages(&b"abcdefgh"[..]).expect("registered");
        let target = passive.register_messages(&[0_u8; 64][..]).expect("registered");
        for number in 0..3 {
            let segment = target.segment(number * 16..number * 16 + 16).expect("inside");
            passive.post_receive(number as u64, &[segment]).expect("posted");
        }
        let messages = [0..3, 3..8, 2..2];
        for (number, range) in messages.iter().enumerate() {
            let segment = source.segment(range.clone()).expect("inside");
            active.post_send(number as u64, &[segment], SendFlags::SIGNALED).expect("posted");
        }
        for (number, range) in messages.iter().enumerate() {
            assert!(active.send_completion().expect("complete").is_success());
            let received = passive.receive_completion().expect("complete");
            assert_eq!((received.id, received.length), (number as u64, range.len() as u32));
        }
        assert_eq!(target.to_vec(0..4).expect("inside"), b"abc\0");
        assert_eq!(target.to_vec(16..22).expect("inside"), b"defgh\0");
        disconnect(active, passive);
    });
}

#[test]
fn udp_identifiers_carry_datagrams() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1, PortSpace::Udp);
        let sender = synchronous(PortSpace::Udp);
        sender.resolve_address(None, at, LIMIT).expect("resolved");
        sender.resolve_route(LIMIT).expect("resolved");
        sender.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
        let asking = sender.clone();
        let asking = std::thread::spawn(move || asking.connect(&ConnectParameters::default()));
        let request = expect(&channel, EventKind::ConnectRequest).request.expect("an identifier");
        request.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
        request.accept(&ConnectParameters::default()).expect("answered");
        asking.join().expect("the asking thread").expect("answered");
        let event = sender.last_event().expect("the call keeps its event");
        assert_eq!(event.kind, EventKind::Established);
        let Parameters::Datagram { address, queue_pair, queue_key } = event.parameters else {
            panic!("not of datagrams");
        };
        assert_eq!(queue_pair, request.queue_pair().expect("made").number());
        assert_eq!(queue_key, UDP_QUEUE_KEY);
        let target = request.register_messages(&[0_u8; 64][..]).expect("registered");
        request.post_receive(1, &[target.segment(0..64).expect("inside")]).expect("posted");
        let source = sender.register_messages(&b"datagram"[..]).expect("registered");
        let domain = sender.domain().expect("the default one");
        let handle = AddressHandle::new(&domain, &address).expect("reachable");
        let segments = [source.segment(0..8).expect("inside")];
        sender
            .post_datagram(2, &segments, SendFlags::SIGNALED, &handle, queue_pair)
            .expect("posted");
        assert!(sender.send_completion().expect("complete").is_success());
        let received = request.receive_completion().expect("complete");
        assert_eq!((received.id, received.length), (1, 48), "after a header of 40 bytes");
        assert_eq!(received.source_queue_pair, sender.queue_pair().expect("made").number());
        assert_eq!(target.to_vec(40..48).expect("inside"), b"datagram");
    });
}

#[test]
fn udp_identifiers_join_multicast_groups() {
    with_device(|address| {
        let group = SocketAddr::from(([239, 1, 2, 3], 0));
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Udp).expect("an identifier");
        id.bind(address).expect("the device's own address");
        let twice = id.leave_multicast(group).expect_err("not a member");
        assert_eq!(twice.errno, libc::EADDRNOTAVAIL);
        id.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
        id.join_multicast(group, Membership::Full, 77).expect("it begins");
        let event = expect(&channel, EventKind::MulticastJoin);
        assert_eq!((event.key, event.multicast_key), (1, Some(77)));
        let Parameters::Datagram { address, queue_pair, .. } = event.parameters else {
            panic!("not of datagrams");
        };
        assert_eq!(queue_pair, 0xff_ffff, "that of all members");
        assert!(address.route.is_some());
        let again = id.join_multicast(group, Membership::Full, 78).expect_err("a member already");
        assert_eq!(again.errno, libc::EADDRINUSE);
        id.leave_multicast(group).expect("a member");
        id.join_multicast(group, Membership::Full, 79).expect("it begins");
        assert_eq!(expect(&channel, EventKind::MulticastJoin).multicast_key, Some(79));
    });
}

#[test]
fn ib_identifiers_take_queue_pairs_of_several_kinds() {
    with_device(|address| {
        // For datagrams the library requires an identifier that rdma_create_ep created for them.
        for queue_pair_type in [QueuePairType::Rc, QueuePairType::Uc] {
            let id = synchronous(PortSpace::Ib);
            id.resolve_address(None, address, LIMIT).expect("resolved");
            id.create_queue_pair(None, &CmQueuePairInit::new(queue_pair_type, SIZE))
                .expect("a queue pair");
            assert_eq!(id.queue_pair().expect("made").queue_pair_type(), queue_pair_type);
        }
    });
}

#[test]
fn an_identifier_can_be_dropped_while_its_events_wait() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        std::thread::sleep(Duration::from_millis(200));
        drop(id);
        let next = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        next.resolve_address(None, address, LIMIT).expect("it begins");
        assert_eq!(expect(&channel, EventKind::AddressResolved).key, 2);
    });
}
