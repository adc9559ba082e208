//! Direct access to the memory of the peer's process (docs/provider-shm.md, "How it works").
#![allow(unsafe_code, reason = "a filter for system calls is installed by address")]

use std::io::Read;

use dat_conformance::{Buffer, Node, expect_dto, state, until};
use dat_core::error::{ReturnType, Subtype};
use dat_core::monitor::Watch;
use dat_core::{DtoStatus, Ep, EpState, Event, RmrTriplet};
use dat_two_processes::{NONE, process};
use rustix::process::Signal;

use crate::common::node;
use crate::peers::{Accepted, Connected, LENGTH};

/// The other process. Once it is connected, it does nothing, or writes to the memory of the other one
/// without end.
fn peer_that(writes: bool) {
    let Accepted { node, buffer, ep, theirs } = Accepted::new(|_, _| {});
    if !writes {
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    buffer.fill(0, &vec![1; LENGTH]);
    let remote = RmrTriplet { length: LENGTH as u64, ..theirs };
    while state(&ep) == EpState::Connected
        && ep.post_rdma_write(&[buffer.piece(0, LENGTH)], 1, remote, NONE).is_ok()
        && expect_dto(&node.request, &[&ep]).status == DtoStatus::Success
    {}
}

#[test]
#[ignore = "the other process of the tests below"]
fn target() {
    peer_that(false);
}

#[test]
#[ignore = "the other process of a test below"]
fn writer() {
    peer_that(true);
}

/// The bytes that an endpoint has sent and received, as `dat top` shows them.
pub(crate) fn moved_bytes(ep: &Ep) -> (u64, u64) {
    let (processes, _) = Watch::new().sample();
    let own = processes.into_iter().find(|view| view.process == std::process::id());
    let all = own.expect("it has an adapter").connections;
    let view = all.into_iter().find(|view| view.ep == ep.id()).expect("it is connected");
    (view.sent.bytes.expect("counted"), view.received.bytes.expect("counted"))
}

/// Writes to the memory of the peer and reads it back.
fn write_and_read(node: &Node, own: &Buffer, peer: &Connected) {
    let (half, ep) = (LENGTH / 2, &peer.ep);
    let sent: Vec<u8> = (0..half).map(|at| (at / 3) as u8).collect();
    own.fill(0, &sent);
    let remote = RmrTriplet { length: half as u64, ..peer.theirs };
    // Two segments on this side.
    let local = |from| [own.piece(from, 1000), own.piece(from + 1000, half - 1000)];
    ep.post_rdma_write(&local(0), 5, remote, NONE).expect("connected");
    assert_eq!(expect_dto(&node.request, &[ep]).status, DtoStatus::Success);
    ep.post_rdma_read(&local(half), 6, remote, NONE).expect("connected");
    let done = expect_dto(&node.request, &[ep]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, half as u64));
    assert!(own.bytes(half, half) == sent, "what was written is read");
}

#[test]
fn operations_need_nothing_of_a_target_that_is_stopped() {
    let node = node("");
    let own = node.buffer(LENGTH);
    let peer = Connected::new(&node, &own, "direct::target", "");
    peer.stop();
    write_and_read(&node, &own, &peer);
    assert_eq!(state(&peer.ep), EpState::Connected);
    let moved = (LENGTH / 2) as u64;
    let (sent, received) = moved_bytes(&peer.ep);
    assert!((moved..2 * moved).contains(&sent) && (moved..2 * moved).contains(&received));
    peer.end();
}

#[test]
fn where_either_side_does_not_want_it_the_target_executes_them() {
    for (ours, theirs) in [("", "direct=no"), ("direct=no", "")] {
        let node = node(ours);
        let own = node.buffer(LENGTH);
        let peer = Connected::new(&node, &own, "direct::target", theirs);
        peer.stop();
        let remote = RmrTriplet { length: 8, ..peer.theirs };
        peer.ep.post_rdma_write(&[own.piece(0, 8)], 5, remote, NONE).expect("connected");
        assert!(dat_conformance::drain(&node.request).is_empty(), "{ours} {theirs}");
        peer.signal(Signal::CONT);
        assert_eq!(expect_dto(&node.request, &[&peer.ep]).status, DtoStatus::Success);
        write_and_read(&node, &own, &peer);
        peer.end();
    }
}

/// What the adapter says about direct access.
fn direct(node: &Node) -> String {
    let named = node.ia.provider_attributes().provider_specific.clone();
    named.into_iter().find(|attr| attr.name == "direct").expect("it says so").value
}

#[test]
fn an_adapter_says_why_it_accesses_no_memory_directly() {
    assert_eq!(direct(&node("direct=no")), "no: the parameter direct=no");
}

/// Makes the system calls fail, for this thread and those that it starts.
fn forbid_cma() {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let equal =
        |number: libc::c_long, jt| libc::sock_filter { code: 0x15, jt, jf: 0, k: number as u32 };
    let mut filter = [
        statement(0x20, 0),
        equal(libc::SYS_process_vm_readv, 2),
        equal(libc::SYS_process_vm_writev, 1),
        statement(0x06, libc::SECCOMP_RET_ALLOW),
        statement(0x06, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the call changes a flag of the thread.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the program, which is valid during the call.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) }, 0);
}

#[test]
#[ignore = "a process of its own, which loses a system call"]
fn process_without_cma() {
    forbid_cma();
    let node = node("");
    let reason = direct(&node);
    assert!(reason.starts_with("no: ") && reason.contains("seccomp"), "{reason}");
    let own = node.buffer(LENGTH);
    let peer = Connected::new(&node, &own, "direct::target", "");
    write_and_read(&node, &own, &peer);
    peer.end();
}

#[test]
fn where_the_kernel_forbids_it_the_adapter_says_so_and_the_target_executes_them() {
    process::run("direct::process_without_cma");
}

/// A writer is stopped in the middle of its writes, and the memory is deregistered.
#[test]
fn memory_is_deregistered_for_good_or_the_error_says_that_it_is_not() {
    const ROUNDS: usize = 20;
    let (mut freed, mut kept) = (0, 0);
    for round in 0..ROUNDS {
        let node = node("");
        let own = node.buffer(LENGTH);
        let peer = Connected::new(&node, &own, "direct::writer", "");
        until("it writes", || own.bytes(LENGTH - 1, 1) == [1]);
        std::thread::sleep(std::time::Duration::from_micros(fastrand::u64(..3000)));
        peer.stop();
        match own.lmr.free() {
            Ok(()) => {
                freed += 1;
                own.fill(0, &vec![2; LENGTH]);
                peer.signal(Signal::CONT);
                until("the write fails", || state(&peer.ep) == EpState::Disconnected);
                assert!(own.bytes(0, LENGTH).iter().all(|byte| *byte == 2), "round {round}");
            }
            Err(error) => {
                kept += 1;
                let expected = (ReturnType::InvalidState, Subtype::NoSubtype);
                assert_eq!((error.return_type(), error.subtype()), expected);
                until("it is disconnected", || state(&peer.ep) == EpState::Disconnected);
                peer.signal(Signal::CONT);
            }
        }
        peer.end();
        if kept > 2 || kept > 0 && freed > 0 {
            break;
        }
    }
    println!("{freed} regions were freed, {kept} were still accessed");
    assert!(kept > 0, "no writer was stopped in the middle of an access");
}

#[test]
fn the_death_of_a_writer_ends_its_access() {
    let node = node("");
    for _ in 0..5 {
        let own = node.buffer(LENGTH);
        let peer = Connected::new(&node, &own, "direct::writer", "");
        until("it writes", || own.bytes(LENGTH - 1, 1) == [1]);
        peer.stop();
        peer.end();
        own.lmr.free().expect("its process is gone");
    }
}

#[test]
fn a_target_that_polls_executes_short_operations_even_if_nothing_else_arrives() {
    // The target waits for no event before it polls, so only its polls say that it does.
    let node = node("");
    let (requester, target) = node.pair();
    let buffer = node.buffer(64);
    let (remote, mut event) = (buffer.remote(0, 8), Event::default());
    until("a write crosses the ring", || {
        for _ in 0..2000 {
            assert!(!node.recv.dequeue(&mut event).expect("live"));
        }
        requester.post_rdma_write(&[buffer.piece(8, 8)], 0, remote, NONE).expect("connected");
        // One that the kernel copied has completed before the post returned.
        let is_direct = node.request.dequeue(&mut event).expect("live");
        if !is_direct {
            expect_dto(&node.request, &[&requester]);
        }
        !is_direct
    });
    drop(target);
}
