//! Disconnects, and errors that end a connection.

use crate::prelude::*;

/// Takes the event of the end of a connection at each side, which must then be disconnected.
#[track_caller]
fn expect_end(sides: [(&Node, &Ep); 2], kind: ConnectionEventKind) {
    for (node, ep) in sides {
        expect_connection(&node.connect, ep, kind);
        assert_eq!(state(ep), EpState::Disconnected);
    }
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

pub(super) fn the_state_decides_what_a_disconnect_does() {
    for wanted in STATES {
        for how in [Close::Abrupt, Close::Graceful] {
            let node = Node::new();
            let staged = ep_in_state(&node, wanted);
            drain(&node.connect);
            let before = staged.ep.query().expect("live");
            let result = staged.ep.disconnect(how);
            match disconnects(wanted) {
                unchanged @ (None | Some(false)) => {
                    match unchanged {
                        None => _ = refused(result, wanted.invalid_state()),
                        Some(_) => result.expect("no operation"),
                    }
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

pub(super) fn abandoning_an_attempt_flushes_the_receives_and_voids_the_request() {
    for how in [Close::Abrupt, Close::Graceful] {
        let (node, psp) = with_psp();
        let (client, server) = (node.ep(), node.ep());
        post_receives(&client, 0..3);
        client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
        let request: Cr = expect_request(&node.requests).request;
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

pub(super) fn an_abrupt_disconnect_flushes_everything_in_posting_order_on_both_sides() {
    let [(near, client), (far, server)] = linked_nodes();
    for cookie in 0..20 {
        // Neither side has posted receives, so all messages are outstanding.
        client.post_send(&[], cookie, NONE).expect("connected");
        server.post_send(&[], 100 + cookie, NONE).expect("connected");
    }
    client.disconnect(Close::Abrupt).expect("connected");
    expect_end([(&near, &client), (&far, &server)], ConnectionEventKind::Disconnected);
    assert_eq!(flushed(&near.request, &client), (0..20).collect::<Vec<_>>());
    assert_eq!(flushed(&far.request, &server), (100..120).collect::<Vec<_>>());
    for (node, ep) in [(&near, &client), (&far, &server)] {
        let status = ep.status().expect("live");
        assert!(status.recv_idle && status.request_idle);
        expect_no_events(&[&node.recv, &node.connect]);
    }
}

pub(super) fn receives_are_flushed_once_each_in_posting_order() {
    let (near, far) = (Node::new(), Node::new());
    let (client, server) = (near.ep(), far.ep());
    post_receives(&client, 0..10);
    link(&near, &client, &far, &server);
    for cookie in 10..20 {
        client.post_recv(&[], cookie, NONE).expect("connected");
        server.post_recv(&[], 100 + cookie, NONE).expect("connected");
    }
    server.post_send(&[], 0, NONE).expect("connected");
    assert_eq!(expect_dto(&near.recv, &[&client]).cookie, 0);
    server.disconnect(Close::Graceful).expect("connected");
    expect_end([(&near, &client), (&far, &server)], ConnectionEventKind::Disconnected);
    assert_eq!(flushed(&near.recv, &client), (1..20).collect::<Vec<_>>());
    assert_eq!(flushed(&far.recv, &server), (110..120).collect::<Vec<_>>());
}

pub(super) fn a_graceful_disconnect_lets_requests_finish_first() {
    let [(near, client), (far, server)] = linked_nodes();
    post_sends(&client, 0..5);
    client.disconnect(Close::Graceful).expect("connected");
    assert_eq!(state(&client), EpState::DisconnectPending);
    assert_eq!(state(&server), EpState::Connected);
    // New requests are refused; receives are not.
    refused(client.post_send(&[], 9, NONE), Subtype::InvalidStateEpDiscpending);
    client.post_recv(&[], 50, NONE).expect("possible in every state");
    expect_no_event(&near.connect);
    for cookie in 0..5 {
        assert_eq!(state(&client), EpState::DisconnectPending);
        server.post_recv(&[], 10 + cookie, NONE).expect("connected");
        expect_completion(&near.request, &[&client, &server], cookie, DtoStatus::Success);
        assert_eq!(expect_dto(&far.recv, &[&server]).status, DtoStatus::Success);
    }
    expect_end([(&near, &client), (&far, &server)], ConnectionEventKind::Disconnected);
    assert_eq!(flushed(&near.recv, &client), [50]);
    expect_no_events(&[&near.connect, &far.connect]);
}

pub(super) fn an_abrupt_disconnect_overtakes_a_graceful_one() {
    for by_peer in [false, true] {
        let [(near, client), (far, server)] = linked_nodes();
        post_sends(&client, 0..5);
        client.disconnect(Close::Graceful).expect("connected");
        client.disconnect(Close::Graceful).expect("no effect");
        assert_eq!(state(&client), EpState::DisconnectPending);
        if by_peer { &server } else { &client }
            .disconnect(Close::Abrupt)
            .expect("connected or pending");
        expect_end([(&near, &client), (&far, &server)], ConnectionEventKind::Disconnected);
        assert_eq!(flushed(&near.request, &client), [0, 1, 2, 3, 4]);
        expect_no_events(&[&near.connect, &far.connect]);
    }
}

pub(super) fn a_simultaneous_disconnect_gives_one_event_per_side() {
    for round in 0..rounds(100) {
        let [(near, client), (far, server)] = linked_nodes();
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

pub(super) fn posts_that_race_with_a_disconnect_complete_once_each() {
    for _ in 0..rounds(30) {
        let [(near, client), (_far, server)] = linked_nodes();
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
        post_receives(&server, 0..20);
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

pub(super) fn an_error_breaks_the_connection_on_both_sides() {
    let [(near, client), (far, server)] = linked_nodes();
    let memory = near.buffer(8);
    server.post_recv(&[], 1, NONE).expect("connected");
    client.post_recv(&[], 2, NONE).expect("connected");
    // The message is longer than the receive.
    client.post_send(&[memory.piece(0, 8)], 3, NONE).expect("connected");
    expect_completion(&far.recv, &[&client, &server], 1, DtoStatus::LocalLength);
    let sent = expect_dto(&near.request, &[&client, &server]);
    assert_eq!(sent.cookie, 3);
    assert_ne!(sent.status, DtoStatus::Success);
    expect_end([(&near, &client), (&far, &server)], ConnectionEventKind::Broken);
    assert_eq!(flushed(&near.recv, &client), [2]);
    for ep in [&client, &server] {
        ep.disconnect(Close::Abrupt).expect("no operation");
    }
    expect_no_events(&[&near.connect, &far.connect]);
}
