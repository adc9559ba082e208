//! The attributes of dat_ep_create(3DAT): left out, requested one by one, and in combination.

use crate::fault_provider;
use crate::prelude::*;
use dat_core::attr::NamedAttr;

cases! {
    "dat_ep_create(3DAT)":
        omitted_attributes_are_the_defaults_of_the_provider,
        the_defaults_respect_the_limits_of_a_small_adapter,
        the_defaults_allow_every_kind_of_transfer,
        posts_are_limited_by_the_attributes,
        an_rdma_iov_of_0_is_that_of_requests,
        an_rdma_iov_of_0_respects_the_rdma_limits_of_the_adapter,
        unset_sizes_are_the_defaults_of_the_provider,
        sizes_are_rounded_up_to_those_of_the_adapter,
        all_requests_get_the_largest_requested_iov,
        contradictory_completion_flags_are_refused,
        completion_flags_of_single_requests_are_accepted_for_requests,
        completion_flags_of_single_requests_have_no_effect_on_an_endpoint,
        completion_flags_of_single_requests_are_refused_for_receives,
        every_documented_completion_mode_is_available,
        rdma_reads_of_all_endpoints_are_limited_by_the_adapter,
        a_service_type_that_is_not_offered_is_not_supported,
        a_quality_of_service_that_is_not_offered_is_not_supported,
        a_mode_of_completion_that_is_not_offered_is_not_supported,
        unknown_named_attributes_are_not_supported,
        a_watermark_without_a_shared_queue_is_ignored,
        segments_of_reads_are_ignored_without_reads,
        rdma_attributes_of_datagrams_are_ignored,
        a_dispatcher_of_streams_that_cannot_be_merged_is_refused,
        max_message_size_is_limited_by_the_adapter,
        max_rdma_size_is_limited_by_the_adapter,
        max_recv_dtos_is_limited_by_the_adapter,
        max_request_dtos_is_limited_by_the_adapter,
        max_recv_iov_is_limited_by_the_adapter,
        max_request_iov_is_limited_by_the_adapter,
        max_rdma_read_in_is_limited_by_the_adapter,
        max_rdma_read_out_is_limited_by_the_adapter,
        max_rdma_read_iov_is_limited_by_the_adapter,
        max_rdma_write_iov_is_limited_by_the_adapter;
    "dat_ep_create_with_srq(3DAT)":
        with_a_shared_receive_queue_sizes_are_exact,
        with_a_shared_receive_queue_segments_of_rdma_are_exact,
        a_watermark_that_is_not_set_is_accepted_with_a_shared_queue,
        with_a_shared_receive_queue_the_iov_of_receives_is_ignored,
        zones_of_endpoint_and_shared_queue_differ_only_where_the_provider_allows;
}

/// A new endpoint with the given attributes, and those that a query returns.
#[track_caller]
fn made(node: &Node, wanted: &EpAttributes) -> (Ep, EpAttributes) {
    let ep = node.ep_of(&node.spec().attributes(wanted));
    let found = attributes(&ep);
    (ep, found)
}

/// The attributes of an endpoint.
#[track_caller]
fn attributes(ep: &Ep) -> EpAttributes {
    ep.query().expect("a live endpoint").attributes
}

/// Small limits with distinct values, so that a mix-up shows.
const SMALL: &str = "max_message_size=1001,max_rdma_size=2002,max_dto_per_ep=30,max_iov=4,\
                     max_rdma_read_in=5,max_rdma_read_out=6";

fn omitted_attributes_are_the_defaults_of_the_provider() {
    let (node, ep) = unconnected();
    let found = attributes(&ep);
    let mut expected = node.ia.default_ep_attributes().clone();
    // The provider replaces 0 by its default.
    expected.max_rdma_read_iov = found.max_rdma_read_iov;
    expected.max_rdma_write_iov = found.max_rdma_write_iov;
    assert_eq!(found, expected);
    let ia = node.ia.attributes();
    assert_eq!(found.service_type, 0);
    assert_eq!(found.qos, Qos::BEST_EFFORT);
    assert!((1..=ia.max_message_size).contains(&found.max_message_size));
    assert!((1..=ia.max_rdma_size).contains(&found.max_rdma_size));
    assert!((1..=ia.max_dto_per_ep).contains(&found.max_recv_dtos));
    assert!((1..=ia.max_dto_per_ep).contains(&found.max_request_dtos));
    assert!((1..=ia.max_iov_segments_per_dto).contains(&found.max_recv_iov));
    assert!((1..=ia.max_iov_segments_per_dto).contains(&found.max_request_iov));
    assert!((1..=ia.max_iov_segments_per_rdma_read).contains(&found.max_rdma_read_iov));
    assert!((1..=ia.max_iov_segments_per_rdma_write).contains(&found.max_rdma_write_iov));
    assert!((1..=ia.max_rdma_read_per_ep_in).contains(&found.max_rdma_read_in));
    assert!((1..=ia.max_rdma_read_per_ep_out).contains(&found.max_rdma_read_out));
    node.finish_with(&[&ep]);
}

fn unset_sizes_are_the_defaults_of_the_provider() {
    let node = Node::new();
    let usual = node.ia.default_ep_attributes();
    let unset = EpAttributes { max_message_size: 0, max_rdma_size: 0, ..usual.clone() };
    let (ep, found) = made(&node, &unset);
    assert_eq!(found.max_message_size, usual.max_message_size);
    assert_eq!(found.max_rdma_size, usual.max_rdma_size);
    node.finish_with(&[&ep]);
}

fn the_defaults_respect_the_limits_of_a_small_adapter() {
    for parameters in [SMALL, "max_dto_per_ep=1,max_iov=1,max_rdma_read_in=0,max_rdma_read_out=0"] {
        let node = Node::with(parameters);
        let ep = node.ep();
        let explicit = attributes(&ep);
        let (again, found) = made(&node, &explicit);
        assert_eq!(found, explicit);
        node.finish_with(&[&ep, &again]);
    }
}

fn the_defaults_allow_every_kind_of_transfer() {
    let (node, client, server) = linked_pair();
    let (near, far) = (node.buffer(4096), node.buffer(4096));
    let watched = [&client, &server];

    near.fill(0, b"message");
    server.post_recv(&[far.piece(0, 16)], 1, NONE).expect("receives are possible");
    client.post_send(&[near.piece(0, 4), near.piece(4, 3)], 2, NONE).expect("sends are possible");
    let received = expect_completion(&node.recv, &watched, 1, DtoStatus::Success);
    assert_eq!((received.operation, received.length), (Operation::Receive, 7));
    let sent = expect_dto(&node.request, &watched);
    assert_eq!((sent.cookie, sent.length, sent.operation), (2, 7, Operation::Send));
    assert_eq!(far.bytes(0, 7), b"message");

    near.fill(100, b"written");
    client.post_rdma_write(&[near.piece(100, 7)], 3, far.remote(200, 7), NONE).expect("writes");
    let written = expect_completion(&node.request, &watched, 3, DtoStatus::Success);
    assert_eq!(written.operation, Operation::RdmaWrite);
    assert_eq!(far.bytes(200, 7), b"written");

    far.fill(300, b"is read");
    client.post_rdma_read(&[near.piece(400, 7)], 4, far.remote(300, 7), NONE).expect("reads");
    let read = expect_completion(&node.request, &watched, 4, DtoStatus::Success);
    assert_eq!((read.operation, read.length), (Operation::RdmaRead, 7));
    assert_eq!(near.bytes(400, 7), b"is read");

    node.finish_with(&[&client, &server, &near, &far]);
}

/// Requests exactly the limit, which must succeed and be what a query returns, and for one more,
/// which must be refused with the name of the attribute.
#[track_caller]
fn at_the_limit_and_one_above(name: &str, set: impl Fn(&Ia, &mut EpAttributes, bool)) {
    let node = Node::with(SMALL);
    let mut wanted = node.ia.default_ep_attributes().clone();
    set(&node.ia, &mut wanted, false);
    let (ep, mut found) = made(&node, &wanted);
    if wanted.max_rdma_read_iov == 0 {
        found.max_rdma_read_iov = 0;
    }
    if wanted.max_rdma_write_iov == 0 {
        found.max_rdma_write_iov = 0;
    }
    assert_eq!(found, wanted);
    set(&node.ia, &mut wanted, true);
    refused_naming(node.ia.ep_create(&node.spec().attributes(&wanted)), Subtype::InvalidArg6, name);
    node.finish_with(&[&ep]);
}

macro_rules! limits {
    ($($test:ident: $attribute:ident, $limit:ident;)+) => {
        $(        fn $test() {
            at_the_limit_and_one_above(stringify!($attribute), |ia, wanted, above| {
                wanted.$attribute = ia.attributes().$limit;
                if above {
                    wanted.$attribute += 1;
                }
            });
        })+
    };
}

limits! {
    max_message_size_is_limited_by_the_adapter: max_message_size, max_message_size;
    max_rdma_size_is_limited_by_the_adapter: max_rdma_size, max_rdma_size;
    max_recv_dtos_is_limited_by_the_adapter: max_recv_dtos, max_dto_per_ep;
    max_request_dtos_is_limited_by_the_adapter: max_request_dtos, max_dto_per_ep;
    max_recv_iov_is_limited_by_the_adapter: max_recv_iov, max_iov_segments_per_dto;
    max_request_iov_is_limited_by_the_adapter: max_request_iov, max_iov_segments_per_dto;
    max_rdma_read_in_is_limited_by_the_adapter: max_rdma_read_in, max_rdma_read_per_ep_in;
    max_rdma_read_out_is_limited_by_the_adapter: max_rdma_read_out, max_rdma_read_per_ep_out;
    max_rdma_read_iov_is_limited_by_the_adapter: max_rdma_read_iov, max_iov_segments_per_rdma_read;
    max_rdma_write_iov_is_limited_by_the_adapter: max_rdma_write_iov, max_iov_segments_per_rdma_write;
}

fn posts_are_limited_by_the_attributes() {
    let node = Node::with(SMALL);
    let spec = node.spec_with(|it| {
        it.max_recv_dtos = 3;
        it.max_recv_iov = 2;
        it.max_request_iov = 2;
        it.max_rdma_write_iov = 2;
        it.max_rdma_read_iov = 2;
    });
    let client = node.ep_of(&spec);
    let server = node.ep_of(&spec);
    let memory = node.buffer(1024);
    let piece = memory.piece(0, 50);
    let receive = |iov: &[_]| client.post_recv(iov, 0, NONE);
    receive(&[piece, piece]).expect("two segments");
    refused(receive(&[piece; 3]), Subtype::InvalidArg2);
    receive(&[]).expect("no segment at all");
    receive(&[piece]).expect("the third");
    refused(receive(&[piece]), Subtype::ResourceCredits);
    link(&node, &client, &node, &server);
    let send = |iov: &[_]| client.post_send(iov, 0, NONE);
    refused(send(&[piece; 3]), Subtype::InvalidArg2);
    let error = fails_with(send(&[memory.piece(0, 952), piece]), ReturnType::InvalidParameter);
    assert!(error.reason().contains("1002") && error.reason().contains("1001"), "{error}");
    let write = client.post_rdma_write(&[piece; 3], 0, memory.remote(0, 150), NONE);
    refused(write, Subtype::InvalidArg2);
    let read = client.post_rdma_read(&[piece; 3], 0, memory.remote(0, 150), NONE);
    refused(read, Subtype::InvalidArg2);
    send(&[piece, piece]).expect("100 bytes in two segments");
}

fn an_rdma_iov_of_0_is_that_of_requests() {
    let node = Node::new();
    let found = attributes(&node.ep_with(|it| {
        it.max_request_iov = 3;
        it.max_rdma_read_iov = 0;
        it.max_rdma_write_iov = 0;
    }));
    let most = node.ia.attributes();
    let expected =
        (most.max_iov_segments_per_rdma_read.min(3), most.max_iov_segments_per_rdma_write.min(3));
    assert_eq!((found.max_rdma_read_iov, found.max_rdma_write_iov), expected);
}

/// Attributes that request small sizes.
fn tiny(node: &Node) -> EpAttributes {
    node.attributes_with(|it| (it.max_message_size, it.max_rdma_size) = (16, 16))
}

fn sizes_are_rounded_up_to_those_of_the_adapter() {
    let node = Node::new();
    let wanted = tiny(&node);
    let spec = node.spec().attributes(&wanted);
    let client = node.ep_of(&spec);
    let server = node.ep_of(&spec);
    let found = attributes(&client);
    let most = node.ia.attributes();
    assert_eq!(found.max_message_size, most.max_message_size);
    assert_eq!(found.max_rdma_size, most.max_rdma_size);
    link(&node, &client, &node, &server);
    let (near, far) = (node.buffer(64), node.buffer(64));
    server.post_recv(&[far.piece(0, 32)], 1, NONE).expect("connected");
    client.post_send(&[near.piece(0, 32)], 2, NONE).expect("longer than requested");
    let watched = [&client, &server];
    assert_eq!(expect_dto(&node.recv, &watched).length, 32);
    assert_eq!(expect_dto(&node.request, &watched).cookie, 2);
    let written = client.post_rdma_write(&[near.piece(0, 64)], 3, far.remote(0, 64), NONE);
    written.expect("longer than requested");
    expect_completion(&node.request, &watched, 3, DtoStatus::Success);
}

fn with_a_shared_receive_queue_sizes_are_exact() {
    let node = Node::new();
    let srq = node.srq(1);
    let wanted = tiny(&node);
    let client = node.ep_of(&node.spec().srq(&srq).attributes(&wanted));
    let server = node.ep();
    let found = attributes(&client);
    assert_eq!((found.max_message_size, found.max_rdma_size), (16, 16));
    link(&node, &client, &node, &server);
    let memory = node.buffer(64);
    refused(client.post_send(&[memory.piece(0, 17)], 1, NONE), Subtype::InvalidArg3);
    let written = client.post_rdma_write(&[memory.piece(0, 17)], 1, memory.remote(32, 17), NONE);
    refused(written, Subtype::InvalidArg3);
}

fn with_a_shared_receive_queue_segments_of_rdma_are_exact() {
    let node = Node::with(SMALL);
    let srq = node.srq(1);
    let wanted = node.attributes_with(|it| {
        it.max_request_iov = 3;
        it.max_rdma_read_iov = 1;
        it.max_rdma_write_iov = 1;
    });
    let ep = node.ep_of(&node.spec().srq(&srq).attributes(&wanted));
    let found = attributes(&ep);
    assert!(found.max_request_iov >= 3);
    assert_eq!((found.max_rdma_read_iov, found.max_rdma_write_iov), (1, 1));
    node.finish_with(&[&ep, &srq]);
}

fn all_requests_get_the_largest_requested_iov() {
    let node = Node::new();
    let most = node.ia.attributes();
    let usual = node.attributes_with(|it| {
        it.max_request_iov = 1;
        it.max_rdma_read_iov = 1;
        it.max_rdma_write_iov = 1;
    });
    let (requests, writes) =
        (most.max_iov_segments_per_dto.min(4), most.max_iov_segments_per_rdma_write.min(4));
    for wanted in [
        EpAttributes { max_request_iov: requests, ..usual.clone() },
        EpAttributes { max_rdma_write_iov: writes, ..usual.clone() },
    ] {
        let longest = wanted.max_request_iov.max(wanted.max_rdma_write_iov);
        let (ep, found) = made(&node, &wanted);
        assert_eq!(found.max_request_iov, longest.min(most.max_iov_segments_per_dto));
        assert_eq!(found.max_rdma_read_iov, longest.min(most.max_iov_segments_per_rdma_read));
        assert_eq!(found.max_rdma_write_iov, longest.min(most.max_iov_segments_per_rdma_write));
        ep.free().expect("unconnected");
    }
    node.finish();
}

fn an_rdma_iov_of_0_respects_the_rdma_limits_of_the_adapter() {
    let node = fault_provider::node(|attributes| {
        attributes.ia.max_iov_segments_per_rdma_read = 1;
        attributes.ia.max_iov_segments_per_rdma_write = 2;
    });
    let found = node.ep().query().expect("a live endpoint").attributes;
    assert_eq!((found.max_rdma_read_iov, found.max_rdma_write_iov), (1, 2));
}

fn contradictory_completion_flags_are_refused() {
    let node = Node::new();
    let (unsignalled, solicited, threshold) = (
        CompletionFlags::UNSIGNALLED,
        CompletionFlags::SOLICITED_WAIT,
        CompletionFlags::EVD_THRESHOLD,
    );
    let recv = [
        unsignalled | solicited,
        unsignalled | threshold,
        solicited | threshold,
        unsignalled | solicited | threshold,
    ];
    for flags in recv {
        invalid(&node, "recv_completion_flags", |it| it.recv_completion_flags = flags);
    }
    let contradictory = unsignalled | threshold;
    invalid(&node, "request_completion_flags", |it| it.request_completion_flags = contradictory);
    node.finish();
}

/// The flags that every single request can have (dat_ep_modify(3DAT)).
const OF_REQUESTS: [CompletionFlags; 3] =
    [CompletionFlags::SUPPRESS, CompletionFlags::BARRIER_FENCE, CompletionFlags::SOLICITED_WAIT];

fn completion_flags_of_single_requests_are_accepted_for_requests() {
    let node = Node::new();
    let all = OF_REQUESTS.into_iter().collect();
    for flags in OF_REQUESTS.into_iter().chain([all, all | CompletionFlags::UNSIGNALLED]) {
        let ep = node.ep_with(|it| it.request_completion_flags = flags);
        let found = attributes(&ep);
        assert_eq!(found.request_completion_flags, flags);
        ep.free().expect("unconnected");
    }
    node.finish();
}

fn completion_flags_of_single_requests_have_no_effect_on_an_endpoint() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::DTO);
    let made = |flags| {
        let wanted = node.attributes_with(|it| it.request_completion_flags = flags);
        node.ep_of(&node.spec().recv_evd(&evd).request_evd(&evd).attributes(&wanted))
    };
    let (near, far) = (node.buffer(8), node.buffer(8));
    let server = made(NONE);
    for flags in OF_REQUESTS {
        let client = made(flags);
        let server = if flags == OF_REQUESTS[0] { server.clone() } else { made(NONE) };
        link(&node, &client, &node, &server);
        let written = client.post_rdma_write(&[near.piece(0, 8)], 1, far.remote(0, 8), NONE);
        written.expect("connected");
        // The flags are not those of the post.
        expect_completion(&evd, &[&client, &server], 1, DtoStatus::Success);
    }
    assert!(!evd.query().expect("live").config_solicited);
}

fn completion_flags_of_single_requests_are_refused_for_receives() {
    let node = Node::new();
    for flags in [CompletionFlags::SUPPRESS, CompletionFlags::BARRIER_FENCE] {
        invalid(&node, "recv_completion_flags", |it| it.recv_completion_flags = flags);
    }
    node.finish();
}

/// Creates an endpoint with an invalid attribute, which the error must name.
#[track_caller]
fn invalid(node: &Node, name: &str, set: impl FnOnce(&mut EpAttributes)) {
    refused_naming(node.ia.ep_create(&node.spec_with(set)), Subtype::InvalidArg6, name);
}

fn every_documented_completion_mode_is_available() {
    let node = Node::new();
    for (recv, request) in [
        (CompletionFlags::empty(), CompletionFlags::empty()),
        (CompletionFlags::EVD_THRESHOLD, CompletionFlags::EVD_THRESHOLD),
        (CompletionFlags::UNSIGNALLED, CompletionFlags::UNSIGNALLED),
        (CompletionFlags::SOLICITED_WAIT, CompletionFlags::UNSIGNALLED),
        (CompletionFlags::SOLICITED_WAIT, CompletionFlags::EVD_THRESHOLD),
    ] {
        let ep = node.ep_with(|it| {
            it.recv_completion_flags = recv;
            it.request_completion_flags = request;
        });
        let found = attributes(&ep);
        assert_eq!(found.recv_completion_flags, recv);
        assert_eq!(found.request_completion_flags, request);
        ep.free().expect("unconnected");
    }
    node.finish();
}

fn rdma_reads_of_all_endpoints_are_limited_by_the_adapter() {
    let node = fault_provider::node(|attributes| {
        attributes.ia.max_rdma_read_per_ep_in = 6;
        attributes.ia.max_rdma_read_per_ep_out = 7;
        attributes.ia.max_rdma_read_in = 10;
        attributes.ia.max_rdma_read_out = 12;
    });
    let with = |reads_in, reads_out| {
        node.ia.ep_create(&node.spec_with(|it| {
            it.max_rdma_read_in = reads_in;
            it.max_rdma_read_out = reads_out;
        }))
    };
    #[track_caller]
    fn too_many<T: std::fmt::Debug>(made: Result<T>, name: &str) {
        refused_naming(made, Subtype::ResourceTep, name);
    }
    let first = with(6, 7).expect("all of one endpoint");
    too_many(with(5, 5), "max_rdma_read_in");
    too_many(with(4, 6), "max_rdma_read_out");
    let second = with(4, 5).expect("exactly the rest");
    too_many(with(1, 0), "max_rdma_read_in");
    too_many(with(0, 1), "max_rdma_read_out");
    let third = with(0, 0).expect("none");
    first.free().expect("unconnected");
    let fourth = with(6, 7).expect("what the first had");
    too_many(with(1, 0), "max_rdma_read_in");
    drop(second);
    let fifth = with(4, 5).expect("what the second had");
    node.finish_with(&[&third, &fourth, &fifth]);
}

/// Creates an endpoint with an attribute that the provider does not offer; the error must name it.
#[track_caller]
fn no_model(node: &Node, name: &str, set: impl FnOnce(&mut EpAttributes)) {
    refused_naming(node.ia.ep_create(&node.spec_with(set)), ReturnType::ModelNotSupported, name);
}

fn a_service_type_that_is_not_offered_is_not_supported() {
    let node = fault_provider::node(|it| it.provider.datagrams_supported = false);
    for service_type in [EpAttributes::SERVICE_DATAGRAM, 2, u32::MAX] {
        no_model(&node, "service_type", |it| it.service_type = service_type);
    }
    node.finish();
}

fn a_quality_of_service_that_is_not_offered_is_not_supported() {
    let node = fault_provider::node(|it| it.provider.qos_supported = Qos::LOW_LATENCY);
    for qos in [Qos::PREMIUM, Qos::LOW_LATENCY | Qos::ECONOMY] {
        no_model(&node, "qos", |it| it.qos = qos);
    }
    for qos in [Qos::BEST_EFFORT, Qos::LOW_LATENCY] {
        let ep = node.ep_with(|it| it.qos = qos);
        assert_eq!(attributes(&ep).qos, qos);
        ep.free().expect("unconnected");
    }
    node.finish();
}

fn a_mode_of_completion_that_is_not_offered_is_not_supported() {
    let node = fault_provider::node(|it| {
        it.provider.completion_flags_supported =
            CompletionFlags::SUPPRESS | CompletionFlags::EVD_THRESHOLD
    });
    for flags in [CompletionFlags::UNSIGNALLED, CompletionFlags::SOLICITED_WAIT] {
        no_model(&node, "recv_completion_flags", |it| it.recv_completion_flags = flags);
    }
    let unsignalled = CompletionFlags::UNSIGNALLED;
    no_model(&node, "request_completion_flags", |it| it.request_completion_flags = unsignalled);
    node.finish();
}

fn unknown_named_attributes_are_not_supported() {
    let node = Node::new();
    let unknown = vec![NamedAttr::new("colour", "blue")];
    no_model(&node, "colour", |it| it.transport_specific.clone_from(&unknown));
    no_model(&node, "colour", |it| it.provider_specific = unknown);
    node.finish();
}

/// Values that programs leave in attributes without meaning for the endpoint: `DAT_HW_DEFAULT`,
/// and uninitialized memory.
const LEFT: [u32; 4] = [u32::MAX, 2, 0x8000_0000, 0x5555_5555];

/// Checks that a create and a change ignore attributes that `set` sets to values of [`LEFT`];
/// `check` gets the attributes of the endpoint.
#[track_caller]
fn ignored(set: impl Fn(&mut EpAttributes, u32), check: impl Fn(&Node, EpAttributes)) {
    let node = Node::new();
    for left in LEFT {
        let wanted = node.attributes_with(|it| set(it, left));
        let (ep, found) = made(&node, &wanted);
        check(&node, found);
        ep.modify(&EpUpdate::new().attributes(&wanted)).expect("ignored");
        ep.free().expect("unconnected");
    }
    node.finish();
}

fn a_watermark_without_a_shared_queue_is_ignored() {
    ignored(|it, left| it.srq_soft_hw = left, |_, _| ());
}

fn a_watermark_that_is_not_set_is_accepted_with_a_shared_queue() {
    let node = Node::new();
    let srq = node.srq(1);
    for unset in [0, u32::MAX] {
        let wanted = node.attributes_with(|it| it.srq_soft_hw = unset);
        let ep = node.ep_of(&node.spec().srq(&srq).attributes(&wanted));
        assert_eq!(attributes(&ep).srq_soft_hw, unset);
        ep.free().expect("unconnected");
    }
    node.finish_with(&[&srq]);
}

fn segments_of_reads_are_ignored_without_reads() {
    let set =
        |it: &mut EpAttributes, left| (it.max_rdma_read_out, it.max_rdma_read_iov) = (0, left);
    ignored(set, |node, found| {
        assert!(found.max_rdma_read_iov <= node.ia.attributes().max_iov_segments_per_rdma_read);
    });
}

fn rdma_attributes_of_datagrams_are_ignored() {
    Node::new().need(|it| it.datagrams_supported, "datagrams");
    let set = |it: &mut EpAttributes, left: u32| {
        it.service_type = EpAttributes::SERVICE_DATAGRAM;
        it.max_rdma_size = left.into();
        it.max_rdma_read_in = left;
        it.max_rdma_read_out = left;
        it.max_rdma_read_iov = left;
        it.max_rdma_write_iov = left;
    };
    ignored(set, |_, found| {
        assert_eq!((found.max_rdma_read_in, found.max_rdma_read_out), (0, 0));
    });
}

fn with_a_shared_receive_queue_the_iov_of_receives_is_ignored() {
    let node = Node::with(SMALL);
    let srq = node.srq(4);
    let wanted = node.attributes_with(|it| it.max_recv_iov = MOST);
    let ep = node.ep_of(&node.spec().srq(&srq).attributes(&wanted));
    assert_eq!(ep.query().expect("a live endpoint").srq.as_ref(), Some(&srq));
    invalid(&node, "max_recv_iov", |it| it.max_recv_iov = MOST);
    node.finish_with(&[&ep, &srq]);
}

fn zones_of_endpoint_and_shared_queue_differ_only_where_the_provider_allows() {
    let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
    for allowed in [false, true] {
        let node = fault_provider::node(match allowed {
            false => |it| it.provider.srq_ep_pz_difference_supported = false,
            true => |it| it.provider.srq_ep_pz_difference_supported = true,
        });
        let other = node.ia.pz_create().expect("a zone");
        let srq = node.ia.srq_create(&other, attributes).expect("a queue");
        let made = node.ia.ep_create(&node.spec().srq(&srq));
        if allowed {
            made.expect("allowed").free().expect("unconnected");
        } else {
            refused(made, Subtype::InvalidArg2);
        }
        let same = EpSpec::new(&other).recv_evd(&node.recv).srq(&srq);
        node.ia.ep_create(&same).expect("one zone").free().expect("unconnected");
        node.finish_with(&[&srq, &other]);
    }
}

fn a_dispatcher_of_streams_that_cannot_be_merged_is_refused() {
    let ia = fault_provider::open("", |attributes| {
        // Rows and columns are those of the attribute: completions do not merge with connection events.
        attributes.provider.evd_stream_merging.0[2][3] = false;
        attributes.provider.evd_stream_merging.0[3][2] = false;
    });
    let merged = EvdFlags::DTO | EvdFlags::CONNECTION;
    refused(ia.evd_create(&EvdOptions::new(8, merged)), ReturnType::ModelNotSupported);
    for flags in [EvdFlags::DTO | EvdFlags::RMR_BIND, EvdFlags::CONNECTION | EvdFlags::SOFTWARE] {
        ia.evd_create(&EvdOptions::new(8, flags)).expect("these can be merged");
    }
}
