//! Changing an endpoint before it is connected: every item of dat_ep_modify(3DAT).

use crate::fault_provider;
use crate::prelude::*;
use dat_core::attr::IaAttributes;

cases! {
    "dat_ep_modify(3DAT)":
        an_empty_change_changes_nothing,
        the_zone,
        the_old_zone_is_no_longer_in_use,
        receives_of_the_old_zone_fail_when_a_message_arrives,
        the_dispatcher_of_receives,
        the_dispatcher_of_requests,
        the_dispatcher_of_connection_events,
        a_dispatcher_can_be_removed,
        posts_are_limited_by_the_changed_attributes,
        posted_receives_stay_when_the_queue_grows,
        a_queue_cannot_shrink_below_what_is_posted,
        the_flags_of_receives_change_only_before_any_is_posted,
        both_modes_change_together_on_a_shared_dispatcher,
        the_modes_of_other_endpoints_limit_a_change,
        a_refused_change_changes_nothing,
        a_failure_of_the_provider_changes_nothing,
        a_change_of_rdma_reads_updates_the_totals_of_the_adapter,
        invalid_or_unsupported_attributes_are_invalid_parameters,
        invalid_handles_are_refused_as_in_a_create,
        the_state_decides_what_can_be_modified,
        a_change_that_the_state_allows_only_in_part_is_refused,
        the_maximum_message_size,
        the_maximum_rdma_size,
        the_quality_of_service,
        the_flags_of_receives,
        the_flags_of_requests,
        the_number_of_receives,
        the_number_of_requests,
        the_segments_of_receives,
        the_segments_of_requests,
        the_incoming_rdma_reads,
        the_outgoing_rdma_reads,
        the_segments_of_rdma_reads,
        the_segments_of_rdma_writes,
        sizes_are_rounded_up_to_those_of_the_adapter;
}

/// Changes attributes of an endpoint.
fn change(ep: &Ep, set: impl FnOnce(&mut EpAttributes)) -> Result<()> {
    let mut wanted = ep.query().expect("live").attributes;
    set(&mut wanted);
    ep.modify(&EpUpdate::new().attributes(&wanted))
}

/// A node on an adapter with 20 RDMA reads in each direction.
fn twenty_reads() -> Node {
    fault_provider::node(|it| (it.ia.max_rdma_read_in, it.ia.max_rdma_read_out) = (20, 20))
}

/// The default attributes with a number of RDMA reads in each direction.
fn with_reads(node: &Node, reads: u32) -> EpAttributes {
    node.attributes_with(|it| (it.max_rdma_read_in, it.max_rdma_read_out) = (reads, reads))
}

/// The endpoint parameters without those that a change of attributes may affect.
fn apart_from_attributes(param: EpParam) -> EpParam {
    EpParam { attributes: EpAttributes::default(), ..param }
}

fn an_empty_change_changes_nothing() {
    let (_node, ep) = unconnected();
    let before = ep.query().expect("a live endpoint");
    ep.modify(&EpUpdate::new()).expect("nothing to refuse");
    assert_eq!(ep.query().expect("a live endpoint"), before);
}

fn the_zone() {
    let node = Node::new();
    let other = node.ia.pz_create().expect("a zone");
    let (client, server) = (node.ep(), node.ep());
    client.modify(&EpUpdate::new().pz(&other)).expect("unconnected");
    assert_eq!(client.query().expect("live").pz.as_ref(), Some(&other));
    refused(other.free(), Subtype::InvalidStatePzInUse);
    link(&node, &client, &node, &server);
    let (old, new) = (node.buffer(8), Buffer::new(&node.ia, &other, 8));
    refused(client.post_send(&[old.piece(0, 8)], 1, NONE), Subtype::ProtectionRead);
    client.post_send(&[new.piece(0, 8)], 2, NONE).expect("of the new zone");
    node.finish_with(&[&client, &server, &old, &new, &other]);
}

fn the_old_zone_is_no_longer_in_use() {
    let node = Node::new();
    let (first, second) = (node.ia.pz_create().expect("a zone"), node.ia.pz_create().expect("one"));
    let ep = node.ep_of(&EpSpec::new(&first));
    ep.modify(&EpUpdate::new().pz(&second)).expect("unconnected");
    first.free().expect("unused");
    ep.modify(&EpUpdate::new().pz(&second)).expect("the same again");
    node.finish_with(&[&ep, &second]);
}

fn receives_of_the_old_zone_fail_when_a_message_arrives() {
    let node = Node::new();
    let other = node.ia.pz_create().expect("a zone");
    let (client, server) = (node.ep(), node.ep());
    let memory = node.buffer(8);
    server.post_recv(&[memory.piece(0, 8)], 1, NONE).expect("a region of the current zone");
    server.modify(&EpUpdate::new().pz(&other)).expect("unconnected");
    link(&node, &client, &node, &server);
    let source = node.buffer_of(b"message!");
    client.post_send(&[source.piece(0, 8)], 2, NONE).expect("connected");
    expect_completion(&node.recv, &[&client, &server], 1, DtoStatus::LocalProtection);
    assert_eq!(memory.bytes(0, 8), [0; 8], "nothing was written");
}

fn the_dispatcher_of_receives() {
    let node = Node::new();
    let other = node.evd(EvdFlags::DTO);
    let (client, server) = (node.ep(), node.ep());
    let memory = node.buffer(16);
    server.post_recv(&[memory.piece(0, 8)], 1, NONE).expect("before the change");
    server.modify(&EpUpdate::new().recv_evd(Some(&other))).expect("unconnected");
    server.post_recv(&[memory.piece(8, 8)], 2, NONE).expect("after it");
    assert_eq!(server.query().expect("live").recv_evd.as_ref(), Some(&other));
    assert!(!server.status().expect("live").recv_idle, "what was posted stays");
    link(&node, &client, &node, &server);
    for cookie in [1, 2] {
        client.post_send(&[], 0, NONE).expect("connected");
        expect_completion(&other, &[&client, &server], cookie, DtoStatus::Success);
    }
    expect_no_event(&node.recv);
    client.free().expect("connected");
    node.recv.free().expect("nothing feeds the old one");
    refused(other.free(), Subtype::InvalidStateEvdInUse);
}

fn the_dispatcher_of_requests() {
    let node = Node::new();
    let other = node.evd(EvdFlags::COMPLETIONS);
    let (client, server) = (node.ep(), node.ep());
    client.modify(&EpUpdate::new().request_evd(Some(&other))).expect("unconnected");
    link(&node, &client, &node, &server);
    post_message((&client, 4), (&server, 0));
    assert_eq!(expect_dto(&other, &[&client, &server]).cookie, 4);
    expect_no_event(&node.request);
}

fn the_dispatcher_of_connection_events() {
    let node = Node::new();
    let other = node.evd(EvdFlags::CONNECTION);
    let (client, server) = (node.ep(), node.ep());
    client.modify(&EpUpdate::new().connect_evd(Some(&other))).expect("unconnected");
    link(&node, &client, &node, &server);
    expect_connection(&other, &client, ConnectionEventKind::Established);
    expect_no_event(&node.connect);
}

fn a_dispatcher_can_be_removed() {
    let (node, client, server) = unconnected_pair();
    let none = EpUpdate::new().recv_evd(None).request_evd(None).connect_evd(None);
    server.modify(&none).expect("unconnected");
    client.free().expect("unconnected");
    free_all(&[&node.recv, &node.request, &node.connect]);
    let param = server.query().expect("a live endpoint");
    assert_eq!((param.recv_evd, param.request_evd, param.connect_evd), (None, None, None));
}

/// Limits a number of segments to that of the adapter.
fn within(wanted: &mut EpAttributes, most: &IaAttributes) {
    for (wanted, most) in [
        (&mut wanted.max_recv_iov, most.max_iov_segments_per_dto),
        (&mut wanted.max_request_iov, most.max_iov_segments_per_dto),
        (&mut wanted.max_rdma_read_iov, most.max_iov_segments_per_rdma_read),
        (&mut wanted.max_rdma_write_iov, most.max_iov_segments_per_rdma_write),
    ] {
        *wanted = most.min(*wanted);
    }
}

macro_rules! items {
    ($($test:ident: $make:ident, $set:expr;)+) => {
        $(        fn $test() {
            let node = Node::new();
            let (ep, queue) = $make(&node);
            let before = ep.query().expect("a live endpoint");
            let mut wanted = before.attributes.clone();
            let set: fn(&mut EpAttributes) = $set;
            set(&mut wanted);
            assert_ne!(wanted, before.attributes, "the test changes something");
            within(&mut wanted, node.ia.attributes());
            if wanted == before.attributes {
                skip("the adapter has one value of this only");
            }
            ep.modify(&EpUpdate::new().attributes(&wanted)).expect("unconnected");
            let after = ep.query().expect("a live endpoint");
            assert_eq!(after.attributes, wanted);
            assert_eq!(apart_from_attributes(after), apart_from_attributes(before));
            ep.free().expect("unconnected");
            drop(queue);
            node.finish();
        })+
    };
}

fn plain(node: &Node) -> (Ep, Option<Srq>) {
    (node.ep(), None)
}

/// An endpoint with exactly the requested sizes (dat_ep_create_with_srq(3DAT)); other endpoints may
/// get more.
fn exact(node: &Node) -> (Ep, Option<Srq>) {
    let srq = node.srq(1);
    let ep = node.ep_of(&node.spec().srq(&srq));
    (ep, Some(srq))
}

fn sizes_are_rounded_up_to_those_of_the_adapter() {
    let (node, ep) = unconnected();
    let before = ep.query().expect("live").attributes;
    change(&ep, |it| (it.max_message_size, it.max_rdma_size) = (77, 77)).expect("unconnected");
    assert_eq!(ep.query().expect("live").attributes, before);
    let most = node.ia.attributes();
    assert_eq!(before.max_message_size, most.max_message_size);
    assert_eq!(before.max_rdma_size, most.max_rdma_size);
}

items! {
    the_maximum_message_size: exact, |it| it.max_message_size = 77;
    the_maximum_rdma_size: exact, |it| it.max_rdma_size = 77;
    the_quality_of_service: plain, |it| it.qos = Qos::LOW_LATENCY;
    the_flags_of_receives: plain, |it| it.recv_completion_flags = CompletionFlags::SOLICITED_WAIT;
    the_flags_of_requests: plain, |it| it.request_completion_flags = CompletionFlags::UNSIGNALLED;
    the_number_of_receives: plain, |it| it.max_recv_dtos = 77;
    the_number_of_requests: plain, |it| it.max_request_dtos = 77;
    the_segments_of_receives: plain, |it| it.max_recv_iov = 7;
    the_segments_of_requests: exact, |it| it.max_request_iov = 7;
    the_incoming_rdma_reads: plain, |it| it.max_rdma_read_in = 7;
    the_outgoing_rdma_reads: plain, |it| it.max_rdma_read_out = 7;
    the_segments_of_rdma_reads: exact, |it| it.max_rdma_read_iov = 7;
    the_segments_of_rdma_writes: exact, |it| it.max_rdma_write_iov = 7;
}

fn posts_are_limited_by_the_changed_attributes() {
    let (node, client, server) = unconnected_pair();
    let memory = node.buffer(64);
    let mut wanted = client.query().expect("live").attributes;
    wanted.max_request_iov = 1;
    (wanted.max_rdma_read_iov, wanted.max_rdma_write_iov) = (1, 1);
    wanted.request_completion_flags = CompletionFlags::UNSIGNALLED;
    let other = node.evd(EvdFlags::DTO);
    let changed = EpUpdate::new().attributes(&wanted).request_evd(Some(&other));
    client.modify(&changed).expect("unconnected");
    change(&server, |it| it.max_recv_dtos = 1).expect("unconnected");
    server.post_recv(&[memory.piece(0, 8)], 1, NONE).expect("the first");
    refused(server.post_recv(&[memory.piece(0, 8)], 1, NONE), Subtype::ResourceCredits);
    link(&node, &client, &node, &server);
    let pieces = [memory.piece(0, 4), memory.piece(4, 1)];
    assert!(client.post_send(&pieces, 2, NONE).is_err(), "two segments are too many");
    client.post_send(&pieces[..1], 2, CompletionFlags::UNSIGNALLED).expect("one is not");
    assert_eq!(expect_unsignalled_dto(&other, &[&client, &server]).cookie, 2);
}

fn posted_receives_stay_when_the_queue_grows() {
    let (node, client, server) = unconnected_pair();
    let memory = node.buffer(64);
    change(&server, |it| it.max_recv_dtos = 2).expect("unconnected");
    for cookie in [1, 2] {
        server.post_recv(&[memory.piece(0, 8)], cookie, NONE).expect("two receives fit");
    }
    assert!(server.post_recv(&[memory.piece(0, 8)], 3, NONE).is_err());
    let segments = node.ia.attributes().max_iov_segments_per_dto.min(9);
    let more = |it: &mut EpAttributes| (it.max_recv_dtos, it.max_recv_iov) = (3, segments);
    change(&server, more).expect("unconnected");
    let pieces = vec![memory.piece(0, 8); segments as usize];
    server.post_recv(&pieces, 3, NONE).expect("three receives fit");
    link(&node, &client, &node, &server);
    for cookie in [1, 2, 3] {
        client.post_send(&[memory.piece(16, 8)], 0, NONE).expect("connected");
        expect_completion(&node.recv, &[&client, &server], cookie, DtoStatus::Success);
    }
}

fn a_queue_cannot_shrink_below_what_is_posted() {
    let (_node, ep) = unconnected();
    post_receives(&ep, 0..3);
    let before = ep.query().expect("live");
    assert!(change(&ep, |it| it.max_recv_dtos = 2).is_err());
    assert_eq!(ep.query().expect("live"), before);
    assert!(!ep.status().expect("live").recv_idle);
    change(&ep, |it| it.max_recv_dtos = 3).expect("exactly what is posted");
    assert!(ep.post_recv(&[], 4, NONE).is_err());
}

fn the_flags_of_receives_change_only_before_any_is_posted() {
    let (_node, ep) = unconnected();
    let unsignalled = CompletionFlags::UNSIGNALLED;
    change(&ep, |it| it.recv_completion_flags = unsignalled).expect("none is posted");
    ep.post_recv(&[], 1, unsignalled).expect("the endpoint has the flag");
    let changed = change(&ep, |it| it.recv_completion_flags = NONE);
    refused(changed, Subtype::InvalidStateEpUnconnected);
    let found = ep.query().expect("live").attributes;
    assert_eq!(found.recv_completion_flags, unsignalled);
    change(&ep, |it| it.max_message_size = 9).expect("the flags stay");
}

fn both_modes_change_together_on_a_shared_dispatcher() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::COMPLETIONS);
    let ep = node.ep_of(&EpSpec::new(&node.pz).recv_evd(&evd).request_evd(&evd));
    let unsignalled = CompletionFlags::UNSIGNALLED;
    let alone = change(&ep, |it| it.recv_completion_flags = unsignalled);
    assert!(alone.is_err(), "one alone does not match");
    let both = |flags| {
        change(&ep, |it| (it.recv_completion_flags, it.request_completion_flags) = (flags, flags))
    };
    both(unsignalled).expect("together they match");
    assert!(evd.query().expect("live").config_notify);
    both(NONE).expect("and back");
    assert!(!evd.query().expect("live").config_notify);
    node.finish_with(&[&ep, &evd]);
}

fn the_modes_of_other_endpoints_limit_a_change() {
    let (node, first, second) = unconnected_pair();
    let solicit =
        || change(&first, |it| it.recv_completion_flags = CompletionFlags::SOLICITED_WAIT);
    // The other endpoint has the default.
    fails_with(solicit(), ReturnType::InvalidParameter);
    second.free().expect("unconnected");
    solicit().expect("no other stream is bound");
    assert!(node.recv.query().expect("live").config_solicited);
}

/// Makes a change that must fail and leave the endpoint as it was.
#[track_caller]
fn fails_and_leaves_everything(node: &Node, ep: &Ep, change: &EpUpdate) {
    let look = || {
        let evds = [&node.recv, &node.request, &node.connect];
        (ep.query().expect("live"), evds.map(|evd| evd.query().expect("live")))
    };
    let before = look();
    ep.modify(change).expect_err("a part of the change is not possible");
    assert_eq!(look(), before);
}

fn a_refused_change_changes_nothing() {
    let node = twenty_reads();
    let mut few = node.attributes_with(|it| {
        (it.max_rdma_read_in, it.max_rdma_read_out) = (5, 5);
        it.recv_completion_flags = CompletionFlags::UNSIGNALLED;
    });
    let ep = node.ep_of(&node.spec().attributes(&few));
    let pz = node.ia.pz_create().expect("a zone");
    let evd = node.evd(EvdFlags::all());
    let freed = node.freed_evd(EvdFlags::all());
    let mut more = few.clone();
    (more.max_rdma_read_in, more.max_rdma_read_out) = (16, 16);
    let mut too_long = more.clone();
    too_long.max_message_size = u64::MAX;
    let good = EpUpdate::new().pz(&pz).recv_evd(Some(&node.request)).attributes(&more);
    fails_and_leaves_everything(&node, &ep, &good.clone().connect_evd(Some(&freed)));
    fails_and_leaves_everything(&node, &ep, &good.clone().attributes(&too_long));
    // Unsignalled receives cannot share a dispatcher with other streams.
    fails_and_leaves_everything(&node, &ep, &good.clone().recv_evd(Some(&evd)));
    // The refused change left nothing in use.
    free_all(&[&pz, &evd]);
    // 15 RDMA reads are left, as before.
    let other =
        |reads| node.ia.ep_create(&EpSpec::new(&node.pz).attributes(&with_reads(&node, reads)));
    refused(other(16), Subtype::ResourceTep);
    let rest = other(15).expect("exactly the rest");
    // The endpoint's streams are still bound: other modes are refused.
    let spec = EpSpec::new(&node.pz).recv_evd(&node.recv);
    few.recv_completion_flags = NONE;
    (few.max_rdma_read_in, few.max_rdma_read_out) = (0, 0);
    let error = node.ia.ep_create(&spec.attributes(&few)).expect_err("unsignalled receives");
    assert!(error.reason().contains("recv_completion_flags"), "{error}");
    node.finish_with(&[&ep, &rest]);
}

fn a_failure_of_the_provider_changes_nothing() {
    let (node, ep) = unconnected();
    post_receives(&ep, 0..3);
    // The provider cannot make the queue shorter than the number of posted receives.
    let mut wanted = ep.query().expect("live").attributes;
    wanted.max_recv_dtos = 1;
    let pz = node.ia.pz_create().expect("a zone");
    let other = node.evd(EvdFlags::COMPLETIONS);
    let change = EpUpdate::new().pz(&pz).request_evd(Some(&other)).attributes(&wanted);
    fails_and_leaves_everything(&node, &ep, &change);
    free_all(&[&pz, &other]);
}

fn a_change_of_rdma_reads_updates_the_totals_of_the_adapter() {
    let node = twenty_reads();
    let with = |reads| with_reads(&node, reads);
    let first = node.ep_of(&node.spec().attributes(&with(16)));
    let second = node.ep_of(&node.spec().attributes(&with(4)));
    let more = EpUpdate::new().attributes(&with(5));
    refused(second.modify(&more), Subtype::ResourceTep);
    first.modify(&EpUpdate::new().attributes(&with(10))).expect("fewer");
    second.modify(&EpUpdate::new().attributes(&with(10))).expect("what the first gave back");
    refused(first.modify(&EpUpdate::new().attributes(&with(11))), Subtype::ResourceTep);
    first.free().expect("unconnected");
    second.modify(&EpUpdate::new().attributes(&with(16))).expect("all of one endpoint");
    node.finish_with(&[&second]);
}

fn invalid_or_unsupported_attributes_are_invalid_parameters() {
    let node = fault_provider::node(|it| it.provider.qos_supported = Qos::empty());
    let ep = node.ep();
    let before = ep.query().expect("live").attributes;
    type Set = (&'static str, fn(&mut EpAttributes));
    let sets: [Set; 5] = [
        ("max_message_size", |it| it.max_message_size = u64::MAX),
        ("max_request_iov", |it| it.max_request_iov = u32::MAX),
        ("service_type", |it| it.service_type = 9),
        ("qos", |it| it.qos = Qos::PREMIUM),
        ("recv_completion_flags", |it| it.recv_completion_flags = CompletionFlags::SUPPRESS),
    ];
    for (name, set) in sets {
        // Argument 3 of the call is invalid.
        let error = refused_naming(change(&ep, set), Subtype::InvalidArg3, name);
        assert_eq!(error.operation(), "dat_ep_modify");
    }
    assert_eq!(ep.query().expect("live").attributes, before);
}

fn invalid_handles_are_refused_as_in_a_create() {
    let (node, other) = (Node::new(), Node::new());
    let ep = node.ep();
    let freed = node.freed_evd(EvdFlags::all());
    let wrong = node.evd(EvdFlags::SOFTWARE);
    for evd in [&freed, &wrong, &other.recv] {
        for (change, subtype) in [
            (EpUpdate::new().recv_evd(Some(evd)), Subtype::InvalidHandleEvdRecv),
            (EpUpdate::new().request_evd(Some(evd)), Subtype::InvalidHandleEvdRequest),
            (EpUpdate::new().connect_evd(Some(evd)), Subtype::InvalidHandleEvdConn),
        ] {
            refused(ep.modify(&change), subtype);
        }
    }
    refused(ep.modify(&EpUpdate::new().pz(&other.pz)), Subtype::InvalidHandlePz);
    node.finish_with(&[&ep, &wrong]);
    other.finish();
}

/// Which parts the page allows to change in a state: zone, dispatchers and attributes.
fn may_change(state: EpState) -> (bool, bool) {
    match state {
        EpState::Unconnected | EpState::TentativeConnectionPending => (true, true),
        EpState::Reserved | EpState::PassiveConnectionPending => (false, true),
        // An endpoint without a zone gets one.
        state if state.is_unconfigured() => (true, true),
        _ => (false, false),
    }
}

fn the_state_decides_what_can_be_modified() {
    in_every_state(|node, staged, wanted| {
        let ep = &staged.ep;
        let (zone, rest) = may_change(wanted);
        let before = ep.query().expect("live");
        let mut attributes = before.attributes.clone();
        attributes.max_request_dtos = 55;
        attributes.max_recv_dtos = 44;
        let evd = node.evd(EvdFlags::all());
        let parts = [
            ("recv_evd", EpUpdate::new().recv_evd(Some(&evd))),
            ("request_evd", EpUpdate::new().request_evd(Some(&evd))),
            ("connect_evd", EpUpdate::new().connect_evd(Some(&evd))),
            ("attributes", EpUpdate::new().attributes(&attributes)),
        ];
        for (name, change) in parts {
            let changed = ep.modify(&change);
            if rest {
                changed.unwrap_or_else(|error| panic!("{name} in {wanted}: {error}"));
            } else {
                refused_naming(changed, wanted.invalid_state(), wanted.name());
            }
        }
        if rest {
            let after = ep.query().expect("live");
            assert_eq!(after.attributes, attributes);
            assert_eq!((&after.recv_evd, &after.request_evd), (&Some(evd.clone()), &Some(evd)));
        } else {
            assert_eq!(ep.query().expect("live"), before);
        }
        let pz = node.ia.pz_create().expect("a zone");
        let changed = ep.modify(&EpUpdate::new().pz(&pz));
        if zone {
            changed.unwrap_or_else(|error| panic!("the zone in {wanted}: {error}"));
            assert_eq!(ep.query().expect("live").pz, Some(pz));
        } else {
            refused(changed, wanted.invalid_state());
            assert_eq!(ep.query().expect("live").pz, before.pz);
            pz.free().expect("unused");
        }
    });
}

fn a_change_that_the_state_allows_only_in_part_is_refused() {
    let node = Node::new();
    let EpInState { ep, rsp, .. } = ep_in_state(&node, EpState::Reserved);
    let pz = node.ia.pz_create().expect("a zone");
    fails_and_leaves_everything(&node, &ep, &EpUpdate::new().recv_evd(None).pz(&pz));
    pz.free().expect("unused");
    rsp.expect("reserved").free().expect("live");
    until("the endpoint is given back", || state(&ep) == EpState::Unconnected);
    node.finish_with(&[&ep]);
}
