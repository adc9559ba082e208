//! Remote memory regions for one endpoint (DAT 2.0).

use super::invalidate::open;
use crate::prelude::*;

cases! {
    "DAT 2.0, dat_rmr_create_for_ep": the_region_is_accessible_only_over_the_endpoint_that_bound_it,
        a_new_bind_moves_the_region_to_another_endpoint, only_its_endpoint_can_invalidate_the_region,
        a_query_returns_the_scope, a_freed_zone_is_refused, the_region_keeps_its_zone_in_use,
        a_provider_without_support_refuses_the_create;
    "dat_rmr_create(3DAT)": a_region_of_a_zone_is_accessible_over_every_endpoint;
}

fn node() -> Node {
    let node = Node::new();
    if !node.ia.provider_attributes().rmr_scope_ep_supported {
        skip("the provider can't confine remote memory regions");
    }
    node
}

/// Reads from and writes to a context of the peer; returns the status of the last attempt.
fn touch(node: &Node, ep: &Ep, target: &Buffer, context: u32) -> DtoStatus {
    let local = node.buffer(8);
    let remote = RmrTriplet { context, ..target.remote(0, 8) };
    ep.post_rdma_read(&[local.piece(0, 8)], 6, remote, NONE).expect("connected");
    let done = expect_dto(&node.request, &[ep]);
    if done.status != DtoStatus::Success {
        return done.status;
    }
    ep.post_rdma_write(&[local.piece(0, 8)], 7, remote, NONE).expect("connected");
    expect_dto(&node.request, &[ep]).status
}

fn the_region_is_accessible_only_over_the_endpoint_that_bound_it() {
    let (node, client, server) = node().paired();
    let (stranger, _beside) = node.pair();
    let memory = node.buffer(8);
    let rmr = node.ia.rmr_create_for_ep(&node.pz).expect("a region");
    let context = open(&node, &server, &rmr, &memory);
    assert_eq!(touch(&node, &client, &memory, context), DtoStatus::Success);
    assert_eq!(touch(&node, &stranger, &memory, context), DtoStatus::RemoteAccess);
    expect_connection(&node.connect, &stranger, ConnectionEventKind::Broken);
    // Other connections are not affected.
    assert_eq!(touch(&node, &client, &memory, context), DtoStatus::Success);
}

fn a_new_bind_moves_the_region_to_another_endpoint() {
    let node = node();
    let ((first, first_server), (second, second_server)) = (node.pair(), node.pair());
    let memory = node.buffer(8);
    let rmr = node.ia.rmr_create_for_ep(&node.pz).expect("a region");
    let before = open(&node, &first_server, &rmr, &memory);
    assert_eq!(touch(&node, &first, &memory, before), DtoStatus::Success);
    let after = open(&node, &second_server, &rmr, &memory);
    assert_ne!(after, before);
    assert_eq!(touch(&node, &second, &memory, after), DtoStatus::Success);
    assert_eq!(touch(&node, &first, &memory, after), DtoStatus::RemoteAccess);
}

fn only_its_endpoint_can_invalidate_the_region() {
    let node = node();
    node.need(|it| it.invalidate_supported, "send with invalidate");
    let (client, server) = node.pair();
    let (stranger, beside) = node.pair();
    let memory = node.buffer(8);
    let rmr = node.ia.rmr_create_for_ep(&node.pz).expect("a region");
    let context = open(&node, &server, &rmr, &memory);
    beside.post_recv(&[], 1, NONE).expect("posted");
    stranger.post_send_with_invalidate(&[], 2, NONE, context).expect("seen there only");
    expect_completion(&node.request, &[&stranger], 2, DtoStatus::RemoteAccess);
    assert_eq!(expect_dto(&node.recv, &[&beside]).invalidated(), None);
    assert_eq!(touch(&node, &client, &memory, context), DtoStatus::Success);
    server.post_recv(&[], 3, NONE).expect("posted");
    client.post_send_with_invalidate(&[], 4, NONE, context).expect("connected");
    let got = expect_completion(&node.recv, &[&server], 3, DtoStatus::Success);
    assert_eq!(got.invalidated(), Some(context));
    assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
}

fn a_query_returns_the_scope() {
    let node = node();
    let confined = node.ia.rmr_create_for_ep(&node.pz).expect("a region");
    let open = node.ia.rmr_create(&node.pz).expect("a region");
    assert_eq!(confined.query().expect("live").scope, RmrScope::Ep);
    assert_eq!(open.query().expect("live").scope, RmrScope::Pz);
    let param = confined.query().expect("live");
    assert_eq!((&param.pz, param.lmr_triplet), (&node.pz, None));
    confined.free().expect("live");
    refused(confined.query(), Subtype::InvalidHandleRmr);
    node.finish_with(&[&open]);
}

fn a_freed_zone_is_refused() {
    let node = node();
    refused(node.ia.rmr_create_for_ep(&node.freed_pz()), Subtype::InvalidHandlePz);
    let other = Node::new();
    refused(node.ia.rmr_create_for_ep(&other.pz), Subtype::InvalidHandlePz);
}

fn the_region_keeps_its_zone_in_use() {
    let node = node();
    let rmr = node.ia.rmr_create_for_ep(&node.pz).expect("a region");
    fails_with(node.pz.free(), ReturnType::InvalidState);
    node.finish_with(&[&rmr]);
}

fn a_provider_without_support_refuses_the_create() {
    let node = Node::new();
    if node.ia.provider_attributes().rmr_scope_ep_supported {
        return;
    }
    refused(node.ia.rmr_create_for_ep(&node.pz), ReturnType::ModelNotSupported);
}

fn a_region_of_a_zone_is_accessible_over_every_endpoint() {
    let node = Node::new();
    let rmr = node.rmr();
    let (client, server) = node.pair();
    let (stranger, _beside) = node.pair();
    let memory = node.buffer(8);
    let context = open(&node, &server, &rmr, &memory);
    assert_eq!(touch(&node, &client, &memory, context), DtoStatus::Success);
    assert_eq!(touch(&node, &stranger, &memory, context), DtoStatus::Success);
}
