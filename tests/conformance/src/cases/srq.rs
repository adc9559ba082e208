//! Shared receive queues.

use crate::fault_provider;
use crate::prelude::*;

cases! {
    "dat_srq_create(3DAT)":
        a_new_queue_is_empty_and_has_at_least_the_requested_size,
        a_refused_create_takes_no_resources,
        a_provider_without_support_refuses_the_create;
    "dat_ep_create_with_srq(3DAT)":
        the_number_of_endpoints_of_a_queue_is_limited,
        receives_are_posted_to_the_queue_and_not_to_its_endpoints,
        solicited_receives_notify_if_the_sender_requests_it;
    "dat_srq_free(3DAT)":
        a_queue_in_use_is_not_freed_and_a_freed_one_is_refused;
    "dat_srq_post_recv(3DAT)":
        a_message_takes_a_buffer_and_completes_at_its_endpoint,
        long_messages_take_buffers_as_they_are_posted,
        a_message_without_a_buffer_waits_for_one,
        a_full_queue_refuses_receives_until_completions_are_dequeued,
        invalid_buffers_are_refused,
        an_empty_segment_needs_no_valid_region,
        buffers_belong_to_the_zone_of_the_queue_not_of_the_endpoint;
    "dat_srq_query(3DAT)":
        the_counts_follow_arrival_and_dequeue;
    "dat_ep_disconnect(3DAT)":
        a_disconnect_leaves_the_buffers_to_other_endpoints;
    "dat_srq_resize(3DAT)":
        a_resize_keeps_outstanding_receives;
    "dat_srq_set_lw(3DAT)":
        the_low_watermark_raises_one_event_per_setting;
}

/// The attributes of a queue for receives of two segments.
fn shape(max_recv_dtos: u32) -> SrqAttributes {
    SrqAttributes { max_recv_dtos, max_recv_iov: 2, low_watermark: 0 }
}

/// A queue of [`shape`].
#[track_caller]
fn queue(node: &Node, max_recv_dtos: u32) -> Srq {
    node.ia.srq_create(&node.pz, shape(max_recv_dtos)).expect("a queue")
}

/// A connected pair: a client, and a server that takes its receives from the queue.
#[track_caller]
fn pair(node: &Node, srq: &Srq) -> (Ep, Ep) {
    let server = node.ep_of(&node.spec().srq(srq));
    let client = node.ep();
    link(node, &client, node, &server);
    (client, server)
}

/// The numbers of available and of outstanding receives of a queue.
pub(super) fn counts(srq: &Srq) -> (u32, u32) {
    let param = srq.query().expect("live");
    (param.available_dto_count, param.outstanding_dto_count)
}

/// A node with a queue of [`shape`], and a connected [`pair`] that uses it.
#[track_caller]
fn with_queue(max_recv_dtos: u32) -> (Node, Srq, Ep, Ep) {
    let node = Node::new();
    let srq = queue(&node, max_recv_dtos);
    let (client, server) = pair(&node, &srq);
    (node, srq, client, server)
}

fn a_new_queue_is_empty_and_has_at_least_the_requested_size() {
    let node = Node::new();
    let srq = queue(&node, 10);
    let param = srq.query().expect("live");
    assert_eq!(param.pz, node.pz);
    assert!(param.attributes.max_recv_dtos >= 10 && param.attributes.max_recv_iov >= 2);
    assert_eq!(param.attributes.low_watermark, 0);
    assert_eq!((param.available_dto_count, param.outstanding_dto_count), (0, 0));
    node.finish_with(&[&srq]);
}

fn a_refused_create_takes_no_resources() {
    let node = Node::with("max_srqs=1,max_recv_per_srq=8,max_iov=2");
    let make = |attributes| node.ia.srq_create(&node.pz, attributes);
    for wrong in [
        shape(0),
        shape(9),
        SrqAttributes { max_recv_iov: 3, ..shape(8) },
        SrqAttributes { low_watermark: 9, ..shape(8) },
    ] {
        refused(make(wrong), Subtype::InvalidArg3);
    }
    let other = Node::new();
    refused(node.ia.srq_create(&other.pz, shape(8)), Subtype::InvalidHandlePz);
    let srq = make(shape(8)).expect("the limits themselves");
    refused(make(shape(1)), Subtype::ResourceSrq);
    srq.free().expect("unused");
    make(shape(1)).expect("within the limit again").free().expect("unused");
    finish_all([node, other]);
}

fn a_provider_without_support_refuses_the_create() {
    let node = fault_provider::node(|it| it.provider.srq_supported = false);
    refused(node.ia.srq_create(&node.pz, shape(4)), ReturnType::ModelNotSupported);
    let node = fault_provider::node(|it| it.provider.srq_watermarks_supported = false);
    let wanted = SrqAttributes { low_watermark: 1, ..shape(4) };
    refused(node.ia.srq_create(&node.pz, wanted), ReturnType::ModelNotSupported);
    let srq = queue(&node, 4);
    refused(srq.set_low_watermark(1), ReturnType::ModelNotSupported);
}

fn the_number_of_endpoints_of_a_queue_is_limited() {
    let node = fault_provider::node(|it| it.ia.max_ep_per_srq = 2);
    let srq = queue(&node, 4);
    let make = || node.ia.ep_create(&node.spec().srq(&srq));
    let (first, second) = (make().expect("within the limit"), make().expect("within the limit"));
    fails_with(make(), ReturnType::InsufficientResources);
    first.free().expect("unconnected");
    let third = make().expect("within the limit again");
    node.finish_with(&[&second, &third, &srq]);
}

fn a_queue_in_use_is_not_freed_and_a_freed_one_is_refused() {
    let node = Node::new();
    let srq = queue(&node, 4);
    let ep = node.ep_of(&node.spec().srq(&srq));
    refused(srq.free(), Subtype::InvalidStateSrqInUse);
    srq.query().expect("nothing has changed");
    srq.post_recv(&[], 1).expect("nothing has changed");
    ep.free().expect("unconnected");
    srq.clone().free().expect("unused");
    refused(srq.free(), Subtype::InvalidHandleSrq);
    refused(srq.query(), Subtype::InvalidHandleSrq);
    refused(srq.post_recv(&[], 1), Subtype::InvalidHandleSrq);
    refused(srq.resize(9), Subtype::InvalidHandleSrq);
    refused(srq.set_low_watermark(1), Subtype::InvalidHandleSrq);
    node.finish();
}

fn receives_are_posted_to_the_queue_and_not_to_its_endpoints() {
    let node = Node::new();
    let srq = queue(&node, 4);
    let ep = node.ep_of(&node.spec().srq(&srq));
    fails_with(ep.post_recv(&[], 1, NONE), ReturnType::InvalidState);
}

fn a_message_takes_a_buffer_and_completes_at_its_endpoint() {
    let node = Node::new();
    let srq = queue(&node, 10);
    let target = node.buffer(64);
    let (first, first_server) = pair(&node, &srq);
    let (second, second_server) = pair(&node, &srq);
    for cookie in 0..3 {
        let pieces = [target.piece(16 * cookie, 4), target.piece(16 * cookie + 8, 4)];
        srq.post_recv(&pieces, cookie as u64).expect("within the limit");
    }
    assert_eq!(counts(&srq), (3, 3));
    let source = node.buffer_of(b"message!");
    let mut taken = Vec::new();
    for (client, server) in [(&second, &second_server), (&first, &first_server)] {
        client.post_send(&[source.piece(0, 8)], 0, NONE).expect("connected");
        let completion = expect_dto(&node.recv, &[client, server]);
        assert_eq!((completion.ep, completion.status), (server.id(), DtoStatus::Success));
        assert_eq!(completion.length, 8);
        let at = 16 * completion.cookie as usize;
        assert_eq!(target.bytes(at, 4), b"mess");
        assert_eq!(target.bytes(at + 8, 4), b"age!");
        taken.push(completion.cookie);
    }
    taken.dedup();
    assert_eq!(taken.len(), 2, "each message took its own buffer");
    assert_eq!(counts(&srq), (1, 1));
}

fn long_messages_take_buffers_as_they_are_posted() {
    let node = Node::new();
    let most = node.ia.attributes().max_message_size;
    let length = usize::try_from(most).map_or(300_000, |most| most.min(300_000));
    let srq = queue(&node, 10);
    let (source, target) = (node.buffer(2 * length), node.buffer(2 * length));
    let (client, server) = pair(&node, &srq);
    for message in 0..2 {
        let at = message * length;
        let pieces = [target.piece(at, 5), target.piece(at + 5, length - 5)];
        srq.post_recv(&pieces, message as u64).expect("within the limit");
    }
    for message in 0..2 {
        let at = message * length;
        source.fill(at, &vec![message as u8 + 1; length]);
        let whole = source.piece(at, length);
        client.post_send(&[whole], message as u64, NONE).expect("connected");
    }
    for message in 0..2 {
        let done = expect_dto(&node.recv, &[&client, &server]);
        assert_eq!((done.status, done.length), (DtoStatus::Success, length as u64));
        assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
        let at = done.cookie as usize * length;
        assert!(target.bytes(at, length).iter().all(|byte| *byte == message as u8 + 1));
    }
}

fn the_counts_follow_arrival_and_dequeue() {
    let (node, srq, client, server) = with_queue(10);
    post_shared(&srq, 0..3);
    assert_eq!(counts(&srq), (3, 3));
    client.post_send(&[], 0, NONE).expect("connected");
    expect_dto(&node.request, &[&client]);
    assert_eq!(counts(&srq), (2, 3), "arrived, not dequeued");
    expect_dto(&node.recv, &[&server]);
    assert_eq!(counts(&srq), (2, 2), "dequeued");
    assert_eq!(srq.query().expect("live").attributes.max_recv_dtos, 10);
}

fn a_message_without_a_buffer_waits_for_one() {
    let (node, srq, client, server) = with_queue(4);
    let target = node.buffer(8);
    let source = node.buffer_of(b"patience");
    client.post_send(&[source.piece(0, 8)], 1, NONE).expect("connected");
    expect_no_event(&node.recv);
    assert!(!client.status().expect("live").request_idle);
    srq.post_recv(&[target.piece(0, 8)], 2).expect("within the limit");
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).cookie, 2);
    assert_eq!(target.bytes(0, 8), b"patience");
}

fn a_disconnect_leaves_the_buffers_to_other_endpoints() {
    let node = Node::new();
    let srq = queue(&node, 4);
    let (first, first_server) = pair(&node, &srq);
    let (second, second_server) = pair(&node, &srq);
    post_shared(&srq, 0..2);
    first.disconnect(Close::Abrupt).expect("connected");
    becomes(&first_server, EpState::Disconnected);
    expect_no_event(&node.recv);
    assert_eq!(srq.query().expect("live").available_dto_count, 2);
    second.post_send(&[], 0, NONE).expect("connected");
    assert_eq!(expect_dto(&node.recv, &[&second_server]).ep, second_server.id());
    first_server.reset().expect("disconnected");
    let param = first_server.query().expect("live");
    assert_eq!(param.srq.as_ref(), Some(&srq), "a reset does not part them");
}

fn a_full_queue_refuses_receives_until_completions_are_dequeued() {
    let (node, srq, client, server) = with_queue(2);
    post_shared(&srq, [1, 2]);
    refused(srq.post_recv(&[], 3), Subtype::ResourceCredits);
    client.post_send(&[], 0, NONE).expect("connected");
    refused(srq.post_recv(&[], 3), Subtype::ResourceCredits);
    assert_eq!(expect_dto(&node.recv, &[&server]).cookie, 1);
    srq.post_recv(&[], 3).expect("within the limit again");
}

fn an_empty_segment_needs_no_valid_region() {
    let (node, srq, client, server) = with_queue(2);
    let memory = node.buffer(32);
    memory.fill(0, b"message!");
    let empty = LmrTriplet { length: 0, address: 1, context: 0xdead_beef };
    srq.post_recv(&[empty, memory.piece(16, 8)], 1).expect("within the limit");
    client.post_send(&[memory.piece(0, 8)], 2, NONE).expect("connected");
    let received = expect_dto(&node.recv, &[&client, &server]);
    assert_eq!((received.status, received.length), (DtoStatus::Success, 8));
    assert_eq!(memory.bytes(16, 8), b"message!");
}

fn invalid_buffers_are_refused() {
    let node = Node::new();
    let srq = queue(&node, 4);
    let buffer = node.buffer(16);
    let piece = buffer.piece(0, 8);
    refused(srq.post_recv(&[piece; 3], 1), Subtype::InvalidArg2);
    let outside = LmrTriplet { length: 17, ..piece };
    refused(srq.post_recv(&[outside], 1), Subtype::InvalidArg3);
    let (_other, elsewhere) = node.elsewhere(8);
    refused(srq.post_recv(&[elsewhere.piece(0, 8)], 1), Subtype::ProtectionWrite);
    let read = node.buffer_with(8, Privileges::LOCAL_READ);
    refused(srq.post_recv(&[read.piece(0, 8)], 1), Subtype::PrivilegesWrite);
    buffer.lmr.free().expect("unused");
    refused(srq.post_recv(&[piece], 1), Subtype::ProtectionWrite);
    assert_eq!(srq.query().expect("live").outstanding_dto_count, 0);
}

fn buffers_belong_to_the_zone_of_the_queue_not_of_the_endpoint() {
    let node = Node::new();
    if !node.ia.provider_attributes().srq_ep_pz_difference_supported {
        skip("the provider needs the zone of the endpoint");
    }
    let other = node.ia.pz_create().expect("made");
    let srq = node.ia.srq_create(&other, shape(4)).expect("a queue");
    let (client, server) = pair(&node, &srq);
    let (target, source) = (Buffer::new(&node.ia, &other, 8), node.buffer(8));
    source.fill(0, b"message!");
    srq.post_recv(&[target.piece(0, 8)], 1).expect("of the queue's zone");
    client.post_send(&[source.piece(0, 8)], 2, NONE).expect("of the endpoint's zone");
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(target.bytes(0, 8), b"message!");
    refused(srq.post_recv(&[source.piece(0, 8)], 3), Subtype::ProtectionWrite);
}

fn a_resize_keeps_outstanding_receives() {
    let node = Node::with("max_recv_per_srq=8");
    let srq = queue(&node, 4);
    let (client, server) = pair(&node, &srq);
    post_shared(&srq, 0..3);
    client.post_send(&[], 0, NONE).expect("connected");
    for wrong in [0, 9] {
        refused(srq.resize(wrong), Subtype::InvalidArg2);
    }
    // One receive is completed but not dequeued: it still counts as outstanding.
    refused(srq.resize(2), Subtype::InvalidStateSrqInUse);
    assert_eq!(srq.query().expect("live").attributes.max_recv_dtos, 4);
    srq.resize(3).expect("exactly what is outstanding");
    srq.resize(8).expect("the adapter's maximum");
    post_shared(&srq, 3..8);
    post_sends(&client, [0; 7]);
    let mut cookies: Vec<u64> =
        (0..8).map(|_| expect_dto(&node.recv, &[&client, &server]).cookie).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, (0..8).collect::<Vec<_>>());
    srq.set_low_watermark(5).expect("within the length");
    drain(&node.ia.async_evd().expect("made"));
    refused(srq.resize(4), Subtype::InvalidStateSrqInUse);
    srq.resize(5).expect("not below the watermark");
}

fn the_low_watermark_raises_one_event_per_setting() {
    let node = Node::new();
    let asynchronous = node.ia.async_evd().expect("made by the open");
    let srq = queue(&node, 4);
    let (client, server) = pair(&node, &srq);
    post_shared(&srq, 0..4);
    refused(srq.set_low_watermark(5), Subtype::InvalidArg2);
    srq.set_low_watermark(3).expect("within the length");
    assert_eq!(srq.query().expect("live").attributes.low_watermark, 3);
    let send = || {
        client.post_send(&[], 0, NONE).expect("connected");
        expect_dto(&node.recv, &[&client, &server]);
    };
    send();
    expect_no_event(&asynchronous);
    send();
    expect_async(&asynchronous, AsyncErrorKind::SrqLowWatermark, srq.id());
    send();
    expect_no_event(&asynchronous);
    // If the watermark is set above the count, the event is raised at once.
    srq.set_low_watermark(2).expect("within the length");
    expect_async(&asynchronous, AsyncErrorKind::SrqLowWatermark, srq.id());
    expect_no_event(&asynchronous);
}

fn solicited_receives_notify_if_the_sender_requests_it() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::DTO);
    let cno = node.ia.cno_create(None).expect("made");
    evd.modify_cno(Some(&cno)).expect("live");
    let srq = queue(&node, 4);
    let spec = node.spec_with(|it| it.recv_completion_flags = CompletionFlags::SOLICITED_WAIT);
    let server = node.ep_of(&spec.recv_evd(&evd).srq(&srq));
    let client = node.ep();
    link(&node, &client, &node, &server);
    post_shared(&srq, 0..2);
    client.post_send(&[], 0, NONE).expect("connected");
    refused(cno.wait(Timeout::ZERO), ReturnType::QueueEmpty);
    client.post_send(&[], 0, CompletionFlags::SOLICITED_WAIT).expect("connected");
    assert_eq!(cno.wait(LIMIT.into()), Ok(Some(evd.clone())));
    assert_eq!(drain(&evd).len(), 2);
}
