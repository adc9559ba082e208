//! Long messages, which the receiver fetches from the memory of the sender (docs/provider-shm.md, "How it
//! works").

use std::io::Read;

use dat_conformance::{Buffer, Node, expect_dto, state, until};
use dat_core::{DtoStatus, Ep, EpState, Lmr, Memory, MemorySource, Privileges};
use dat_two_processes::NONE;
use rustix::process::{Signal, getpid, kill_process};

use crate::common::node;
use crate::peers::{Accepted, Connected, LENGTH};

/// The content of a message, and of its memory after it was deregistered.
const SENT: u8 = 1;
const LATER: u8 = 2;

/// The other process: sends a message, and stops at once.
#[test]
#[ignore = "the other process of a test below"]
fn sender() {
    let Accepted { node, buffer, ep, .. } = Accepted::new(|ep, buffer| {
        ep.post_recv(&[buffer.piece(0, 8)], 1, NONE).expect("live");
    });
    // Then the other side has a receive.
    expect_dto(&node.recv, &[&ep]);
    buffer.fill(0, &vec![SENT; LENGTH]);
    ep.post_send(&[buffer.piece(0, LENGTH)], 1, NONE).expect("connected");
    kill_process(getpid(), Signal::STOP).expect("itself");
    // The call may return before all threads are stopped.
    let _ = std::io::stdin().read(&mut [0]);
}

/// The other process: receives a message. It must be what was sent, or fail without what came later.
#[test]
#[ignore = "the other process of the tests below"]
fn receiver() {
    let Accepted { node, buffer, ep, .. } = Accepted::new(|ep, buffer| {
        ep.post_recv(&[buffer.piece(0, LENGTH)], 1, NONE).expect("live");
    });
    let done = expect_dto(&node.recv, &[&ep]);
    let bytes = buffer.bytes(0, LENGTH);
    if done.status == DtoStatus::Success {
        assert_eq!(done.length, LENGTH as u64);
        assert!(bytes.iter().all(|byte| *byte == SENT));
    } else {
        assert!(!bytes.contains(&LATER), "{:?}", done.status);
    }
}

#[test]
fn a_long_message_arrives_although_its_sender_is_stopped() {
    let node = node("");
    let own = node.buffer(LENGTH);
    let peer = Connected::new(&node, &own, "offers::sender", "");
    peer.ep.post_recv(&[own.piece(0, LENGTH)], 1, NONE).expect("connected");
    peer.ep.post_send(&[own.piece(0, 8)], 2, NONE).expect("connected");
    assert_eq!(status(&node, &peer.ep), DtoStatus::Success);
    peer.expect_stop();
    let done = expect_dto(&node.recv, &[&peer.ep]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, LENGTH as u64));
    assert!(own.bytes(0, LENGTH).iter().all(|byte| *byte == SENT));
    peer.end();
}

/// Memory that only its owner may access.
fn local(node: &Node) -> (Memory, Lmr) {
    let memory = Memory::zeroed(LENGTH).expect("memory");
    memory.write(0, &vec![SENT; LENGTH]).expect("inside");
    let source = MemorySource::Memory(&memory);
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::LOCAL_READ).expect("a region");
    (memory, lmr)
}

/// Posts a message from local memory to a receiver that is stopped.
fn offered(node: &Node, own: &Buffer) -> (Connected, Memory, Lmr) {
    let peer = Connected::new(node, own, "offers::receiver", "");
    peer.stop();
    let (memory, lmr) = local(node);
    let all = lmr.triplet(0, LENGTH as u64).expect("inside");
    peer.ep.post_send(&[all], 7, NONE).expect("connected");
    (peer, memory, lmr)
}

fn status(node: &Node, ep: &Ep) -> DtoStatus {
    expect_dto(&node.request, &[ep]).status
}

#[test]
fn a_message_is_not_fetched_from_memory_that_was_deregistered() {
    let node = node("");
    let own = node.buffer(8);
    let (mut peer, memory, lmr) = offered(&node, &own);
    lmr.free().expect("the receiver does not access it");
    memory.write(0, &vec![LATER; LENGTH]).expect("inside");
    peer.signal(Signal::CONT);
    assert_eq!(status(&node, &peer.ep), DtoStatus::LocalProtection);
    until("the connection breaks", || state(&peer.ep) == EpState::Disconnected);
    assert!(peer.child.wait().expect("a child").success(), "the receiver");
}

#[test]
fn a_message_that_is_not_fetched_is_sent() {
    let node = node("");
    let own = node.buffer(8);
    let (mut peer, _memory, _lmr) = offered(&node, &own);
    // The receiver cannot know that this is not the memory of the message.
    let (_, other) = local(&node);
    other.free().expect("unused");
    peer.signal(Signal::CONT);
    assert_eq!(status(&node, &peer.ep), DtoStatus::Success);
    assert!(peer.child.wait().expect("a child").success(), "the receiver");
}
