//! RDMA reads to a remote context of the reader (DAT 2.0).

use crate::prelude::*;

cases! {
    "DAT 2.0, dat_ep_post_rdma_read_to_rmr":
        a_bound_region_is_a_target,
        a_target_that_is_too_short_is_refused,
        flags_that_reads_do_not_have_are_refused,
        an_endpoint_without_rdma_reads_refuses_them,
        only_a_connected_endpoint_posts,
        a_source_without_remote_read_breaks_the_connection;
    "DAT 2.0, dat_ep_post_rdma_read_to_rmr; reading: a bad target context fails the read":
        a_target_without_remote_write_breaks_the_connection,
        a_target_outside_its_region_breaks_the_connection,
        an_unknown_target_context_breaks_the_connection;
}

fn node() -> Node {
    let node = Node::new();
    node.need(|it| it.read_to_rmr_supported, "RDMA read to a remote context");
    node
}

/// Posts a read that must fail with a status and break the connection.
fn breaks(node: &Node, client: &Ep, to: RmrTriplet, from: RmrTriplet, status: DtoStatus) {
    client.post_rdma_read_to_rmr(to, 71, from, NONE).expect("seen later");
    let done = expect_completion(&node.request, &[client], 71, status);
    assert_eq!(done.operation, Operation::RdmaRead);
    expect_connection(&node.connect, client, ConnectionEventKind::Broken);
}

fn a_bound_region_is_a_target() {
    let node = node();
    let rmr = node.rmr();
    let (client, server) = node.pair();
    let (source, target) = (node.buffer_of(b"through the window of the reader"), node.buffer(32));
    let bind = Bind { triplet: target.piece(8, 16), ..target.bind(Privileges::REMOTE_WRITE) };
    let context = rmr.bind(&client, &bind).expect("connected");
    assert_eq!(expect_bind(&node.request, &[&client]).status, DtoStatus::Success);
    let to = RmrTriplet { context, ..target.remote(8, 16) };
    client.post_rdma_read_to_rmr(to, 2, source.remote(0, 12), NONE).expect("connected");
    let done = expect_dto(&node.request, &[&client, &server]);
    assert_eq!((done.cookie, done.status, done.length), (2, DtoStatus::Success, 12));
    assert_eq!(target.bytes(0, 24), b"\0\0\0\0\0\0\0\0through the \0\0\0\0");
}

fn a_target_that_is_too_short_is_refused() {
    let (node, client, _server) = node().paired();
    let (source, target) = (node.buffer(32), node.buffer(32));
    let (to, from) = (target.remote(0, 15), source.remote(0, 16));
    refused(client.post_rdma_read_to_rmr(to, 1, from, NONE), ReturnType::LengthError);
    let posted = client.post_rdma_read_to_rmr(target.remote(0, 16), 2, from, NONE);
    posted.expect("just as long");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 2);
}

fn flags_that_reads_do_not_have_are_refused() {
    let (node, client, _server) = node().paired();
    let (source, target) = (node.buffer(8), node.buffer(8));
    for flags in [CompletionFlags::SOLICITED_WAIT, CompletionFlags::UNSIGNALLED] {
        let (to, from) = (target.remote(0, 8), source.remote(0, 8));
        refused(client.post_rdma_read_to_rmr(to, 1, from, flags), Subtype::InvalidArg5);
    }
    let flags = CompletionFlags::SUPPRESS | CompletionFlags::BARRIER_FENCE;
    let posted = client.post_rdma_read_to_rmr(target.remote(0, 8), 2, source.remote(0, 8), flags);
    posted.expect("flags of a read");
}

fn an_endpoint_without_rdma_reads_refuses_them() {
    let node = node();
    let client = node.ep_with(|it| it.max_rdma_read_out = 0);
    let _server = node.linked_to(&client);
    let (source, target) = (node.buffer(8), node.buffer(8));
    let (to, from) = (target.remote(0, 8), source.remote(0, 8));
    fails_with(client.post_rdma_read_to_rmr(to, 1, from, NONE), ReturnType::InvalidParameter);
}

fn only_a_connected_endpoint_posts() {
    let node = node();
    let ep = node.ep();
    let (source, target) = (node.buffer(8), node.buffer(8));
    let posted = ep.post_rdma_read_to_rmr(target.remote(0, 8), 1, source.remote(0, 8), NONE);
    refused(posted, Subtype::InvalidStateEpUnconnected);
}

fn a_source_without_remote_read_breaks_the_connection() {
    let node = node();
    let target = node.buffer(32);
    let (client, _server) = node.pair();
    let source = node.buffer_with(32, Privileges::LOCAL_READ | Privileges::REMOTE_WRITE);
    breaks(&node, &client, target.remote(0, 8), source.remote(0, 8), DtoStatus::RemoteAccess);
    assert_eq!(target.bytes(0, 8), [0; 8]);
}

fn a_target_without_remote_write_breaks_the_connection() {
    let (node, client, _server) = node().paired();
    let privileges = Privileges::LOCAL_WRITE | Privileges::REMOTE_READ;
    let (source, target) = (node.buffer(8), node.buffer_with(32, privileges));
    source.fill(0, b"unwanted");
    let (to, from) = (target.remote(0, 8), source.remote(0, 8));
    breaks(&node, &client, to, from, DtoStatus::LocalProtection);
    assert_eq!(target.bytes(0, 8), [0; 8]);
}

fn a_target_outside_its_region_breaks_the_connection() {
    let (node, client, _server) = node().paired();
    let (source, target) = (node.buffer(8), node.buffer(8));
    let to = RmrTriplet { length: 16, ..target.remote(4, 4) };
    breaks(&node, &client, to, source.remote(0, 8), DtoStatus::LocalProtection);
    assert_eq!(target.bytes(0, 8), [0; 8]);
}

fn an_unknown_target_context_breaks_the_connection() {
    let (node, client, _server) = node().paired();
    let (source, target) = (node.buffer(8), node.buffer(8));
    let to = RmrTriplet { context: 0x7fff_fff1, ..target.remote(0, 8) };
    breaks(&node, &client, to, source.remote(0, 8), DtoStatus::LocalProtection);
}
