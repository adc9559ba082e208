//! A process forks while its threads are in calls: a lock that a thread held at that time must not stay locked
//! in the child.

use std::sync::atomic::{AtomicBool, Ordering};

use dat_conformance::{Node, drain, exchange};
use dat_core::{EpProvision, EvdFlags, EvdOptions};

use crate::child::Child;

/// Number of children; a lock that stays locked shows within 160 of them.
const CHILDREN: u32 = 200;

/// Opens and closes adapters.
fn open_and_close(open: fn(&str) -> Node) {
    open("").finish();
}

/// Creates and frees one object of each kind.
fn create_and_free(node: &Node) {
    let evd = node.ia.evd_create(&EvdOptions::new(4, EvdFlags::SOFTWARE)).expect("a dispatcher");
    let cno = node.ia.cno_create(None).expect("a notification object");
    let pz = node.ia.pz_create().expect("a zone");
    let (ep, psp) = (node.ep(), node.psp());
    let buffer = node.buffer(64);
    let _ = (psp.free(), ep.free(), buffer.lmr.free(), pz.free(), cno.free(), evd.free());
}

/// Connects two endpoints and frees them.
fn connect_and_free(node: &Node) {
    let (client, server) = node.pair();
    let _ = (client.free(), server.free());
    for evd in [&node.connect, &node.requests] {
        drain(evd);
    }
}

/// A child opens an adapter, exchanges a message over a connection, listens and closes it.
fn use_adapter(open: fn(&str) -> Node) -> bool {
    let node = open("");
    let (client, server) = node.pair();
    exchange(&node, &client, &server);
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer);
    psp.is_ok_and(|psp| psp.free().is_ok()) && client.free().is_ok() && server.free().is_ok()
}

/// Threads are in every call while their process forks. Each child uses an adapter of its own. Needs a process
/// of its own, whose only threads they are.
///
/// # Panics
/// If a child hangs or fails.
pub fn a_child_uses_an_adapter_whatever_its_parent_was_doing(open: fn(&str) -> Node) {
    let is_over = AtomicBool::new(false);
    let repeat = |run: &dyn Fn()| {
        while !is_over.load(Ordering::Relaxed) {
            run();
        }
    };
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| repeat(&|| open_and_close(open)));
        let creator = scope.spawn(|| {
            let node = open("");
            repeat(&|| create_and_free(&node));
        });
        let connector = scope.spawn(|| {
            repeat(&|| {
                let node = open("");
                (0..10).for_each(|_| connect_and_free(&node));
            });
        });
        let ended = std::panic::catch_unwind(|| {
            (0..CHILDREN).for_each(|_| Child::fork(60, || use_adapter(open)).expect_success());
        });
        is_over.store(true, Ordering::Relaxed);
        for thread in [opener, creator, connector] {
            thread.join().expect("no call fails in the parent");
        }
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}
