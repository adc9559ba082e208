//! Data transfer operations and binds.

use super::scene::Scene;
use super::table;
use super::trial::{Outcome, subtype, try_everywhere};
use crate::cases::invalidate::region;
use crate::prelude::*;

const COOKIE: u64 = 0x00c0_0c1e;

pub(super) fn post_recv() {
    let call = |scene: &Scene| scene.ep().post_recv(&[scene.buffer.piece(0, 32)], COOKIE, NONE);
    try_everywhere(table::RECEIVE, call, |scene, _, outcome| {
        if outcome == Outcome::Flushed {
            let done =
                expect_completion(&scene.node.recv, &[scene.ep()], COOKIE, DtoStatus::Flushed);
            assert_eq!(done.operation, Operation::Receive);
        } else {
            assert!(!scene.ep().status().expect("live").recv_idle);
            assert_eq!(scene.ep().recv_query().expect("live").allocated, 1);
        }
    });
}

/// Takes the completion of a request, which must be a success if the call was.
fn completed(scene: &Scene, outcome: Outcome, operation: Operation) {
    let done = expect_dto(&scene.node.request, &[scene.ep()]);
    assert_eq!((done.cookie, done.operation), (COOKIE, operation));
    assert_eq!(done.status, expected(outcome));
    assert!(scene.ep().status().expect("live").request_idle);
}

/// Posts a request in every state, whose completion must be of an operation.
fn try_request(operation: Operation, call: impl Fn(&Scene) -> Result<()>) {
    try_everywhere(table::REQUEST, call, |scene, _, outcome| completed(scene, outcome, operation));
}

fn expected(outcome: Outcome) -> DtoStatus {
    if outcome == Outcome::Flushed { DtoStatus::Flushed } else { DtoStatus::Success }
}

pub(super) fn post_send() {
    try_request(Operation::Send, |scene: &Scene| {
        scene.ep().post_send(&[scene.buffer.piece(32, 32)], COOKIE, NONE)
    });
}

pub(super) fn post_send_with_invalidate() {
    Node::new().need(|it| it.invalidate_supported, "send with invalidate");
    Node::new().need(|it| it.rmr_supported, "remote memory regions");
    for (from, outcome) in STATES.into_iter().zip(table::REQUEST) {
        let scene = Scene::new(from);
        let closable = region(&scene.node, &scene.node.pz);
        let mut context = 0;
        if from == EpState::Connected {
            // The peer binds a remote region, whose context the send invalidates.
            let peer = scene.staged.peer.as_ref().expect("two sides");
            context = closable.bind(peer, &whole(&scene)).expect("connected");
            expect_bind(&scene.node.request, &[peer]);
        }
        let before = scene.snapshot();
        let iov = [scene.buffer.piece(32, 32)];
        let result = scene.ep().post_send_with_invalidate(&iov, COOKIE, NONE, context);
        if outcome == Outcome::Refused {
            refused(result, subtype(from));
            scene.untouched(&before, from.name());
        } else {
            result.unwrap_or_else(|error| panic!("{from}: {error}"));
            completed(&scene, outcome, Operation::Send);
        }
        scene.close();
    }
}

fn whole(scene: &Scene) -> Bind<'_> {
    let privileges = Privileges::REMOTE_READ | Privileges::REMOTE_WRITE;
    Bind { cookie: COOKIE, ..scene.target.bind(privileges) }
}

pub(super) fn post_rdma_write() {
    try_request(Operation::RdmaWrite, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        scene.ep().post_rdma_write(&iov, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

pub(super) fn post_rdma_write_immediate() {
    Node::new().need(|it| it.immediate_data_supported, "immediate data");
    try_request(Operation::RdmaWriteImmediate, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        let remote = scene.target.remote(0, 32);
        scene.ep().post_rdma_write_immediate(&iov, COOKIE, remote, 7, NONE)
    });
}

pub(super) fn post_rdma_read() {
    try_request(Operation::RdmaRead, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        scene.ep().post_rdma_read(&iov, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

pub(super) fn post_rdma_read_to_rmr() {
    Node::new().need(|it| it.read_to_rmr_supported, "reads to a remote context");
    try_request(Operation::RdmaRead, |scene: &Scene| {
        let local = scene.buffer.remote(0, 32);
        scene.ep().post_rdma_read_to_rmr(local, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

pub(super) fn post_fetch_and_add() {
    Node::new().need(|it| it.atomics_supported, "atomic operations");
    try_request(Operation::FetchAdd, |scene: &Scene| {
        let (local, remote) = (scene.buffer.piece(0, 8), scene.target.remote(0, 8));
        scene.ep().post_fetch_and_add(1, local, COOKIE, remote, NONE)
    });
}

pub(super) fn post_compare_and_swap() {
    Node::new().need(|it| it.atomics_supported, "atomic operations");
    try_request(Operation::CompareSwap, |scene: &Scene| {
        let (local, remote) = (scene.buffer.piece(0, 8), scene.target.remote(0, 8));
        scene.ep().post_compare_and_swap((0, 1), local, COOKIE, remote, NONE)
    });
}

pub(super) fn bind() {
    Node::new().need(|it| it.rmr_supported, "remote memory regions");
    let call = |scene: &Scene| scene.rmr().bind(scene.ep(), &whole(scene)).map(|_| ());
    try_everywhere(table::REQUEST, call, |scene, _, outcome| {
        let done = expect_bind(&scene.node.request, &[scene.ep()]);
        assert_eq!((done.cookie, done.status), (COOKIE, expected(outcome)));
        assert_eq!(done.rmr, scene.rmr().id());
    });
}
