//! Endpoints for datagrams (the InfiniBand extension of DAT 2.0).

use crate::prelude::*;

cases! {
    "DAT 2.0, IB extension: dat_ib_post_send_ud, datagram endpoints":
        both_sides_get_an_address_and_messages_carry_a_prefix,
        one_endpoint_sends_to_many,
        a_datagram_without_a_receive_waits_for_one_or_is_lost,
        a_receive_that_is_posted_late_wakes_a_waiter,
        a_receive_too_short_for_a_datagram_ends_with_a_length_error,
        a_reject_and_a_missing_listener_are_reported,
        the_two_services_do_not_mix;
    "DAT 2.0, IB extension: dat_ib_ud_ah_free, dat_ib_ud_cm_free":
        an_address_does_not_keep_its_endpoint_in_use;
}

const PREFIX: usize = DatagramAddress::PREFIX as usize;

/// Two endpoints for datagrams with the addresses of the server and of the client.
fn resolved() -> (Node, [(Ep, DatagramAddress); 2]) {
    let node = Node::new();
    let (client, server) = (datagram_endpoint(&node), datagram_endpoint(&node));
    let (to_server, to_client) = resolve(&node, &client, &server);
    (node, [(client, to_server), (server, to_client)])
}

/// Sends eight bytes to an address; the send must succeed.
fn send(node: &Node, client: &Ep, buffer: &Buffer, to: &DatagramAddress, cookie: u64) {
    client.post_send_datagram(&[buffer.piece(0, 8)], to, cookie, NONE).expect("posted");
    expect_completion(&node.request, &[client], cookie, DtoStatus::Success);
}

fn datagram_endpoint(node: &Node) -> Ep {
    node.need(|it| it.datagrams_supported, "datagrams");
    node.ep_with(|it| it.service_type = EpAttributes::SERVICE_DATAGRAM)
}

/// Takes the next event, which must be a datagram event of a kind at one of the endpoints.
fn expect_datagram(node: &Node, eps: &[&Ep], kind: DatagramEventKind) -> DatagramEvent {
    match expect_event(&node.connect, eps) {
        Event::Datagram(event)
            if event.kind == kind && eps.iter().any(|ep| ep.id() == event.ep) =>
        {
            event
        }
        other => panic!("{kind:?} of one of {eps:?} expected: {other:?}"),
    }
}

/// Connects two datagram endpoints and returns the address of the server and of the client, as the
/// other side received them.
fn resolve(node: &Node, client: &Ep, server: &Ep) -> (DatagramAddress, DatagramAddress) {
    let psp = node.psp();
    let connect = Connect::to(node.address(), psp.qualifier()).private_data(b"ask");
    client.connect(&connect).expect("an attempt");
    let arrival = expect_request(&node.requests);
    assert!(arrival.datagram);
    arrived(&arrival.request.query().expect("live").private_data, b"ask");
    arrival.request.accept(Some(server), b"answer").expect("carries datagrams");
    psp.free().expect("live");
    // Each side gets its event as soon as it has the address of the other.
    let established = DatagramEventKind::Established;
    let mut told = [(); 2].map(|()| expect_datagram(node, &[client, server], established));
    told.sort_by_key(|event| event.passive);
    let [active, passive] = told;
    assert!(passive.passive, "the side that answered");
    assert_eq!(passive.ep, server.id());
    // By the data of the request a server tells which endpoint of the peer the address is of.
    arrived(&passive.private_data, b"ask");
    assert!(!active.passive, "the side that asked");
    assert_eq!(active.ep, client.id());
    arrived(&active.private_data, b"answer");
    (active.remote.expect("an address"), passive.remote.expect("an address"))
}

fn both_sides_get_an_address_and_messages_carry_a_prefix() {
    let (node, [(client, to_server), (server, to_client)]) = resolved();
    assert_eq!(to_server.address(), node.address());
    assert_ne!(to_server, to_client);
    assert_ne!(format!("{to_server:?}"), format!("{to_client:?}"), "logs tell them apart");
    assert_eq!((state(&client), state(&server)), (EpState::Unconnected, EpState::Unconnected));
    let buffer = node.buffer(256);
    client.start_counters().expect("live");
    server.start_counters().expect("live");
    for (from, to, address, text) in
        [(&client, &server, &to_server, b"there"), (&server, &client, &to_client, b"back!")]
    {
        buffer.fill(0, text);
        buffer.fill(100, &[0xff; 80]);
        to.post_recv(&[buffer.piece(100, PREFIX + 10)], 1, NONE).expect("posted");
        from.post_send_datagram(&[buffer.piece(0, 5)], address, 2, NONE).expect("posted");
        let sent = expect_dto(&node.request, &[from, to]);
        assert_eq!((sent.cookie, sent.status, sent.ep), (2, DtoStatus::Success, from.id()));
        assert_eq!((sent.operation, sent.length), (Operation::SendDatagram, 5));
        let got = expect_dto(&node.recv, &[from, to]);
        assert_eq!((got.cookie, got.status, got.ep), (1, DtoStatus::Success, to.id()));
        assert_eq!(got.operation, Operation::ReceiveDatagram);
        assert_eq!(got.length, (PREFIX + 5) as u64);
        assert_eq!(buffer.bytes(100 + PREFIX, 5), text);
        assert_eq!(buffer.bytes(105 + PREFIX, 5), [0xff; 5], "beyond the message");
    }
    for ep in [&client, &server] {
        let of = ep.counters(false).expect("live");
        assert_eq!((of.get(EpCounter::PostSendUd), of.get(EpCounter::PostSendUdData)), (1, 5));
        let received = (of.get(EpCounter::RecvUd), of.get(EpCounter::RecvUdData));
        assert_eq!(received, (1, (PREFIX + 5) as u64));
        assert_eq!((of.get(EpCounter::PostSend), of.get(EpCounter::Recv)), (0, 0));
    }
}

fn one_endpoint_sends_to_many() {
    let node = Node::new();
    let client = datagram_endpoint(&node);
    let servers: Vec<Ep> = (0..5).map(|_| datagram_endpoint(&node)).collect();
    let addresses: Vec<DatagramAddress> =
        servers.iter().map(|server| resolve(&node, &client, server).0).collect();
    let buffer = node.buffer(1024);
    for (number, (server, address)) in servers.iter().zip(&addresses).enumerate() {
        buffer.fill(0, &[number as u8; 8]);
        server.post_recv(&[buffer.piece(100, PREFIX + 8)], number as u64, NONE).expect("posted");
        client.post_send_datagram(&[buffer.piece(0, 8)], address, 0, NONE).expect("posted");
        let got = expect_dto(&node.recv, &[server]);
        assert_eq!((got.cookie, got.ep), (number as u64, server.id()));
        assert_eq!(buffer.bytes(100 + PREFIX, 8), [number as u8; 8]);
    }
}

fn a_datagram_without_a_receive_waits_for_one_or_is_lost() {
    let (node, [(client, address), (server, _)]) = resolved();
    let buffer = node.buffer(256);
    let receive = |cookie| {
        server.post_recv(&[buffer.piece(64, PREFIX + 8)], cookie, NONE).expect("posted");
    };
    let expect = |cookie| {
        expect_completion(&node.recv, &[&server], cookie, DtoStatus::Success);
        buffer.bytes(64 + PREFIX, 8)
    };
    buffer.fill(0, &[1; 8]);
    send(&node, &client, &buffer, &address, 7);
    receive(1);
    buffer.fill(0, &[2; 8]);
    send(&node, &client, &buffer, &address, 8);
    let mut message = expect(1);
    receive(2);
    if message == [1; 8] {
        message = expect(2);
    }
    assert_eq!(message, [2; 8]);
    server.free().expect("nothing decides over it");
    // To a freed endpoint.
    send(&node, &client, &buffer, &address, 9);
}

fn a_receive_that_is_posted_late_wakes_a_waiter() {
    let (node, [(client, address), (server, _)]) = resolved();
    let buffer = node.buffer(128);
    let thread = waiter(&node.recv, 1);
    until_owned(&node.recv);
    thread.until_asleep();
    send(&node, &client, &buffer, &address, 7);
    thread.until_asleep();
    server.post_recv(&[buffer.piece(64, PREFIX + 8)], 1, NONE).expect("posted");
    // The first one may be lost. No poll for the completion of this one helps the waiter.
    client.post_send_datagram(&[buffer.piece(0, 8)], &address, 8, NONE).expect("posted");
    let (_, event) = thread.join().expect("woken");
    expect_completion(&node.request, &[&client], 8, DtoStatus::Success);
    assert!(
        matches!(event, Event::Dto(done) if (done.cookie, done.status) == (1, DtoStatus::Success)),
        "{event:?}"
    );
}

fn a_receive_too_short_for_a_datagram_ends_with_a_length_error() {
    let (node, [(client, address), (server, _)]) = resolved();
    let buffer = node.buffer(128);
    server.post_recv(&[buffer.piece(64, PREFIX + 7)], 1, NONE).expect("posted");
    server.post_recv(&[buffer.piece(64, PREFIX + 8)], 2, NONE).expect("posted");
    for _ in 0..2 {
        send(&node, &client, &buffer, &address, 3);
    }
    expect_completion(&node.recv, &[&server], 1, DtoStatus::LocalLength);
    expect_completion(&node.recv, &[&server], 2, DtoStatus::Success);
}

fn a_reject_and_a_missing_listener_are_reported() {
    let node = Node::new();
    let client = datagram_endpoint(&node);
    let psp = node.psp();
    let connect = Connect::to(node.address(), psp.qualifier());
    client.connect(&connect).expect("an attempt");
    expect_request(&node.requests).request.reject(b"no").expect("live");
    let event = expect_datagram(&node, &[&client], DatagramEventKind::Rejected);
    arrived(&event.private_data, b"no");

    let short = Connect { timeout: Timeout::from_micros(2_000), ..connect.clone() };
    client.connect(&short).expect("an attempt");
    let ignored = expect_request(&node.requests);
    expect_datagram(&node, &[&client], DatagramEventKind::Error);
    drop(ignored);
    expect_no_event(&node.connect);

    psp.free().expect("live");
    client.connect(&connect).expect("an attempt");
    expect_datagram(&node, &[&client], DatagramEventKind::Error);
}

fn the_two_services_do_not_mix() {
    let (node, [(datagrams, address), (other, _)]) = resolved();
    let connection = node.ep();
    let buffer = node.buffer(8);
    let piece = [buffer.piece(0, 8)];
    let sent = connection.post_send_datagram(&piece, &address, 0, NONE);
    refused(sent, Subtype::InvalidStateEpNotready);
    refused(datagrams.post_send(&piece, 0, NONE), Subtype::InvalidStateEpUnconnected);
    let psp = node.psp();
    datagrams.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
    let arrival = expect_request(&node.requests);
    refused(arrival.request.accept(Some(&connection), b""), Subtype::InvalidStateEpNotready);
    arrival.request.accept(Some(&other), b"").expect("the request still waits");
}

fn an_address_does_not_keep_its_endpoint_in_use() {
    let (node, [(client, to_server), (server, to_client)]) = resolved();
    let kept = to_server.clone();
    drop(to_server);
    let buffer = node.buffer(8);
    // A clone is an address too.
    send(&node, &client, &buffer, &kept, 1);
    server.free().expect("held by no address");
    // The receiver is gone: the datagram is lost, and the sender cannot know.
    send(&node, &client, &buffer, &kept, 2);
    node.finish_with(&[&client, &buffer]);
    drop((kept, to_client));
}
