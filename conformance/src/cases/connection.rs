//! Establishing and ending connections, with the events and states on both sides.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::case::cases;
use crate::ep_states::{STATES, ep_in_state};
use crate::wait::arrived;
use crate::{
    Background, LIMIT, Node, drain, expect_connection, expect_connections, expect_dto,
    expect_no_event, expect_request, fault_provider, link, refused, rounds, state, until,
};
use dat_core::{
    Close, CompletionFlags, Connect, ConnectFlags, ConnectionEventKind, ConnectionRequest,
    DtoStatus, Endpoint, EpState, Event, EventDispatcher, Psp, PspMaker, Qos, ReturnType, Subtype,
    Timeout, Waited,
};

cases! {
    "dat_ep_connect(3DAT)":
        without_a_listener_the_attempt_is_refused_by_nobody,
        without_a_host_it_is_unreachable,
        when_the_consumer_there_does_not_answer_it_times_out,
        an_answer_in_time_stops_the_clock,
        the_clock_of_an_attempt_has_no_hold_on_the_next_one,
        when_the_consumer_there_refuses_it_is_rejected_by_the_peer,
        accepted_it_stands_on_both_sides_with_one_event_each,
        arguments_that_can_not_be_are_refused_and_change_nothing,
        in_every_state_but_unconnected_a_connect_is_refused,
        an_endpoint_without_a_zone_does_not_connect;
    "dat_ep_dup_connect(3DAT)":
        a_duplicate_goes_where_the_original_went;
    "dat_ep_disconnect(3DAT)":
        a_disconnect_is_refused_without_effect_or_the_end_as_the_state_says,
        giving_an_attempt_up_flushes_the_receives_and_voids_the_request,
        an_abrupt_disconnect_flushes_everything_in_posting_order_on_both_sides,
        receives_are_flushed_in_posting_order_each_once,
        a_graceful_disconnect_lets_requests_finish_first,
        an_abrupt_disconnect_overtakes_a_graceful_one,
        both_sides_may_disconnect_at_once_and_get_one_event_each,
        posts_race_with_the_end_and_every_cookie_comes_back_once;
    "dat_ep_post_recv(3DAT)":
        an_error_breaks_the_connection_on_both_sides;
    "dat_ep_free(3DAT)":
        freeing_an_endpoint_ends_its_connection_for_the_peer,
        freeing_an_endpoint_that_connects_gives_the_attempt_up,
        an_endpoint_is_freed_in_every_state_in_which_nothing_decides_over_it;
    "dat_ep_reset(3DAT)":
        a_reset_is_possible_disconnected_and_unconnected_only,
        after_a_reset_an_endpoint_is_as_good_as_new,
        a_reset_drops_nothing_that_was_not_dequeued,
        the_marker_of_the_page_is_the_last_to_be_flushed,
        late_events_of_a_connection_are_ignored_after_the_reset;
    "dat_ep_query(3DAT)":
        the_ports_are_known_as_soon_as_it_connects;
}

const NONE: CompletionFlags = CompletionFlags::empty();

#[track_caller]
fn listen(node: &Node) -> Psp {
    node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a service point")
}

/// Posts receives with the cookies 0 to 2.
#[track_caller]
fn post_receives(ep: &Endpoint) {
    for cookie in 0..3 {
        ep.post_recv(&[], cookie, NONE).expect("possible in every state");
    }
}

/// Takes the queued completions, which must all be flushes of the endpoint; returns their cookies.
#[track_caller]
fn flushed(evd: &EventDispatcher, ep: &Endpoint) -> Vec<u64> {
    drain(evd)
        .into_iter()
        .map(|event| match event {
            Event::Dto(completion) if completion.ep == ep.id() => {
                assert_eq!(completion.status, DtoStatus::Flushed, "{completion:?}");
                completion.cookie
            }
            other => panic!("no completion of {ep:?}: {other:?}"),
        })
        .collect()
}

/// Makes an attempt that must fail. Checks the event and that no other follows, the state, the
/// flushed receives, and that the endpoint can connect again only after a reset.
#[track_caller]
fn fails(node: &Node, connect: &Connect<'_>, kind: ConnectionEventKind) {
    let ep = node.ep();
    post_receives(&ep);
    ep.connect(connect).expect("unconnected");
    expect_connection(&node.connect, &ep, kind);
    assert_eq!(state(&ep), EpState::Disconnected);
    until("the receives are flushed", || ep.status().expect("live").recv_idle);
    assert_eq!(flushed(&node.recv, &ep), [0, 1, 2]);
    expect_no_event(&node.connect);
    let again = ep.connect(connect);
    refused(again, ReturnType::InvalidState, Subtype::InvalidStateEpDisconnected);
    ep.reset().expect("disconnected");
    assert_eq!(state(&ep), EpState::Unconnected);
    ep.free().expect("unconnected");
}

fn without_a_listener_the_attempt_is_refused_by_nobody() {
    let node = Node::new();
    fails(&node, &Connect::to(node.address(), 1), ConnectionEventKind::NonPeerRejected);
    node.finish();
}

fn without_a_host_it_is_unreachable() {
    let node = Node::new();
    let nowhere = Ipv4Addr::new(127, 255, 255, 254);
    fails(&node, &Connect::to(nowhere, 1), ConnectionEventKind::Unreachable);
    node.finish();
}

fn when_the_consumer_there_does_not_answer_it_times_out() {
    let node = Node::new();
    let psp = listen(&node);
    let mut time = Duration::from_millis(30);
    let mut event = Event::default();
    loop {
        let began = Instant::now();
        let connect = Connect::to(node.address(), psp.qualifier()).timeout(time);
        fails(&node, &connect, ConnectionEventKind::TimedOut);
        assert!(began.elapsed() >= time, "not before its time");
        let soon = Timeout::from(Duration::from_secs(1));
        if let Ok(Waited::Event { .. }) = node.requests.wait(soon, 1, &mut event) {
            break;
        }
        // On a slow path the time may be over before the request is sent.
        time *= 5;
        assert!(time < LIMIT, "no request arrives");
    }
    // The request is still valid, but accepting it cannot complete any more.
    let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
    let request = arrival.request;
    let server = node.ep();
    post_receives(&server);
    request.accept(Some(&server), b"").expect("only the transport can see it");
    expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
    assert_eq!(state(&server), EpState::Disconnected);
    assert_eq!(flushed(&node.recv, &server), [0, 1, 2]);
}

fn an_answer_in_time_stops_the_clock() {
    let node = Node::new();
    let psp = listen(&node);
    let eps = [true, false].map(|accepted| {
        let (client, server) = (node.ep(), node.ep());
        let time = Duration::from_millis(200);
        let connect = Connect::to(node.address(), psp.qualifier()).timeout(time);
        client.connect(&connect).expect("unconnected");
        let request = expect_request(&node.requests).request;
        if accepted {
            request.accept(Some(&server), b"").expect("unconnected");
        } else {
            request.reject(b"").expect("live");
        }
        (client, server)
    });
    let [(accepted, server), (rejected, _)] = &eps;
    expect_connection(&node.connect, accepted, ConnectionEventKind::Established);
    expect_connection(&node.connect, server, ConnectionEventKind::Established);
    expect_connection(&node.connect, rejected, ConnectionEventKind::PeerRejected);
    std::thread::sleep(Duration::from_millis(300));
    expect_no_event(&node.connect);
    assert_eq!(state(&eps[0].0), EpState::Connected);
    assert_eq!(state(&eps[1].0), EpState::Disconnected);
}

fn the_clock_of_an_attempt_has_no_hold_on_the_next_one() {
    let node = Node::new();
    let psp = listen(&node);
    let client = node.ep();
    let connect = Connect::to(node.address(), psp.qualifier());
    client.connect(&connect.clone().timeout(Duration::from_millis(50))).expect("unconnected");
    client.disconnect(Close::Abrupt).expect("pending");
    client.reset().expect("disconnected");
    client.connect(&connect).expect("unconnected");
    drain(&node.connect);
    std::thread::sleep(Duration::from_millis(120));
    expect_no_event(&node.connect);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
}

fn when_the_consumer_there_refuses_it_is_rejected_by_the_peer() {
    let node = Node::new();
    let psp = listen(&node);
    let client = node.ep();
    post_receives(&client);
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    expect_request(&node.requests).request.reject(b"not today").expect("live");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    arrived(&event.private_data, b"not today");
    assert_eq!(state(&client), EpState::Disconnected);
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2]);
    expect_no_event(&node.connect);
}

fn accepted_it_stands_on_both_sides_with_one_event_each() {
    let (near, far) = (Node::new(), Node::new());
    let psp = listen(&far);
    let (client, server) = (near.ep(), far.ep());
    post_receives(&client);
    post_receives(&server);
    let connect = Connect::to(far.address(), psp.qualifier()).private_data(b"hello");
    client.connect(&connect).expect("unconnected");
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    let request = expect_request(&far.requests).request;
    request.accept(Some(&server), b"welcome").expect("unconnected");
    expect_connection(&far.connect, &server, ConnectionEventKind::Established);
    let event = expect_connection(&near.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, b"welcome");
    for (node, ep, peer) in [(&near, &client, &far), (&far, &server, &near)] {
        assert_eq!(state(ep), EpState::Connected);
        assert_eq!(ep.query().expect("live").remote_address, Some(peer.address()));
        assert!(!ep.status().expect("live").recv_idle, "preposted receives stay");
        expect_no_event(&node.recv);
        expect_no_event(&node.connect);
    }
}

fn the_ports_are_known_as_soon_as_it_connects() {
    let node = Node::new();
    let psp = listen(&node);
    let (client, server) = (node.ep(), node.ep());
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    let asking = client.query().expect("live");
    assert_eq!(asking.state, EpState::ActiveConnectionPending);
    assert_eq!(asking.remote_address, Some(node.address()));
    assert_eq!(asking.remote_port, Some(psp.qualifier()));
    let request = expect_request(&node.requests).request;
    let port = request.query().expect("live").remote_port;
    assert_ne!(port, 0);
    assert_eq!(asking.local_port, port, "what the request says of its peer");
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Established);
    assert_eq!(client.query().expect("live").local_port, port);
}

fn arguments_that_can_not_be_are_refused_and_change_nothing() {
    let node = Node::on(fault_provider::open("max_private_data_size=4", |attributes| {
        attributes.provider.qos_supported = Qos::empty();
    }));
    let ep = node.ep();
    let to = Connect::to(node.address(), 1);
    let parameter = ReturnType::InvalidParameter;
    let zero = to.clone().timeout(Timeout::ZERO);
    refused(ep.connect(&zero), parameter, Subtype::InvalidArg4);
    refused(ep.connect(&to.clone().private_data(b"fifth")), parameter, Subtype::InvalidArg5);
    let premium = Connect { qos: Qos::PREMIUM, ..to.clone() };
    refused(ep.connect(&premium), ReturnType::ModelNotSupported, Subtype::NoSubtype);
    let unknown = Connect { flags: ConnectFlags::from_bits_retain(0x80), ..to.clone() };
    refused(ep.connect(&unknown), parameter, Subtype::InvalidArg8);
    let required = Connect { flags: ConnectFlags::MULTIPATH_REQUIRED, ..to.clone() };
    refused(ep.connect(&required), ReturnType::ModelNotSupported, Subtype::NoSubtype);
    assert_eq!(state(&ep), EpState::Unconnected);
    expect_no_event(&node.connect);
    let wished = Connect { flags: ConnectFlags::MULTIPATH, ..to };
    ep.connect(&wished).expect("a wish can be left unfulfilled");
}

fn in_every_state_but_unconnected_a_connect_is_refused() {
    for wanted in STATES {
        let node = Node::new();
        let staged = ep_in_state(&node, wanted);
        let psp = listen(&node);
        let before = staged.ep.query().expect("live");
        let connected = staged.ep.connect(&Connect::to(node.address(), psp.qualifier()));
        if wanted == EpState::Unconnected {
            connected.expect("unconnected");
            assert_eq!(state(&staged.ep), EpState::ActiveConnectionPending);
            continue;
        }
        let error = connected.expect_err("not unconnected");
        assert_eq!(error.return_type(), ReturnType::InvalidState, "in {wanted}: {error}");
        assert_eq!(staged.ep.query().expect("live"), before);
        expect_no_event(&node.requests);
    }
}

fn a_duplicate_goes_where_the_original_went() {
    let (near, far) = (Node::new(), Node::new());
    let psp = listen(&far);
    let (client, server) = (near.ep(), far.ep());
    client.connect(&Connect::to(far.address(), psp.qualifier())).expect("unconnected");
    expect_request(&far.requests).request.accept(Some(&server), b"").expect("unconnected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Established);
    let (twin, twin_server) = (near.ep(), far.ep());
    let dup = |ep: &Endpoint, of: &Endpoint, timeout, data| {
        ep.dup_connect(of, timeout, data, Qos::BEST_EFFORT)
    };
    // The time-out is argument 3, the size of the private data is argument 4.
    let parameter = ReturnType::InvalidParameter;
    refused(dup(&twin, &client, Timeout::ZERO, b""), parameter, Subtype::InvalidArg3);
    refused(dup(&twin, &client, Timeout::Infinite, &[0; 4096]), parameter, Subtype::InvalidArg4);
    // The passive side did not choose where to connect.
    assert!(dup(&twin, &server, Timeout::Infinite, b"").is_err());
    let lonely = near.ep();
    let unconnected = dup(&twin, &lonely, Timeout::Infinite, b"");
    refused(unconnected, ReturnType::InvalidState, Subtype::InvalidStateEpUnconnected);
    assert_eq!(state(&twin), EpState::Unconnected);
    dup(&twin, &client, Timeout::Infinite, b"again").expect("connected");
    let arrival = expect_request(&far.requests);
    assert_eq!(arrival.qualifier, psp.qualifier());
    arrived(&arrival.request.query().expect("live").private_data, b"again");
    arrival.request.accept(Some(&twin_server), b"").expect("unconnected");
    expect_connection(&near.connect, &twin, ConnectionEventKind::Established);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    let disconnected = dup(&lonely, &client, Timeout::Infinite, b"");
    refused(disconnected, ReturnType::InvalidState, Subtype::InvalidStateEpDisconnected);
    let connected = dup(&twin, &twin, Timeout::Infinite, b"");
    refused(connected, ReturnType::InvalidState, Subtype::InvalidStateEpConnected);
}

/// The result of dat_ep_disconnect(3DAT) in a state: `None` if it is refused, `Some(false)` if it
/// has no effect, `Some(true)` if it ends the connection or the attempt.
fn disconnects(wanted: EpState) -> Option<bool> {
    match wanted {
        EpState::Connected
        | EpState::ActiveConnectionPending
        | EpState::CompletionPending
        | EpState::DisconnectPending => Some(true),
        EpState::Disconnected => Some(false),
        _ => None,
    }
}

fn a_disconnect_is_refused_without_effect_or_the_end_as_the_state_says() {
    for wanted in STATES {
        for how in [Close::Abrupt, Close::Graceful] {
            let node = Node::new();
            let staged = ep_in_state(&node, wanted);
            drain(&node.connect);
            let before = staged.ep.query().expect("live");
            let result = staged.ep.disconnect(how);
            match disconnects(wanted) {
                None => {
                    refused(result, ReturnType::InvalidState, wanted.invalid_state());
                    assert_eq!(staged.ep.query().expect("live"), before);
                    expect_no_event(&node.connect);
                }
                Some(false) => {
                    result.expect("no operation");
                    assert_eq!(staged.ep.query().expect("live"), before);
                    expect_no_event(&node.connect);
                }
                Some(true) if wanted == EpState::DisconnectPending && how == Close::Graceful => {
                    result.expect("no effect");
                    assert_eq!(state(&staged.ep), EpState::DisconnectPending);
                    expect_no_event(&node.connect);
                }
                Some(true) => {
                    result.expect("there is something to end");
                    let disconnected = ConnectionEventKind::Disconnected;
                    expect_connection(&node.connect, &staged.ep, disconnected);
                    assert_eq!(state(&staged.ep), EpState::Disconnected);
                    for event in drain(&node.connect) {
                        let Event::Connection(event) = event else { panic!("{event:?}") };
                        assert_eq!(event.kind, disconnected);
                        assert_ne!(event.ep, staged.ep.id(), "one event in {wanted}");
                    }
                }
            }
        }
    }
}

fn giving_an_attempt_up_flushes_the_receives_and_voids_the_request() {
    for how in [Close::Abrupt, Close::Graceful] {
        let node = Node::new();
        let psp = listen(&node);
        let (client, server) = (node.ep(), node.ep());
        post_receives(&client);
        client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
        let request: ConnectionRequest = expect_request(&node.requests).request;
        client.disconnect(how).expect("pending");
        assert_eq!(state(&client), EpState::Disconnected);
        expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
        assert_eq!(flushed(&node.recv, &client), [0, 1, 2]);
        request.accept(Some(&server), b"").expect("only the transport can see it");
        expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
        assert_eq!(state(&client), EpState::Disconnected, "nothing comes of it");
        expect_no_event(&node.connect);
    }
}

fn an_abrupt_disconnect_flushes_everything_in_posting_order_on_both_sides() {
    let (near, far) = (Node::new(), Node::new());
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    for cookie in 0..20 {
        // Neither side has posted receives, so all messages are outstanding.
        client.post_send(&[], cookie, NONE).expect("connected");
        server.post_send(&[], 100 + cookie, NONE).expect("connected");
    }
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
    assert_eq!(flushed(&near.request, &client), (0..20).collect::<Vec<_>>());
    assert_eq!(flushed(&far.request, &server), (100..120).collect::<Vec<_>>());
    for (node, ep) in [(&near, &client), (&far, &server)] {
        assert_eq!(state(ep), EpState::Disconnected);
        let status = ep.status().expect("live");
        assert!(status.recv_idle && status.request_idle);
        for evd in [&node.recv, &node.connect] {
            expect_no_event(evd);
        }
    }
}

fn receives_are_flushed_in_posting_order_each_once() {
    let (near, far) = (Node::new(), Node::new());
    let (client, server) = (near.ep(), far.ep());
    for cookie in 0..10 {
        client.post_recv(&[], cookie, NONE).expect("unconnected");
    }
    link(&near, &client, &far, &server);
    for cookie in 10..20 {
        client.post_recv(&[], cookie, NONE).expect("connected");
        server.post_recv(&[], 100 + cookie, NONE).expect("connected");
    }
    server.post_send(&[], 0, NONE).expect("connected");
    assert_eq!(expect_dto(&near.recv, &[&client]).cookie, 0);
    server.disconnect(Close::Graceful).expect("connected");
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
    assert_eq!(flushed(&near.recv, &client), (1..20).collect::<Vec<_>>());
    assert_eq!(flushed(&far.recv, &server), (110..120).collect::<Vec<_>>());
}

fn a_graceful_disconnect_lets_requests_finish_first() {
    let (near, far) = (Node::new(), Node::new());
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    for cookie in 0..5 {
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    client.disconnect(Close::Graceful).expect("connected");
    assert_eq!(state(&client), EpState::DisconnectPending);
    assert_eq!(state(&server), EpState::Connected);
    // New requests are refused; receives are not.
    let posted = client.post_send(&[], 9, NONE);
    refused(posted, ReturnType::InvalidState, Subtype::InvalidStateEpDiscpending);
    client.post_recv(&[], 50, NONE).expect("possible in every state");
    expect_no_event(&near.connect);
    for cookie in 0..5 {
        assert_eq!(state(&client), EpState::DisconnectPending);
        server.post_recv(&[], 10 + cookie, NONE).expect("connected");
        let completion = expect_dto(&near.request, &[&client, &server]);
        assert_eq!((completion.cookie, completion.status), (cookie, DtoStatus::Success));
        assert_eq!(expect_dto(&far.recv, &[&server]).status, DtoStatus::Success);
    }
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
    for ep in [&client, &server] {
        assert_eq!(state(ep), EpState::Disconnected);
    }
    assert_eq!(flushed(&near.recv, &client), [50]);
    for node in [&near, &far] {
        expect_no_event(&node.connect);
    }
}

fn an_abrupt_disconnect_overtakes_a_graceful_one() {
    for by_peer in [false, true] {
        let (near, far) = (Node::new(), Node::new());
        let (client, server) = (near.ep(), far.ep());
        link(&near, &client, &far, &server);
        for cookie in 0..5 {
            client.post_send(&[], cookie, NONE).expect("connected");
        }
        client.disconnect(Close::Graceful).expect("connected");
        client.disconnect(Close::Graceful).expect("no effect");
        assert_eq!(state(&client), EpState::DisconnectPending);
        if by_peer { &server } else { &client }
            .disconnect(Close::Abrupt)
            .expect("connected or pending");
        expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
        expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
        assert_eq!(flushed(&near.request, &client), [0, 1, 2, 3, 4]);
        for node in [&near, &far] {
            expect_no_event(&node.connect);
        }
    }
}

fn both_sides_may_disconnect_at_once_and_get_one_event_each() {
    for round in 0..rounds(100) {
        let (near, far) = (Node::new(), Node::new());
        let (client, server) = (near.ep(), far.ep());
        link(&near, &client, &far, &server);
        for cookie in 0..10 {
            server.post_recv(&[], cookie, NONE).expect("connected");
            client.post_recv(&[], cookie, NONE).expect("connected");
        }
        let how = if round % 2 == 0 { Close::Abrupt } else { Close::Graceful };
        let threads = [client.clone(), server.clone()].map(|ep| {
            Background::run(move || {
                let _ = ep.post_send(&[], 77, NONE);
                ep.disconnect(how)
            })
        });
        for thread in threads {
            thread.join().expect("connected, pending or disconnected");
        }
        for (node, ep) in [(&near, &client), (&far, &server)] {
            expect_connection(&node.connect, ep, ConnectionEventKind::Disconnected);
            assert_eq!(state(ep), EpState::Disconnected);
            expect_no_event(&node.connect);
            let cookies: Vec<u64> = drain(&node.recv)
                .into_iter()
                .map(|event| match event {
                    Event::Dto(completion) => completion.cookie,
                    other => panic!("not a DTO: {other:?}"),
                })
                .collect();
            assert_eq!(cookies, (0..10).collect::<Vec<_>>(), "each receive completed once");
        }
    }
}

fn posts_race_with_the_end_and_every_cookie_comes_back_once() {
    for _ in 0..rounds(30) {
        let (near, far) = (Node::new(), Node::new());
        let (client, server) = (near.ep(), far.ep());
        link(&near, &client, &far, &server);
        let poster = {
            let client = client.clone();
            Background::run(move || {
                let mut posted = 0;
                for cookie in 0..60 {
                    match client.post_send(&[], cookie, NONE) {
                        Ok(()) => posted += 1,
                        Err(error) => {
                            assert_eq!(error.return_type(), ReturnType::InvalidState, "{error}");
                            assert_eq!(posted, cookie);
                            return posted;
                        }
                    }
                }
                posted
            })
        };
        for cookie in 0..20 {
            server.post_recv(&[], cookie, NONE).expect("any state");
        }
        server.disconnect(Close::Abrupt).expect("connected");
        let posted = poster.join();
        expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
        let completions: Vec<_> = (0..posted)
            .map(|_| expect_dto(&near.request, &[&client]))
            .map(|completion| (completion.cookie, completion.status))
            .collect();
        expect_no_event(&near.request);
        assert!(client.status().expect("live").request_idle);
        let cookies: Vec<u64> = completions.iter().map(|it| it.0).collect();
        assert_eq!(cookies, (0..posted).collect::<Vec<_>>());
        let successes = completions.iter().take_while(|it| it.1 == DtoStatus::Success).count();
        let rest = &completions[successes..];
        assert!(rest.iter().all(|it| it.1 == DtoStatus::Flushed), "no success after a flush");
    }
}

fn an_error_breaks_the_connection_on_both_sides() {
    let (near, far) = (Node::new(), Node::new());
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    let memory = near.buffer(8);
    server.post_recv(&[], 1, NONE).expect("connected");
    client.post_recv(&[], 2, NONE).expect("connected");
    // The message is longer than the receive.
    client.post_send(&[memory.piece(0, 8)], 3, NONE).expect("connected");
    let received = expect_dto(&far.recv, &[&client, &server]);
    assert_eq!((received.cookie, received.status), (1, DtoStatus::LocalLength));
    let sent = expect_dto(&near.request, &[&client, &server]);
    assert_eq!(sent.cookie, 3);
    assert_ne!(sent.status, DtoStatus::Success);
    expect_connection(&near.connect, &client, ConnectionEventKind::Broken);
    expect_connection(&far.connect, &server, ConnectionEventKind::Broken);
    assert_eq!(flushed(&near.recv, &client), [2]);
    for ep in [&client, &server] {
        assert_eq!(state(ep), EpState::Disconnected);
        ep.disconnect(Close::Abrupt).expect("no operation");
    }
    for node in [&near, &far] {
        expect_no_event(&node.connect);
    }
}

fn freeing_an_endpoint_ends_its_connection_for_the_peer() {
    for dropped in [false, true] {
        let (near, far) = (Node::new(), Node::new());
        let (client, server) = (near.ep(), far.ep());
        link(&near, &client, &far, &server);
        server.post_recv(&[], 1, NONE).expect("connected");
        server.post_send(&[], 2, NONE).expect("connected");
        if dropped {
            drop(client);
        } else {
            client.free().expect("connected");
        }
        expect_connection(&far.connect, &server, ConnectionEventKind::Disconnected);
        assert_eq!(flushed(&far.recv, &server), [1]);
        assert_eq!(flushed(&far.request, &server), [2]);
        expect_no_event(&near.connect);
        near.finish();
    }
}

fn freeing_an_endpoint_that_connects_gives_the_attempt_up() {
    let node = Node::new();
    let psp = listen(&node);
    let client = node.ep();
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    let request = expect_request(&node.requests).request;
    client.free().expect("pending");
    let server = node.ep();
    request.accept(Some(&server), b"").expect("unconnected");
    expect_connection(&node.connect, &server, ConnectionEventKind::AcceptCompletionError);
    expect_no_event(&node.connect);
}

fn an_endpoint_is_freed_in_every_state_in_which_nothing_decides_over_it() {
    for wanted in STATES {
        let node = Node::new();
        let staged = ep_in_state(&node, wanted);
        let freed = staged.ep.free();
        let bound = matches!(
            wanted,
            EpState::Reserved
                | EpState::UnconfiguredReserved
                | EpState::PassiveConnectionPending
                | EpState::UnconfiguredPassive
                | EpState::TentativeConnectionPending
        );
        if bound {
            refused(freed, ReturnType::InvalidState, wanted.invalid_state());
            assert_eq!(state(&staged.ep), wanted);
        } else {
            freed.unwrap_or_else(|error| panic!("in {wanted}: {error}"));
            assert!(!staged.ep.is_live());
        }
    }
}

fn a_reset_is_possible_disconnected_and_unconnected_only() {
    for wanted in STATES {
        let node = Node::new();
        let staged = ep_in_state(&node, wanted);
        let before = staged.ep.query().expect("live");
        let reset = staged.ep.reset();
        match wanted {
            EpState::Disconnected => {
                reset.expect("disconnected");
                let after = staged.ep.query().expect("live");
                assert_eq!(after.state, EpState::Unconnected);
                assert_eq!((after.remote_address, after.remote_port), (None, None));
                assert_eq!(after.attributes, before.attributes);
                assert_eq!((&after.pz, &after.recv_evd), (&before.pz, &before.recv_evd));
                assert_eq!(after.request_evd, before.request_evd);
                assert_eq!(after.connect_evd, before.connect_evd);
            }
            EpState::Unconnected | EpState::UnconfiguredUnconnected => {
                reset.expect("no operation");
                assert_eq!(staged.ep.query().expect("live"), before);
            }
            _ => {
                refused(reset, ReturnType::InvalidState, wanted.invalid_state());
                assert_eq!(staged.ep.query().expect("live"), before);
            }
        }
    }
}

fn after_a_reset_an_endpoint_is_as_good_as_new() {
    let node = Node::new();
    let (first, second) = (node.ep(), node.ep());
    let memory = node.buffer(16);
    for round in 0..5_u8 {
        // The sides take turns as the active side.
        let (client, server) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        server.post_recv(&[memory.piece(8, 8)], u64::from(round), NONE).expect("unconnected");
        link(&node, client, &node, server);
        memory.fill(0, &[round + 1; 8]);
        client.post_send(&[memory.piece(0, 8)], 50, NONE).expect("connected");
        let received = expect_dto(&node.recv, &[client, server]);
        assert_eq!((received.ep, received.cookie), (server.id(), u64::from(round)));
        assert_eq!(memory.bytes(8, 8), [round + 1; 8]);
        assert_eq!(expect_dto(&node.request, &[client, server]).cookie, 50);
        client.disconnect(Close::Graceful).expect("connected");
        expect_connections(&node.connect, &[client, server], ConnectionEventKind::Disconnected);
        for ep in [client, server] {
            ep.reset().expect("disconnected");
        }
    }
    for evd in [&node.recv, &node.request, &node.connect] {
        expect_no_event(evd);
    }
}

fn a_reset_drops_nothing_that_was_not_dequeued() {
    let node = Node::new();
    let (client, server) = node.pair();
    for cookie in 0..5 {
        client.post_recv(&[], cookie, NONE).expect("connected");
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    client.reset().expect("disconnected");
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2, 3, 4]);
    assert_eq!(flushed(&node.request, &client), [0, 1, 2, 3, 4]);
    client.post_recv(&[], 9, NONE).expect("unconnected");
    assert!(!client.status().expect("live").recv_idle, "and receives wait again");
}

fn the_marker_of_the_page_is_the_last_to_be_flushed() {
    let node = Node::new();
    let (client, _server) = node.pair();
    for cookie in 0..5 {
        client.post_recv(&[], cookie, NONE).expect("connected");
        client.post_send(&[], cookie, NONE).expect("connected");
    }
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
    client.post_recv(&[], 99, NONE).expect("disconnected");
    client.post_send(&[], 99, NONE).expect("disconnected");
    assert_eq!(flushed(&node.recv, &client), [0, 1, 2, 3, 4, 99]);
    assert_eq!(flushed(&node.request, &client), [0, 1, 2, 3, 4, 99]);
}

fn late_events_of_a_connection_are_ignored_after_the_reset() {
    for _ in 0..rounds(50) {
        let node = Node::new();
        let (client, server) = node.pair();
        let closer = {
            let server = server.clone();
            Background::run(move || server.disconnect(Close::Abrupt))
        };
        client.disconnect(Close::Abrupt).expect("connected or over");
        until("the end", || state(&client) == EpState::Disconnected);
        client.reset().expect("disconnected");
        let psp = listen(&node);
        client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
        closer.join().expect("connected or over");
        assert_eq!(state(&client), EpState::ActiveConnectionPending);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
        expect_no_event(&node.connect);
    }
}

fn an_endpoint_without_a_zone_does_not_connect() {
    let node = Node::new();
    let staged = ep_in_state(&node, EpState::UnconfiguredUnconnected);
    let connected = staged.ep.connect(&Connect::to(node.address(), 1));
    assert_eq!(connected.expect_err("no zone").return_type(), ReturnType::InvalidState);
    assert_eq!(state(&staged.ep), EpState::UnconfiguredUnconnected);
}
