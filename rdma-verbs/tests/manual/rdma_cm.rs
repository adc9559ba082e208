//! rdma_cm(7).

use std::net::SocketAddr;
use std::sync::Arc;

use rdma_verbs::Error;
use rdma_verbs::cm::{AddressInfo, CmId, ConnectParameters, Ece, EventKind, PortSpace};
use rdma_verbs::verbs::{
    Access, AddressHandle, CompletionQueue, Operation, ProtectionDomain, QueuePair, QueuePairInit,
    QueuePairType, RequestData, SendFlags, SendRequest,
};

use crate::common::*;

#[test]
fn two_sides_establish_a_connection() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        assert_eq!(active.peer_port(), passive.local_port());
        disconnect(active, passive);
    });
}

#[test]
fn it_sets_up_reliable_connections_and_datagrams() {
    with_device(|address| {
        for (space, init) in [(PortSpace::Tcp, &INIT), (PortSpace::Udp, &DATAGRAMS)] {
            let channel = new_channel();
            let (_listener, at) = listener(&channel, address, 1, space);
            let id = synchronous(space);
            id.resolve_address(None, at, LIMIT).expect("resolved");
            id.resolve_route(LIMIT).expect("resolved");
            id.create_queue_pair(None, init).expect("a queue pair");
            let asking = id.clone();
            let asking = std::thread::spawn(move || asking.connect(&ConnectParameters::default()));
            let request = expect(&channel, EventKind::ConnectRequest).request;
            let request = request.expect("an identifier");
            request.create_queue_pair(None, init).expect("a queue pair");
            request.accept(&ConnectParameters::default()).expect("it begins");
            if space == PortSpace::Tcp {
                expect(&channel, EventKind::Established);
            }
            asking.join().expect("the active side").expect("established");
        }
    });
}

#[test]
fn the_interface_is_the_same_over_each_transport() {
    // This file runs over RoCE and over iWARP.
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let context = id.context().expect("bound");
        let attributes = context.query_port(id.port()).expect("its port");
        assert!(attributes.max_message > 0);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
    });
}

#[test]
fn the_objects_of_an_identifier_belong_to_one_device() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        let device = id.context().expect("bound");
        assert_eq!(queue_pair.domain().context(), &device);
        assert_eq!(queue_pair.send_queue().context(), &device);
    });
}

#[test]
fn it_controls_queue_pairs_or_connections_only() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5, PortSpace::Tcp);
        let id = CmId::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        resolve_to(&id, &here, at);
        let wanted = ConnectParameters {
            private_data: b"hello",
            // No other test uses these numbers, which stay reserved for a while after a connection.
            queue_pair: Some((0x7f_ff01, false)),
            ..ConnectParameters::default()
        };
        id.connect(&wanted).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        assert_eq!(event.key, 5, "that of the listener");
        assert_eq!(&event.private_data[..5], b"hello");
        let request = event.request.expect("an identifier of its own");
        request.set_key(6);
        let answer = ConnectParameters { queue_pair: Some((0x7f_ff02, false)), ..wanted };
        request.accept(&answer).expect("it begins");
        expect(&here, EventKind::ConnectResponse);
        id.establish().expect("established");
        assert_eq!(expect(&there, EventKind::Established).key, 6);
        id.disconnect().expect("connected");
        assert_eq!(expect(&there, EventKind::Disconnected).key, 6);
    });
}

#[test]
fn verbs_send_and_receive_over_its_connections() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let to = passive.queue_pair().expect("made");
        let target = region(to.domain(), 8, Access::LOCAL_WRITE);
        to.post_receive(1, &[target.segment(0..8).expect("inside")]).expect("posted");
        let from = active.queue_pair().expect("made");
        let request = SendRequest::new(2, Operation::Send, RequestData::Inline(&[b"verbs"]));
        from.post_send(&request).expect("posted");
        assert!(completion(from.send_queue()).is_success());
        assert_eq!(completion(to.receive_queue()).length, 5);
        assert_eq!(target.to_vec(0..5).expect("inside"), b"verbs");
        drop((from, to));
        disconnect(active, passive);
    });
}

#[test]
fn identifiers_are_asynchronous_or_synchronous() {
    with_device(|_| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        assert!(!id.is_synchronous());
        assert!(synchronous(PortSpace::Tcp).is_synchronous());
    });
}

#[test]
fn options_of_the_vendor_reach_the_peer() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5, PortSpace::Tcp);
        let id = CmId::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        let none = id.set_local_ece(Ece::default()).expect_err("without a vendor");
        assert_eq!(none.errno, libc::EINVAL);
        let offered = Ece { vendor_id: 0x1234, options: 0x56 };
        id.set_local_ece(offered).expect("kept");
        resolve_to(&id, &here, at);
        let queue_pair = Some((0x7f_ff05, false));
        id.connect(&ConnectParameters { queue_pair, ..Default::default() }).expect("it begins");
        let request = expect(&there, EventKind::ConnectRequest).request.expect("an identifier");
        assert_eq!(request.remote_ece(), Ok(offered));
        request.reject_ece(b"no").expect("sent");
        let event = expect(&here, EventKind::Rejected);
        assert_eq!(event.outcome().expect_err("rejected").errno, libc::ECONNREFUSED);
    });
}

/// Goes through all steps of both sides, asynchronously; `client_ends` says which side disconnects.
fn all_steps(address: SocketAddr, client_ends: bool) {
    // Server: channel, identifier, bind, listen.
    let server_channel = new_channel();
    let (listening, at) = listener(&server_channel, address, 1, PortSpace::Tcp);
    // Client: address information, channel, identifier, address, queue pair, route, connect.
    let info = AddressInfo::from_address(at, &hints(PortSpace::Tcp, false)).expect("found");
    let to = info.first().destination().expect("an address");
    let client_channel = new_channel();
    let client = CmId::new(&client_channel, 2, PortSpace::Tcp).expect("an identifier");
    client.resolve_address(None, to, LIMIT).expect("it begins");
    expect(&client_channel, EventKind::AddressResolved);
    client.create_queue_pair(None, &INIT).expect("a queue pair");
    client.resolve_route(LIMIT).expect("it begins");
    expect(&client_channel, EventKind::RouteResolved);
    client.connect(&ConnectParameters::default()).expect("it begins");
    // Server: the request, queue pair, accept.
    let event = expect(&server_channel, EventKind::ConnectRequest);
    let server = event.request.expect("an identifier");
    server.set_key(3);
    server.create_queue_pair(None, &INIT).expect("a queue pair");
    server.accept(&ConnectParameters::default()).expect("it begins");
    assert_eq!(expect(&client_channel, EventKind::Established).key, 2);
    assert_eq!(expect(&server_channel, EventKind::Established).key, 3);
    transfer(&client, &server);
    let (one, other) = match client_ends {
        true => ((&client, &client_channel), (&server, &server_channel)),
        false => ((&server, &server_channel), (&client, &client_channel)),
    };
    one.0.disconnect().expect("connected");
    expect(other.1, EventKind::Disconnected);
    // Over iWARP the connection is gone, and this fails.
    let _ = other.0.disconnect();
    expect(one.1, EventKind::Disconnected);
    for id in [&client, &server] {
        id.destroy_queue_pair().expect("no handle is left");
    }
    drop((client, server, listening));
    for channel in [client_channel, server_channel] {
        assert_eq!(Arc::strong_count(&channel), 1, "no identifier is left");
    }
}

fn transfer(client: &CmId, server: &CmId) {
    let target = server.register_messages(&[0_u8; 16][..]).expect("registered");
    server.post_receive(1, &[target.segment(0..16).expect("inside")]).expect("posted");
    let source = client.register_messages(&b"a message"[..]).expect("registered");
    let segment = source.segment(0..9).expect("inside");
    client.post_send(2, &[segment], SendFlags::SIGNALED).expect("posted");
    assert!(client.send_completion().expect("complete").is_success());
    assert_eq!(server.receive_completion().expect("complete").length, 9);
    assert_eq!(target.to_vec(0..9).expect("inside"), b"a message");
}

#[test]
fn a_client_goes_through_all_steps() {
    with_device(|address| all_steps(address, true));
}

#[test]
fn a_server_goes_through_all_steps() {
    with_device(|address| all_steps(address, false));
}

#[test]
fn synchronous_sides_need_no_channel() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        assert!(active.is_synchronous() && passive.is_synchronous());
        transfer(&active, &passive);
        disconnect(active, passive);
    });
}

#[test]
fn one_call_does_the_work_of_several() {
    with_device(|address| {
        let id = active_endpoint(elsewhere(address));
        assert!(id.context().is_some(), "resolved");
        assert!(id.queue_pair().is_some(), "created");
    });
}

#[test]
fn datagrams_are_set_up_alike_and_never_disconnected() {
    with_device(|address| {
        let peers = datagram_peers(address);
        let domain = peers.client.domain().expect("the default one");
        AddressHandle::new(&domain, &peers.address).expect("reachable");
        assert_eq!(peers.queue_pair, peers.server.queue_pair().expect("made").number());
        let channel = peers.channel;
        drop((peers.client, peers.server));
        channel.set_nonblocking().expect("its descriptor");
        assert!(channel.take_event().expect_err("no end is reported").would_block());
    });
}

#[test]
fn success_of_an_asynchronous_call_means_that_it_began() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        resolve_to(&id, &channel, SocketAddr::new(address.ip(), 9));
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        id.connect(&ConnectParameters::default()).expect("it begins");
        let event = channel.take_event().expect("an event");
        assert!(event.outcome().is_err(), "it failed later: {}", event.kind);
    });
}

#[test]
fn a_failure_has_an_errno() {
    with_device(|address| {
        let (_listener, at) = listener(&new_channel(), address, 1, PortSpace::Tcp);
        let refused = synchronous(PortSpace::Tcp).bind(at).expect_err("taken");
        assert_eq!(refused, Error { errno: libc::EADDRINUSE, ..refused });
        let converted = std::io::Error::from(refused);
        assert_eq!(converted.kind(), std::io::ErrorKind::AddrInUse);
    });
}

#[test]
fn a_rejection_carries_private_data_and_a_reason() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5, PortSpace::Tcp);
        let id = CmId::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        resolve_to(&id, &here, at);
        let queue_pair = Some((0x7f_ff03, false));
        id.connect(&ConnectParameters { queue_pair, ..Default::default() }).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        event.request.expect("an identifier").reject(b"no").expect("sent");
        let event = expect(&here, EventKind::Rejected);
        assert_eq!((&event.private_data[..2], event.status), (&b"no"[..], 28));
    });
}

#[test]
fn private_data_longer_than_255_bytes_is_refused() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let private_data = &[0; 256][..];
        let wanted = ConnectParameters { private_data, ..ConnectParameters::default() };
        assert_eq!(id.connect(&wanted).expect_err("too long").errno, libc::EINVAL);
        assert_eq!(id.reject(private_data).expect_err("too long").errno, libc::EINVAL);
    });
}

#[test]
fn options_are_set_before_the_binding() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.set_type_of_service(0x10).expect("an option");
        id.set_reuse_address(true).expect("an option");
        id.set_family_only(true).expect("an option");
        id.set_ack_timeout(14).expect("an option");
        id.bind(address).expect("the device's own address");
    });
}

#[test]
fn a_queue_pair_of_the_program_takes_its_attributes_from_the_identifier() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1, PortSpace::Tcp);
        let id = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        resolve_to(&id, &channel, at);
        let context = id.context().expect("bound");
        let domain = ProtectionDomain::new(&context).expect("a domain");
        let queue = CompletionQueue::new(&context, 16, 1, None).expect("a queue");
        let init = QueuePairInit {
            key: 4,
            send_queue: &queue,
            receive_queue: &queue,
            shared: None,
            capabilities: SIZE,
            queue_pair_type: QueuePairType::Rc,
        };
        let queue_pair = QueuePair::new(&domain, &init).expect("a queue pair");
        let init = rdma_verbs::sys::verbs::IBV_QPS_INIT;
        let (attributes, mask) = id.queue_pair_attributes_raw(init).expect("its attributes");
        queue_pair.modify_raw(&attributes, mask).expect("moved");
        queue_pair.post_receive(1, &[]).expect("posted");
    });
}
