//! The rules that a compatibility mode relaxes (docs/moving.md), and those that it does not. The
//! cases of the strict rules are in the files of their nouns.

use super::ep_create_sharing::both;
use crate::prelude::*;

cases! {
    "docs/moving.md: what DAT_COMPAT=ofa relaxes":
        streams_of_different_flags_share_a_dispatcher,
        unsignalled_requests_share_a_dispatcher_with_default_receives,
        dispatchers_of_another_instance_are_allowed,
        a_dispatcher_of_another_instance_is_in_use,
        closing_an_instance_ends_its_dispatchers_for_the_other,
        flags_that_are_invalid_for_a_post_are_ignored,
        a_wrong_remote_length_is_ignored,
        the_upper_half_of_a_qualifier_is_ignored,
        the_bounds_of_the_remote_region_are_not_relaxed,
        memory_safety_checks_are_not_relaxed,
        the_error_of_a_relaxed_rule_names_the_mode,
        an_unknown_mode_is_refused,
        the_last_mode_in_a_name_wins;
}

const UNSIGNALLED: CompletionFlags = CompletionFlags::UNSIGNALLED;

/// Opens the adapter under test in a compatibility mode.
fn try_open_as(words: &str) -> Result<Ia> {
    let Target { registry, name, .. } = target();
    let mut name = with_parameters(&name, words);
    if takes_parameters() {
        name = with_parameters(&name, &format!("address={}", fresh_address()));
    }
    registry.open(&name)
}

fn node_as(words: &str) -> Node {
    Node::on(try_open_as(words).expect("the adapter under test opens in that mode"))
}

fn lenient() -> Node {
    node_as("compat=ofa")
}

fn streams_of_different_flags_share_a_dispatcher() {
    let node = lenient();
    for streams in [EvdFlags::DTO, EvdFlags::DTO | EvdFlags::CONNECTION] {
        let evd = node.evd(streams);
        let mixed = [
            both(&node, &evd, UNSIGNALLED, UNSIGNALLED),
            both(&node, &evd, NONE, UNSIGNALLED),
            both(&node, &evd, UNSIGNALLED, NONE),
            both(&node, &evd, CompletionFlags::SOLICITED_WAIT, UNSIGNALLED),
        ];
        let eps = mixed.map(|made| made.expect("whatever the flags"));
        let param = evd.query().expect("live");
        assert!(!param.config_notify && !param.config_solicited, "the waiter decides: {param:?}");
        for ep in eps {
            ep.free().expect("unconnected");
        }
        evd.free().expect("unused");
    }
    node.finish();
}

fn unsignalled_requests_share_a_dispatcher_with_default_receives() {
    let node = lenient();
    let evd = node.evd(EvdFlags::DTO);
    let [client, server] = [(); 2].map(|()| both(&node, &evd, NONE, UNSIGNALLED).expect("made"));
    link(&node, &client, &node, &server);
    let (source, target) = (node.buffer_of(b"unsigned"), node.buffer(8));
    server.post_recv(&[target.piece(0, 8)], 1, NONE).expect("posted");
    client.post_send(&[source.piece(0, 8)], 2, UNSIGNALLED).expect("connected");
    let mut cookies = [(); 2].map(|()| expect_unsignalled_dto(&evd, &[&client, &server]).cookie);
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 2], "one completion each");
    assert_eq!(target.bytes(0, 8), b"unsigned");
    node.finish_with(&[&client, &server, &source, &target, &evd]);
}

fn the_upper_half_of_a_qualifier_is_ignored() {
    const GARBAGE: u64 = 0x5567 << 32;
    let (strict, peer) = (node_as("compat=strict"), lenient());
    let psp =
        peer.ia.psp_create_any(&peer.requests, EpProvision::Consumer).expect("a service point");
    let to = Connect::to(peer.address(), psp.qualifier() | GARBAGE);
    let refused = strict.ep();
    refused.connect(&to).expect("an attempt to connect");
    expect_connection(&strict.connect, &refused, ConnectionEventKind::NonPeerRejected);
    let (user, server) = (lenient(), peer.ep());
    let client = user.ep();
    client.connect(&to).expect("an attempt to connect");
    let arrival = expect_request(&peer.requests);
    assert_eq!(arrival.qualifier, psp.qualifier());
    arrival.request.accept(Some(&server), b"").expect("an unconnected endpoint");
    for (node, ep) in [(&user, &client), (&peer, &server)] {
        expect_connection(&node.connect, ep, ConnectionEventKind::Established);
    }
    psp.free().expect("live");
    strict.finish_with(&[&refused]);
    user.finish_with(&[&client]);
    peer.finish_with(&[&server]);
}

/// Returns true if the completion queues of one instance serve endpoints of another. A provider may have
/// none that do (`AdapterAttributes::completion_scope`); the built-in ones all share theirs.
fn shares_completions(user: &Node, owner: &Node) -> bool {
    match user.ia.ep_create(&EpSpec::new(&user.pz).recv_evd(&owner.recv)) {
        Ok(ep) => {
            ep.free().expect("unconnected");
            true
        }
        made => {
            refused(made, Subtype::InvalidHandleEvdRecv);
            false
        }
    }
}

/// An endpoint of one node with the dispatchers of another, as far as the provider allows.
fn on_dispatchers_of(user: &Node, owner: &Node) -> Ep {
    let spec = EpSpec::new(&user.pz).connect_evd(&owner.connect);
    let spec = if shares_completions(user, owner) {
        spec.recv_evd(&owner.recv).request_evd(&owner.request)
    } else {
        spec.recv_evd(&user.recv).request_evd(&user.request)
    };
    user.ia.ep_create(&spec).expect("dispatchers of the same adapter")
}

/// Connects a client to an endpoint of a peer, whose requests come to a dispatcher; takes the event
/// of the peer.
fn connect(peer: &Node, requests: &Evd, client: &Ep, server: &Ep) {
    let psp = peer.ia.psp_create_any(requests, EpProvision::Consumer).expect("a service point");
    client.connect(&Connect::to(peer.address(), psp.qualifier())).expect("an attempt to connect");
    expect_request(requests).request.accept(Some(server), b"").expect("an unconnected endpoint");
    psp.free().expect("live");
    expect_connection(&peer.connect, server, ConnectionEventKind::Established);
}

fn dispatchers_of_another_instance_are_allowed() {
    let (user, owner, peer) = (lenient(), lenient(), lenient());
    let (client, server) = (on_dispatchers_of(&user, &owner), peer.ep());
    // Its events arrive at the dispatchers of the other instance.
    connect(&peer, &owner.requests, &client, &server);
    expect_connection(&owner.connect, &client, ConnectionEventKind::Established);
    let (source, target) = (user.buffer_of(b"word"), peer.buffer(4));
    server.post_recv(&[target.piece(0, 4)], 1, NONE).expect("posted");
    client.post_send(&[source.piece(0, 4)], 2, NONE).expect("connected");
    let sent = if shares_completions(&user, &owner) { &owner.request } else { &user.request };
    assert_eq!(expect_dto(sent, &[&client, &server]).cookie, 2);
    assert_eq!(expect_dto(&peer.recv, &[&client, &server]).cookie, 1);
    assert_eq!(target.bytes(0, 4), b"word");
    free_all(&[&client, &server, &source, &target]);
    finish_all([user, owner, peer]);
}

fn a_dispatcher_of_another_instance_is_in_use() {
    let (user, owner) = (lenient(), lenient());
    let ep = on_dispatchers_of(&user, &owner);
    refused(owner.connect.free(), Subtype::InvalidStateEvdInUse);
    assert_eq!(ep.query().expect("live").connect_evd, Some(owner.connect.clone()));
    ep.free().expect("unconnected");
    owner.connect.free().expect("unused again");
    finish_all([user, owner]);
}

fn closing_an_instance_ends_its_dispatchers_for_the_other() {
    let (user, owner, peer) = (lenient(), lenient(), lenient());
    let (client, server) = (on_dispatchers_of(&user, &owner), peer.ep());
    connect(&peer, &peer.requests, &client, &server);
    expect_connection(&owner.connect, &client, ConnectionEventKind::Established);
    owner.ia.close(Close::Abrupt).expect("live");
    refused(owner.connect.dequeue(&mut Event::default()), Subtype::InvalidHandleEvdRequest);
    // The endpoint still works, but its events are discarded.
    let (source, target) = (user.buffer(4), peer.buffer(4));
    server.post_recv(&[target.piece(0, 4)], 1, NONE).expect("posted");
    client.post_send(&[source.piece(0, 4)], 2, NONE).expect("connected");
    assert_eq!(expect_dto(&peer.recv, &[&client, &server]).cookie, 1);
    assert_eq!(client.query().expect("live").state, EpState::Connected);
    free_all(&[&client, &server, &source, &target]);
    finish_all([user, peer]);
}

fn flags_that_are_invalid_for_a_post_are_ignored() {
    let (node, client, server) = lenient().paired();
    let (near, far) = (node.buffer_of(b"abcdefgh"), node.buffer(8));
    let undefined = CompletionFlags::from_bits_retain(0x40);
    let every = undefined | CompletionFlags::SOLICITED_WAIT | UNSIGNALLED;
    server.post_recv(&[far.piece(0, 4)], 1, every).expect("flags are ignored");
    client.post_send(&[near.piece(0, 4)], 2, undefined | UNSIGNALLED).expect("flags are ignored");
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).cookie, 1);
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 2);
    client.post_rdma_read(&[near.piece(4, 4)], 3, far.remote(0, 4), every).expect("also of reads");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 3);
    assert_eq!(near.bytes(4, 4), b"abcd");
    node.finish_with(&[&client, &server, &near, &far]);
}

fn a_wrong_remote_length_is_ignored() {
    let (node, client, server) = lenient().paired();
    let (near, far) = (node.buffer(16), node.buffer(16));
    for length in [0, 8, 1000] {
        near.fill(0, b"abcdefgh________");
        far.fill(0, &[0; 16]);
        let remote = RmrTriplet { length, ..far.remote(4, 8) };
        client.post_rdma_write(&[near.piece(0, 8)], 1, remote, NONE).expect("any length");
        assert_eq!(expect_dto(&node.request, &[&client, &server]).length, 8, "write, {length}");
        client.post_rdma_read(&[near.piece(8, 8)], 2, remote, NONE).expect("any length");
        assert_eq!(expect_dto(&node.request, &[&client, &server]).length, 8, "read, {length}");
        assert_eq!(far.bytes(4, 8), b"abcdefgh", "{length}");
        assert_eq!(near.bytes(8, 8), b"abcdefgh", "{length}");
        assert_eq!(far.bytes(12, 4), [0; 4], "{length}");
    }
    let short = RmrTriplet { length: 3, ..far.remote(4, 8) };
    client.post_rdma_write(&[near.piece(0, 8)], 3, short, NONE).expect("too short");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).length, 8);
    client.post_rdma_read(&[near.piece(8, 8)], 4, short, NONE).expect("as the page has it");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).length, 3);
    node.finish_with(&[&client, &server, &near, &far]);
}

fn the_bounds_of_the_remote_region_are_not_relaxed() {
    let (node, client, server) = lenient().paired();
    let (near, far) = (node.buffer(16), node.buffer(8));
    let remote = RmrTriplet { length: 0, ..far.remote(0, 8) };
    client.post_rdma_write(&[near.piece(0, 16)], 1, remote, NONE).expect("the peer refuses it");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::RemoteAccess);
    node.finish_with(&[&client, &server, &near, &far]);
}

fn memory_safety_checks_are_not_relaxed() {
    let (node, other) = (lenient(), lenient());
    refused(node.ia.ep_create(&EpSpec::new(&other.pz)), Subtype::InvalidHandlePz);
    let ep = node.ep();
    let buffer = other.buffer(8);
    assert!(ep.post_recv(&[buffer.piece(0, 8)], 1, NONE).is_err(), "a region of another instance");
    let own = node.buffer(8);
    let mut beyond = own.piece(0, 8);
    beyond.length = 9;
    assert!(ep.post_recv(&[beyond], 1, NONE).is_err(), "a segment beyond its region");
    let freed = node.freed_evd(EvdFlags::CONNECTION);
    let made = node.ia.ep_create(&EpSpec::new(&node.pz).connect_evd(&freed));
    refused(made, Subtype::InvalidHandleEvdConn);
    node.finish_with(&[&ep, &own, &buffer]);
    other.finish();
}

fn the_error_of_a_relaxed_rule_names_the_mode() {
    let (node, other) = (node_as("compat=strict"), node_as("compat=strict"));
    let evd = node.evd(EvdFlags::DTO);
    let flags = refused(both(&node, &evd, NONE, UNSIGNALLED), Subtype::InvalidArg6);
    let foreign = node.ia.ep_create(&EpSpec::new(&node.pz).connect_evd(&other.connect));
    let instance = refused(foreign, Subtype::InvalidHandleEvdConn);
    for error in [flags, instance] {
        for way in ["DAT_COMPAT=ofa", "?compat=ofa"] {
            assert!(error.advice().contains(way), "{way} is to be named: {error}");
        }
    }
    node.finish_with(&[&evd]);
    other.finish();
}

fn an_unknown_mode_is_refused() {
    for word in ["oaf", "OFA", ""] {
        let opened = try_open_as(&format!("compat={word}"));
        let error = refused_naming(opened, Subtype::InvalidArg1, &format!("compat={word} "));
        for (known, _) in Compat::WORDS {
            assert!(error.advice().contains(known), "{known} is to be named: {error}");
        }
    }
}

fn the_last_mode_in_a_name_wins() {
    for (words, is_lenient) in
        [("compat=ofa,compat=strict", false), ("compat=strict,compat=ofa", true)]
    {
        let node = node_as(words);
        let evd = node.evd(EvdFlags::DTO);
        let made = both(&node, &evd, NONE, UNSIGNALLED);
        assert_eq!(made.is_ok(), is_lenient, "{words}: {made:?}");
        if let Ok(ep) = made {
            ep.free().expect("unconnected");
        }
        node.finish_with(&[&evd]);
    }
}
