//! Transfers: lengths, segments, and the number that is outstanding.

use super::bounds::{affordable, modest, out_of_bounds, small};
use crate::prelude::*;

/// A pair whose active side has attributes; the passive side has those of the adapter.
fn pair_with(node: &Node, attributes: &EpAttributes) -> (Ep, Ep) {
    let client = node.ep_of(&node.spec().attributes(attributes));
    let server = node.ep();
    link(node, &client, node, &server);
    (client, server)
}

/// Two buffers that are one byte longer than a transfer, and the bytes that the first one has.
fn buffers(node: &Node, len: usize) -> (Buffer, Buffer, Vec<u8>) {
    let (from, to) = (node.buffer(len + 1), node.buffer(len + 1));
    let bytes = pattern(len);
    from.fill(0, &bytes);
    (from, to, bytes)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

pub(super) fn messages_reach_the_limit() {
    let node = small();
    let bound = node.ia.attributes().max_message_size;
    let len = affordable(bound.saturating_mul(2), "two messages") / 2;
    let attributes = EpAttributes { max_message_size: bound, ..modest(&node) };
    let (client, server) = pair_with(&node, &attributes);
    let (from, to, bytes) = buffers(&node, len);
    server.post_recv(&[to.piece(0, len)], 1, NONE).expect("any state");
    let long = client.post_send(&[from.piece(0, len + 1)], 2, NONE);
    out_of_bounds(long, &[&(len + 1), &bound]);
    client.post_send(&[from.piece(0, len)], 3, NONE).expect("as long as a message can be");
    expect_completion(&node.request, &[&client], 3, DtoStatus::Success);
    let done = expect_dto(&node.recv, &[&server]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, bound));
    assert!(to.bytes(0, len) == bytes, "the message arrives whole");
    assert_eq!(state(&client), EpState::Connected, "the refused one did no harm");
}

pub(super) fn messages_are_limited_by_the_endpoint() {
    let node = small();
    let srq = node.srq(1);
    let attributes = EpAttributes { max_message_size: 10, max_rdma_size: 20, ..modest(&node) };
    // Only endpoints with a shared queue have bounds below the adapter's.
    let client = node.ep_of(&node.spec().srq(&srq).attributes(&attributes));
    let server = node.linked_to(&client);
    let (from, to) = (node.buffer(32), node.buffer(32));
    for cookie in 1..=2 {
        server.post_recv(&[to.piece(0, 32)], cookie, NONE).expect("any state");
    }
    out_of_bounds(client.post_send(&[from.piece(0, 11)], 1, NONE), &[&11, &10]);
    let halves = |second| [from.piece(0, 5), from.piece(5, second)];
    let most = client.query().expect("live").attributes.max_request_iov;
    if most > 1 {
        out_of_bounds(client.post_send(&halves(6), 1, NONE), &[&11, &10]);
    }
    for len in [10, 0] {
        client.post_send(&[from.piece(0, len)], 2, NONE).expect("within the bound");
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
        let done = expect_dto(&node.recv, &[&server]);
        assert_eq!((done.status, done.length), (DtoStatus::Success, len as u64));
    }
    let remote = to.remote(0, 32);
    out_of_bounds(client.post_rdma_write(&[from.piece(0, 21)], 1, remote, NONE), &[&21, &20]);
    client.post_rdma_write(&[from.piece(0, 20)], 2, remote, NONE).expect("within the bound");
    assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
}

pub(super) fn writes_reach_the_limit() {
    let node = small();
    let bound = node.ia.attributes().max_rdma_size;
    let len = affordable(bound.saturating_mul(2), "two transfers") / 2;
    let attributes = EpAttributes { max_rdma_size: bound, ..modest(&node) };
    let (client, _server) = pair_with(&node, &attributes);
    let (from, to, bytes) = buffers(&node, len);
    let long = client.post_rdma_write(&[from.piece(0, len + 1)], 1, to.remote(0, len + 1), NONE);
    out_of_bounds(long, &[&(len + 1), &bound]);
    client.post_rdma_write(&[from.piece(0, len)], 2, to.remote(0, len), NONE).expect("allowed");
    expect_completion(&node.request, &[&client], 2, DtoStatus::Success);
    assert!(to.bytes(0, len) == bytes, "the transfer is whole");
    assert_eq!(to.bytes(len, 1), [0], "and no longer");
}

pub(super) fn reads_reach_the_limit() {
    let node = small();
    need_reads(&node);
    let bound = node.ia.attributes().max_rdma_size;
    let len = affordable(bound.saturating_mul(2), "two transfers") / 2;
    let attributes = EpAttributes { max_rdma_size: bound, max_rdma_read_out: 1, ..modest(&node) };
    let (client, _server) = pair_with(&node, &attributes);
    let (from, to, bytes) = buffers(&node, len);
    let long = client.post_rdma_read(&[to.piece(0, len + 1)], 1, from.remote(0, len + 1), NONE);
    assert_eq!(long.as_ref().expect_err("too long").subtype(), Subtype::InvalidArg5);
    out_of_bounds(long, &[&(len + 1), &bound]);
    let short = client.post_rdma_read(&[to.piece(0, len - 1)], 1, from.remote(0, len), NONE);
    refused(short, ReturnType::LengthError);
    client.post_rdma_read(&[to.piece(0, len)], 2, from.remote(0, len), NONE).expect("allowed");
    expect_completion(&node.request, &[&client], 2, DtoStatus::Success);
    assert!(to.bytes(0, len) == bytes, "the transfer is whole");
}

fn need_reads(node: &Node) {
    let ia = node.ia.attributes();
    if ia.max_rdma_read_per_ep_in == 0 || ia.max_rdma_read_per_ep_out == 0 {
        skip("the adapter has no RDMA reads");
    }
}

/// Posting more RDMA reads than can be in flight is not an error: they queue up.
pub(super) fn more_reads_than_can_be_in_flight_are_queued() {
    let node = small();
    need_reads(&node);
    let ia = node.ia.attributes();
    let reads = ia.max_rdma_read_per_ep_in.min(ia.max_rdma_read_per_ep_out);
    let posts = (reads + 2).min(ia.max_dto_per_ep);
    let attributes =
        EpAttributes { max_rdma_read_out: reads, max_request_dtos: posts, ..modest(&node) };
    let client = node.ep_of(&node.spec().attributes(&attributes));
    let attributes =
        EpAttributes { max_rdma_read_in: reads, max_rdma_read_out: 0, ..modest(&node) };
    let server = node.ep_of(&node.spec().attributes(&attributes));
    link(&node, &client, &node, &server);
    let (from, to) = (node.buffer(8), node.buffer(8));
    for cookie in 0..posts {
        let posted =
            client.post_rdma_read(&[to.piece(0, 8)], cookie.into(), from.remote(0, 8), NONE);
        posted.expect("within the queue");
    }
    for cookie in 0..posts {
        expect_completion(&node.request, &[&client], cookie.into(), DtoStatus::Success);
    }
    let none = server.post_rdma_read(&[to.piece(0, 8)], 1, from.remote(0, 8), NONE);
    out_of_bounds(none, &[&"max_rdma_read_out", &0]);
}

pub(super) fn receives_reach_the_limit() {
    let node = small();
    for wanted in [1, node.ia.attributes().max_dto_per_ep] {
        let attributes = EpAttributes { max_recv_dtos: wanted, ..modest(&node) };
        let ep = node.ep_of(&node.spec().attributes(&attributes));
        let limit = ep.query().expect("live").attributes.max_recv_dtos;
        assert!(limit >= wanted);
        post_receives(&ep, 0..limit.into());
        fails_with(ep.post_recv(&[], 0, NONE), ReturnType::InsufficientResources);
        assert_eq!(ep.recv_query().map(|buffers| buffers.allocated), Ok(limit));
        ep.free().expect("unconnected");
    }
}

pub(super) fn requests_reach_the_limit() {
    for at_the_bound in [false, true] {
        let node = small();
        let wanted = if at_the_bound { node.ia.attributes().max_dto_per_ep } else { 1 };
        let attributes = EpAttributes { max_request_dtos: wanted, ..modest(&node) };
        let evd = node.ia.evd_create(&EvdOptions::new(wanted + 1, EvdFlags::COMPLETIONS));
        let evd = evd.expect("a dispatcher");
        let client = node.ep_of(&node.spec().request_evd(&evd).attributes(&attributes));
        let _server = node.linked_to(&client);
        let limit = client.query().expect("live").attributes.max_request_dtos;
        assert!(limit >= wanted);
        // No receive is posted for them.
        post_sends(&client, 0..limit.into());
        fails_with(client.post_send(&[], 0, NONE), ReturnType::InsufficientResources);
        client.disconnect(Close::Abrupt).expect("connected");
        for cookie in 0..limit {
            expect_completion(&evd, &[&client], cookie.into(), DtoStatus::Flushed);
        }
        expect_no_event(&evd);
    }
}

pub(super) fn segments_reach_the_limit() {
    let node = small();
    let ia = node.ia.attributes();
    let dto = ia.max_iov_segments_per_dto as usize;
    let writes = ia.max_iov_segments_per_rdma_write as usize;
    let reads = ia.max_iov_segments_per_rdma_read as usize;
    let has_reads = ia.max_rdma_read_per_ep_out > 0 && ia.max_rdma_read_per_ep_in > 0;
    let attributes = EpAttributes {
        max_recv_iov: dto as u32,
        max_request_iov: dto as u32,
        max_rdma_write_iov: writes as u32,
        max_rdma_read_iov: reads as u32,
        max_rdma_read_in: u32::from(has_reads),
        max_rdma_read_out: u32::from(has_reads),
        ..modest(&node)
    };
    let [client, server] = [(); 2].map(|()| node.ep_of(&node.spec().attributes(&attributes)));
    link(&node, &client, &node, &server);
    let limit = client.query().expect("live").attributes;
    let longest = dto.max(writes).max(reads);
    let (from, to, bytes) = buffers(&node, longest);
    // Single bytes, so that one in the wrong place shows.
    let iov = |count: usize| (0..count).map(|at| from.piece(at, 1)).collect::<Vec<_>>();
    let into = |count: usize| (0..count).map(|at| to.piece(at, 1)).collect::<Vec<_>>();
    let many = limit.max_recv_iov as usize + 1;
    if many <= dto {
        out_of_bounds(server.post_recv(&into(many), 1, NONE), &[&many, &(many - 1)]);
    } else {
        out_of_bounds(server.post_recv(&into(dto + 1), 1, NONE), &[&(dto + 1), &dto]);
    }
    server.post_recv(&into(dto), 2, NONE).expect("as many as allowed");
    out_of_bounds(client.post_send(&iov(dto + 1), 3, NONE), &[&(dto + 1), &dto]);
    client.post_send(&iov(dto), 4, NONE).expect("as many as allowed");
    let done = expect_dto(&node.recv, &[&server]);
    assert_eq!((done.cookie, done.status, done.length), (2, DtoStatus::Success, dto as u64));
    assert_eq!(to.bytes(0, dto), bytes[..dto]);
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 4);
    let remote = to.remote(0, longest + 1);
    let posted = client.post_rdma_write(&iov(writes + 1), 5, remote, NONE);
    out_of_bounds(posted, &[&(writes + 1), &writes]);
    to.fill(0, &vec![0; longest]);
    client.post_rdma_write(&iov(writes), 6, remote, NONE).expect("as many as allowed");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 6);
    assert_eq!(to.bytes(0, writes), bytes[..writes]);
    if has_reads {
        let posted = client.post_rdma_read(&into(reads + 1), 7, from.remote(0, reads), NONE);
        out_of_bounds(posted, &[&(reads + 1), &reads]);
        to.fill(0, &vec![0; longest]);
        let posted = client.post_rdma_read(&into(reads), 8, from.remote(0, reads), NONE);
        posted.expect("as many as allowed");
        assert_eq!(expect_dto(&node.request, &[&client]).cookie, 8);
        assert_eq!(to.bytes(0, reads), bytes[..reads]);
    }
    assert_eq!(state(&client), EpState::Connected);
}
