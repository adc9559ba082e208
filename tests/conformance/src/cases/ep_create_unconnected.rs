//! The calls that are allowed and refused on a new endpoint (dat_ep_create(3DAT), USAGE, and the
//! pages of the calls).

use crate::prelude::*;

cases! {
    "dat_ep_create(3DAT)":
        its_parameters_and_status_can_be_queried,
        it_can_be_modified,
        it_is_freed_once,
        receives_can_be_posted_before_the_connection,
        a_free_discards_or_flushes_its_receives,
        it_can_connect,
        it_can_accept_a_request,
        it_can_be_reserved,
        sends_rdma_and_binds_are_refused,
        a_disconnect_is_refused_and_a_reset_has_no_effect;
}

fn its_parameters_and_status_can_be_queried() {
    let (_node, ep) = unconnected();
    assert_eq!(ep.query().expect("a live endpoint").state, EpState::Unconnected);
    let status = ep.status().expect("a live endpoint");
    assert_eq!(status.state, EpState::Unconnected);
    assert!(status.recv_idle && status.request_idle);
    ep.set_consumer_context(7);
    assert_eq!(ep.clone().consumer_context(), 7);
}

fn it_can_be_modified() {
    let (_node, ep) = unconnected();
    ep.modify(&EpUpdate::new().recv_evd(None)).expect("unconnected");
    assert_eq!(ep.query().expect("a live endpoint").recv_evd, None);
    assert_eq!(state(&ep), EpState::Unconnected);
}

fn it_is_freed_once() {
    let (node, ep) = unconnected();
    let clone = ep.clone();
    ep.free().expect("unconnected");
    assert!(!clone.is_live());
    refused(clone.free(), Subtype::InvalidHandleEp);
    refused(ep.query(), Subtype::InvalidHandleEp);
    refused(ep.status(), Subtype::InvalidHandleEp);
    refused(ep.connect(&Connect::to(node.address(), 1)), Subtype::InvalidHandleEp);
    for how in [Close::Graceful, Close::Abrupt] {
        refused(ep.disconnect(how), Subtype::InvalidHandleEp);
    }
    refused(ep.reset(), Subtype::InvalidHandleEp);
    refused(ep.modify(&EpUpdate::new()), Subtype::InvalidHandleEp);
    refused(ep.post_recv(&[], 0, NONE), Subtype::InvalidHandleEp);
    refused(ep.post_send(&[], 0, NONE), Subtype::InvalidHandleEp);
    node.finish();
}

fn receives_can_be_posted_before_the_connection() {
    let (node, client, server) = unconnected_pair();
    let memory = node.buffer(64);
    for cookie in 0..3 {
        let piece = memory.piece(16 * cookie, 8);
        server.post_recv(&[piece], cookie as u64, NONE).expect("unconnected");
        assert!(!server.status().expect("live").recv_idle);
    }
    expect_no_event(&node.recv);
    link(&node, &client, &node, &server);
    expect_no_event(&node.recv);
    memory.fill(60, b"word");
    for cookie in 0..3 {
        client.post_send(&[memory.piece(60, 4)], 9, NONE).expect("connected");
        let completion = expect_dto(&node.recv, &[&client, &server]);
        assert_eq!((completion.cookie, completion.ep), (cookie, server.id()));
        assert_eq!((completion.status, completion.length), (DtoStatus::Success, 4));
        assert_eq!(memory.bytes(16 * cookie as usize, 4), b"word");
    }
    assert!(server.status().expect("live").recv_idle);
}

fn a_free_discards_or_flushes_its_receives() {
    let (node, ep) = unconnected();
    let memory = node.buffer(64);
    ep.post_recv(&[memory.piece(0, 64)], 5, NONE).expect("unconnected");
    ep.free().expect("unconnected");
    // The page does not say whether completions are still delivered; if so, they are flushed.
    for event in drain(&node.recv) {
        let Event::Dto(completion) = event else { panic!("not a DTO: {event:?}") };
        assert_eq!((completion.cookie, completion.status), (5, DtoStatus::Flushed));
    }
    node.finish_with(&[&memory]);
}

fn it_can_connect() {
    let (node, psp) = with_psp();
    let (client, server) = (node.connecting(psp.qualifier()), node.ep());
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    expect_request(&node.requests).request.accept(Some(&server), b"").expect("unconnected");
    for ep in [&server, &client] {
        expect_connection(&node.connect, ep, ConnectionEventKind::Established);
        assert_eq!(state(ep), EpState::Connected);
    }
}

fn it_can_accept_a_request() {
    let (node, psp) = with_psp();
    let (_client, server) = (node.connecting(psp.qualifier()), node.ep());
    let request = expect_request(&node.requests).request;
    assert_eq!(request.query().expect("a live request").local_ep, None, "none associated yet");
    assert_eq!(state(&server), EpState::Unconnected);
    request.accept(Some(&server), b"").expect("an unconnected endpoint");
    expect_connection(&node.connect, &server, ConnectionEventKind::Established);
}

fn it_can_be_reserved() {
    let (node, client, server) = unconnected_pair();
    let rsp = node.ia.rsp_create(5, Some(&server), &node.requests).expect("unconnected");
    assert_eq!(state(&server), EpState::Reserved);
    client.connect(&Connect::to(node.address(), rsp.qualifier())).expect("unconnected");
    let request = expect_request(&node.requests).request;
    assert_eq!(state(&server), EpState::PassiveConnectionPending);
    assert_eq!(request.query().expect("a live request").local_ep.as_ref(), Some(&server));
    request.accept(None, b"").expect("the request brought its endpoint");
    expect_connections(&node.connect, &[&server, &client], ConnectionEventKind::Established);
}

#[track_caller]
fn wrong_state<T: std::fmt::Debug>(posted: Result<T>) {
    let error = refused(posted, Subtype::InvalidStateEpUnconnected);
    let text = error.to_string();
    assert!(text.contains("Unconnected"), "the state is to be named: {text}");
    for state in ["Connected", "Disconnected"] {
        assert!(error.advice().contains(state), "{state} would do: {text}");
    }
}

fn sends_rdma_and_binds_are_refused() {
    let (node, ep) = unconnected();
    let memory = node.buffer(64);
    let rmr = node.has_rmrs().then(|| node.rmr());
    let remote: RmrTriplet = memory.remote(32, 8);
    for _ in 0..3 {
        wrong_state(ep.post_send(&[memory.piece(0, 8)], 1, NONE));
        wrong_state(ep.post_rdma_write(&[memory.piece(0, 8)], 2, remote, NONE));
        wrong_state(ep.post_rdma_read(&[memory.piece(0, 8)], 3, remote, NONE));
        if let Some(rmr) = &rmr {
            wrong_state(rmr.bind(&ep, &memory.bind(Privileges::REMOTE_READ)));
        }
    }
    let status = ep.status().expect("a live endpoint");
    assert!(status.request_idle && status.state == EpState::Unconnected);
    expect_no_event(&node.request);
    if let Some(rmr) = &rmr {
        assert_eq!(rmr.query().expect("live").rmr_context, 0, "the bind left nothing behind");
    }
    memory.lmr.free().expect("not bound");
    if let Some(rmr) = &rmr {
        rmr.free().expect("live");
    }
    node.finish_with(&[&ep]);
}

fn a_disconnect_is_refused_and_a_reset_has_no_effect() {
    let (node, ep) = unconnected();
    let memory = node.buffer(8);
    ep.post_recv(&[memory.piece(0, 8)], 1, NONE).expect("unconnected");
    for how in [Close::Graceful, Close::Abrupt] {
        let error = refused(ep.disconnect(how), Subtype::InvalidStateEpUnconnected);
        assert_eq!(error.operation(), "dat_ep_disconnect");
    }
    ep.reset().expect("no operation");
    assert_eq!(state(&ep), EpState::Unconnected);
    assert!(!ep.status().expect("live").recv_idle, "preposted receives are not affected");
    expect_no_events(&[&node.recv, &node.connect]);
}
