//! Creating an endpoint with any combination of dispatchers (dat_ep_create(3DAT)).

use crate::prelude::*;

cases! {
    "dat_ep_create(3DAT)":
        a_new_endpoint_belongs_to_its_adapter_and_zone_and_is_unconnected,
        each_dispatcher_is_optional_and_a_query_returns_it,
        one_dispatcher_can_serve_all_three_uses,
        an_endpoint_keeps_its_dispatchers_and_zone_in_use_until_it_is_freed,
        the_number_of_endpoints_is_limited_and_a_free_makes_one_available,
        a_failed_create_does_not_count_against_the_limit,
        without_any_dispatcher_an_endpoint_connects_and_moves_data,
        with_a_receive_dispatcher_only_it_connects_and_moves_data,
        with_a_request_dispatcher_only_it_connects_and_moves_data,
        without_a_connection_dispatcher_it_connects_and_moves_data,
        with_a_connection_dispatcher_only_it_connects_and_moves_data,
        without_a_request_dispatcher_it_connects_and_moves_data,
        without_a_receive_dispatcher_it_connects_and_moves_data,
        with_all_dispatchers_it_connects_and_moves_data;
}

fn a_new_endpoint_belongs_to_its_adapter_and_zone_and_is_unconnected() {
    let (node, ep) = unconnected();
    let param = ep.query().expect("a live endpoint");
    assert_eq!(ep.adapter(), node.ia);
    assert_eq!(param.pz.as_ref(), Some(&node.pz));
    assert_eq!(param.state, EpState::Unconnected);
    assert_eq!(param.local_address, node.address());
    assert_eq!((param.remote_address, param.remote_port), (None, None));
    assert_eq!(param.srq, None);
    let status = ep.status().expect("a live endpoint");
    assert_eq!(status.state, EpState::Unconnected);
    assert!(status.recv_idle && status.request_idle);
    refused(node.pz.free(), Subtype::InvalidStatePzInUse);
    node.finish_with(&[&ep]);
}

/// Makes the eight combinations of the three optional dispatchers.
fn spec_with(node: &Node, mask: u32) -> EpSpec {
    let mut spec = EpSpec::new(&node.pz);
    if mask & 1 != 0 {
        spec = spec.recv_evd(&node.recv);
    }
    if mask & 2 != 0 {
        spec = spec.request_evd(&node.request);
    }
    if mask & 4 != 0 {
        spec = spec.connect_evd(&node.connect);
    }
    spec
}

fn each_dispatcher_is_optional_and_a_query_returns_it() {
    let node = Node::new();
    for mask in 0..8 {
        let ep = node.ia.ep_create(&spec_with(&node, mask)).expect("absence is allowed");
        let param = ep.query().expect("a live endpoint");
        assert_eq!(param.recv_evd.as_ref(), (mask & 1 != 0).then_some(&node.recv));
        assert_eq!(param.request_evd.as_ref(), (mask & 2 != 0).then_some(&node.request));
        assert_eq!(param.connect_evd.as_ref(), (mask & 4 != 0).then_some(&node.connect));
        ep.free().expect("unconnected");
    }
    node.finish();
}

/// Transfers data in both directions between an endpoint with some dispatchers and one with all.
fn exchange(mask: u32) {
    let (bare_node, full_node) = (Node::new(), Node::new());
    let bare = bare_node.ep_of(&spec_with(&bare_node, mask));
    let full = full_node.ep();
    link(&bare_node, &bare, &full_node, &full);
    let (memory, other) = (bare_node.buffer(64), full_node.buffer(64));
    let done = |evd, ep: &Ep, cookie, operation| {
        let completion = expect_dto(evd, &[&bare, &full]);
        assert_eq!((completion.ep, completion.cookie), (ep.id(), cookie));
        assert_eq!((completion.operation, completion.status), (operation, DtoStatus::Success));
    };
    // More operations than the queues hold: completions without a dispatcher return their credits.
    let rounds = u64::from(full.query().expect("live").attributes.max_request_dtos) + 3;
    for round in 0..rounds {
        let bytes = [round as u8 + 1; 8];
        memory.fill(0, &bytes);
        full.post_recv(&[other.piece(0, 8)], round, Default::default()).expect("posted");
        bare.post_send(&[memory.piece(0, 8)], round, Default::default()).expect("posted");
        done(&full_node.recv, &full, round, Operation::Receive);
        assert_eq!(other.bytes(0, 8), bytes);
        if mask & 2 != 0 {
            done(&bare_node.request, &bare, round, Operation::Send);
        }

        memory.fill(0, &[0; 8]);
        bare.post_recv(&[memory.piece(0, 8)], round, Default::default()).expect("posted");
        full.post_send(&[other.piece(0, 8)], round, Default::default()).expect("posted");
        done(&full_node.request, &full, round, Operation::Send);
        until("the bytes arrive", || memory.bytes(0, 8) == bytes);
        if mask & 1 != 0 {
            done(&bare_node.recv, &bare, round, Operation::Receive);
        }
    }
    expect_no_events(&[&bare_node.recv, &bare_node.request, &bare_node.connect]);
    bare_node.finish_with(&[&bare, &full, &memory, &other]);
    full_node.finish();
}

macro_rules! exchanges {
    ($($test:ident = $mask:literal;)+) => {
        $(        fn $test() {
            exchange($mask);
        })+
    };
}

exchanges! {
    without_any_dispatcher_an_endpoint_connects_and_moves_data = 0;
    with_a_receive_dispatcher_only_it_connects_and_moves_data = 1;
    with_a_request_dispatcher_only_it_connects_and_moves_data = 2;
    without_a_connection_dispatcher_it_connects_and_moves_data = 3;
    with_a_connection_dispatcher_only_it_connects_and_moves_data = 4;
    without_a_request_dispatcher_it_connects_and_moves_data = 5;
    without_a_receive_dispatcher_it_connects_and_moves_data = 6;
    with_all_dispatchers_it_connects_and_moves_data = 7;
}

fn one_dispatcher_can_serve_all_three_uses() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::DEFAULT);
    let ep = node.ep_of(&EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd));
    assert_eq!(state(&ep), EpState::Unconnected);
    refused(evd.free(), Subtype::InvalidStateEvdInUse);
    node.finish_with(&[&ep, &evd]);
}

fn an_endpoint_keeps_its_dispatchers_and_zone_in_use_until_it_is_freed() {
    let (node, ep) = unconnected();
    for evd in [&node.recv, &node.request, &node.connect] {
        refused(evd.free(), Subtype::InvalidStateEvdInUse);
        assert!(evd.is_live() && evd.query().is_ok(), "nothing has changed");
    }
    refused(node.pz.free(), Subtype::InvalidStatePzInUse);
    node.finish_with(&[&ep]);
}

fn the_number_of_endpoints_is_limited_and_a_free_makes_one_available() {
    let node = Node::with("max_eps=2");
    let (first, second) = (node.ep(), node.ep());
    for _ in 0..3 {
        refused_naming(node.ia.ep_create(&node.spec()), Subtype::ResourceTep, "2");
    }
    first.free().expect("unconnected");
    let third = node.ep();
    refused(node.ia.ep_create(&node.spec()), Subtype::ResourceTep);
    drop(third);
    let fourth = node.ep();
    node.finish_with(&[&second, &fourth]);
}

fn a_failed_create_does_not_count_against_the_limit() {
    let node = Node::with("max_eps=1");
    for _ in 0..3 {
        assert!(node.ia.ep_create(&node.spec_with(|it| it.max_request_dtos = u32::MAX)).is_err());
    }
    node.ep().free().expect("unconnected");
    node.finish();
}
