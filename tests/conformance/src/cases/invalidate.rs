//! Sends with invalidate, which invalidate a remote context of the peer (DAT 2.0).

use crate::prelude::*;

cases! {
    "DAT 2.0, dat_ep_post_send_with_invalidate":
        the_receive_names_the_invalidated_context,
        the_context_is_invalid_before_the_receive_completes,
        a_new_bind_gives_a_new_context,
        a_freed_region_has_no_context_to_invalidate,
        only_a_connected_endpoint_posts,
        a_disconnected_endpoint_flushes_the_send,
        a_provider_without_support_refuses_the_send,
        the_context_of_a_local_region_stays_valid;
    "DAT 2.0, dat_ep_post_send_with_invalidate; reading: only a bound context of the zone can be invalidated":
        invalidating_an_unknown_context_breaks_the_connection,
        invalidating_a_context_of_another_zone_breaks_the_connection,
        invalidating_a_context_twice_breaks_the_connection;
}

fn node() -> Node {
    let node = Node::new();
    node.need(|it| it.invalidate_supported, "send with invalidate");
    node.need(|it| it.rmr_supported, "remote memory regions");
    node
}

/// A remote region with the widest scope whose context a peer can invalidate.
pub(super) fn region(node: &Node, pz: &Pz) -> Rmr {
    let wide = node.ia.provider_attributes().invalidate_scope_pz_supported;
    let made = if wide { node.ia.rmr_create(pz) } else { node.ia.rmr_create_for_ep(pz) };
    made.expect("a region")
}

/// Binds a remote region to a whole buffer, for the peer of an endpoint.
pub(super) fn open(node: &Node, ep: &Ep, rmr: &Rmr, buffer: &Buffer) -> u32 {
    let bind = buffer.bind(Privileges::REMOTE_READ | Privileges::REMOTE_WRITE);
    let context = rmr.bind(ep, &bind).expect("connected");
    let done = expect_bind(&node.request, &[ep]);
    assert_eq!((done.cookie, done.status), (bind.cookie, DtoStatus::Success));
    context
}

/// Two connected endpoints and memory of the server that the client can invalidate.
struct Opened {
    node: Node,
    client: Ep,
    server: Ep,
    memory: Buffer,
    rmr: Rmr,
    context: u32,
}

/// Connects two endpoints and binds a remote region to memory of the server.
fn opened() -> Opened {
    let (node, client, server) = node().paired();
    let memory = node.buffer(16);
    let rmr = region(&node, &node.pz);
    let context = open(&node, &server, &rmr, &memory);
    Opened { node, client, server, memory, rmr, context }
}

/// Writes to a context of the peer and returns the status.
fn write(node: &Node, ep: &Ep, target: &Buffer, context: u32) -> DtoStatus {
    let source = node.buffer_of(b"data");
    let remote = RmrTriplet { context, ..target.remote(0, 4) };
    ep.post_rdma_write(&[source.piece(0, 4)], 6, remote, NONE).expect("connected");
    let done = expect_dto(&node.request, &[ep]);
    assert_eq!((done.cookie, done.operation), (6, Operation::RdmaWrite));
    done.status
}

/// Sends a message with invalidate for which the peer has a receive; it must succeed.
fn invalidate(node: &Node, client: &Ep, server: &Ep, context: u32) {
    let buffer = node.buffer(16);
    server.post_recv(&[buffer.piece(0, 8)], 31, NONE).expect("posted");
    let posted = client.post_send_with_invalidate(&[buffer.piece(8, 8)], 32, NONE, context);
    posted.expect("connected");
    let got = expect_completion(&node.recv, &[client, server], 31, DtoStatus::Success);
    assert_eq!(got.invalidated(), Some(context));
    expect_completion(&node.request, &[client, server], 32, DtoStatus::Success);
}

/// Sends with invalidate; the peer must refuse it, and both endpoints must be disconnected.
fn breaks(node: &Node, client: &Ep, server: &Ep, context: u32) {
    let buffer = node.buffer(8);
    server.post_recv(&[buffer.piece(0, 8)], 41, NONE).expect("posted");
    let posted = client.post_send_with_invalidate(&[buffer.piece(0, 8)], 42, NONE, context);
    posted.expect("only the other side can see it");
    expect_completion(&node.request, &[client, server], 42, DtoStatus::RemoteAccess);
    let got = expect_dto(&node.recv, &[client, server]);
    assert_eq!(got.cookie, 41);
    assert_ne!(got.status, DtoStatus::Success);
    assert_eq!(got.invalidated(), None, "nothing was made invalid");
    for ep in [client, server] {
        becomes(ep, EpState::Disconnected);
    }
}

fn the_receive_names_the_invalidated_context() {
    let Opened { node, client, server, memory: _memory, rmr: _rmr, context } = opened();
    let buffer = node.buffer(16);
    buffer.fill(0, b"no longer");
    server.post_recv(&[buffer.piece(9, 7)], 11, NONE).expect("posted");
    server.post_recv(&[buffer.piece(9, 7)], 12, NONE).expect("posted");
    let flags = CompletionFlags::SOLICITED_WAIT;
    let posted = client.post_send_with_invalidate(&[buffer.piece(0, 5)], 13, flags, context);
    posted.expect("connected");
    let got = expect_completion(&node.recv, &[&client, &server], 11, DtoStatus::Success);
    assert_eq!((got.ep, got.length), (server.id(), 5));
    assert_eq!(got.operation, Operation::ReceiveWithInvalidate);
    assert_eq!(got.invalidated(), Some(context));
    assert_eq!(got.immediate(), None);
    assert_eq!(buffer.bytes(9, 5), b"no lo");
    let sent = expect_completion(&node.request, &[&client, &server], 13, DtoStatus::Success);
    assert_eq!((sent.ep, sent.operation), (client.id(), Operation::Send));
    assert_eq!((sent.length, sent.invalidated()), (5, None));
    // The next receive invalidates nothing.
    client.post_send(&[buffer.piece(0, 2)], 14, NONE).expect("connected");
    let got = expect_dto(&node.recv, &[&client, &server]);
    assert_eq!((got.cookie, got.operation), (12, Operation::Receive));
    assert_eq!(got.invalidated(), None);
}

fn the_context_is_invalid_before_the_receive_completes() {
    let Opened { node, client, server, memory, rmr: _rmr, context } = opened();
    assert_eq!(write(&node, &client, &memory, context), DtoStatus::Success);
    invalidate(&node, &client, &server, context);
    memory.fill(0, b"mine");
    assert_eq!(write(&node, &client, &memory, context), DtoStatus::RemoteAccess);
    assert_eq!(memory.bytes(0, 4), b"mine");
    expect_connection(&node.connect, &client, ConnectionEventKind::Broken);
}

fn a_new_bind_gives_a_new_context() {
    let Opened { node, client, server, memory, rmr, context: first } = opened();
    invalidate(&node, &client, &server, first);
    let second = open(&node, &server, &rmr, &memory);
    assert_ne!(second, first);
    assert_eq!(write(&node, &client, &memory, second), DtoStatus::Success);
    assert_eq!(memory.bytes(0, 4), b"data");
    invalidate(&node, &client, &server, second);
    rmr.free().expect("live");
    memory.lmr.free().expect("nothing is bound to it");
}

fn a_freed_region_has_no_context_to_invalidate() {
    let Opened { node, client, server, memory: _memory, rmr, context } = opened();
    rmr.free().expect("live");
    breaks(&node, &client, &server, context);
}

fn only_a_connected_endpoint_posts() {
    let node = node();
    let ep = node.ep();
    refused(ep.post_send_with_invalidate(&[], 1, NONE, 1), Subtype::InvalidStateEpUnconnected);
    ep.free().expect("live");
    refused(ep.post_send_with_invalidate(&[], 1, NONE, 1), Subtype::InvalidHandleEp);
}

fn a_disconnected_endpoint_flushes_the_send() {
    let Opened { node, client, server, memory, rmr: _rmr, context } = opened();
    client.disconnect(Close::Abrupt).expect("connected");
    let ends = [&client, &server];
    expect_connections(&node.connect, &ends, ConnectionEventKind::Disconnected);
    client.post_send_with_invalidate(&[], 9, NONE, context).expect("posted and flushed");
    expect_completion(&node.request, &[&client, &server], 9, DtoStatus::Flushed);
    if !node.ia.provider_attributes().invalidate_scope_pz_supported {
        return;
    }
    // The send was flushed: another connection of the zone can still use the context.
    let (other, _peer) = node.pair();
    assert_eq!(write(&node, &other, &memory, context), DtoStatus::Success);
}

fn a_provider_without_support_refuses_the_send() {
    let node = Node::new();
    if node.ia.provider_attributes().invalidate_supported {
        return;
    }
    let (client, _server) = node.pair();
    refused(client.post_send_with_invalidate(&[], 1, NONE, 1), ReturnType::ModelNotSupported);
}

fn invalidating_an_unknown_context_breaks_the_connection() {
    for context in [0, 0x7fff_fff1, u32::MAX] {
        let (node, client, server) = node().paired();
        breaks(&node, &client, &server, context);
        expect_connection(&node.connect, &client, ConnectionEventKind::Broken);
    }
}

fn invalidating_a_context_of_another_zone_breaks_the_connection() {
    let (node, client, server) = node().paired();
    let other = node.ia.pz_create().expect("a zone");
    let (peer, theirs) = (node.ep(), node.ep());
    theirs.modify(&EpUpdate::new().pz(&other)).expect("unconnected");
    link(&node, &peer, &node, &theirs);
    let memory = Buffer::new(&node.ia, &other, 16);
    let rmr = region(&node, &other);
    let context = open(&node, &theirs, &rmr, &memory);
    breaks(&node, &client, &server, context);
    // In its own zone the context is still valid.
    assert_eq!(write(&node, &peer, &memory, context), DtoStatus::Success);
}

fn invalidating_a_context_twice_breaks_the_connection() {
    let Opened { node, client, server, memory: _memory, rmr: _rmr, context } = opened();
    invalidate(&node, &client, &server, context);
    breaks(&node, &client, &server, context);
}

fn the_context_of_a_local_region_stays_valid() {
    let (node, client, server) = node().paired();
    let (other, _peer) = node.pair();
    let memory = node.buffer(16);
    let context = memory.lmr.rmr_context();
    breaks(&node, &client, &server, context);
    assert_eq!(write(&node, &other, &memory, context), DtoStatus::Success);
}
