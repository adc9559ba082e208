//! Children of fork (docs/c-conventions.md, "fork").
#![allow(unsafe_code, reason = "fork")]

use std::process;

use dat_conformance::{Node, exchange};
use dat_core::{
    Close, Connect, Ep, EpProvision, Evd, EvdFlags, EvdOptions, Event, Privileges, Result,
    ReturnType, Timeout,
};

use crate::child::Child;
use crate::completions::NONE;

/// Runs a check in a child and waits for it. The child is killed if it hangs.
///
/// # Panics
/// If the check fails in the child.
pub fn in_child(check: impl FnOnce() -> bool) {
    Child::fork(30, check).expect_success();
}

/// A child gets errors, and its parent's connection continues.
///
/// # Panics
/// If the child can post or takes a completion, or a message of the parent is lost.
pub fn a_child_does_not_disturb_the_connections_of_its_parent(open: fn(&str) -> Node) {
    let node = open("");
    let (client, server) = node.pair();
    let buffer = node.buffer(16);
    in_child(|| {
        let is_refused = |why: dat_core::Error| why.return_type() == ReturnType::InvalidState;
        let mut event = Event::default();
        let mut nothing = |evd: &Evd| evd.dequeue(&mut event).is_err_and(is_refused);
        client.post_send(&[buffer.piece(0, 8)], 1, NONE).is_err_and(is_refused)
            && nothing(&node.request)
            && nothing(&node.recv)
    });
    exchange(&node, &client, &server);
}

/// Calls of a child on objects of its parent return at once, with an error that names the parent
/// and the remedy. The child may close and drop the objects; those of the parent remain.
///
/// # Panics
/// If a call succeeds in the child or has another error, or if the parent is disturbed.
pub fn a_child_learns_which_process_owns_the_adapter(open: fn(&str) -> Node) {
    let node = open("");
    let (client, server) = node.pair();
    let idle = node.ep();
    let psp =
        node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a service point");
    let cno = node.ia.cno_create(None).expect("a notification object");
    let buffer = node.buffer(16);
    let parent = process::id();
    in_child(move || {
        let refused = refusals(&node, &idle, &psp, &cno, &buffer)
            .into_iter()
            .chain(endpoint_refusals(&client))
            .filter(|(call, result)| !names_the_owner(call, result, parent))
            .count();
        // Dropped, as at the end of a scope.
        drop((client, server, idle, psp, cno, buffer, node));
        refused == 0
    });
}

/// Like [`a_child_learns_which_process_owns_the_adapter`], but checks that the parent is not
/// disturbed.
///
/// # Panics
/// If the connection of the parent does not continue.
pub fn a_child_that_drops_everything_does_not_disturb_its_parent(open: fn(&str) -> Node) {
    let node = open("");
    let (client, server) = node.pair();
    let kept = (node.ia.clone(), client.clone(), server.clone());
    // SAFETY: the child only drops handles and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop((node, client, server, kept));
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child from above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    exchange(&node, &client, &server);
}

type Outcome = (&'static str, Result<()>);

/// Calls on an adapter and its objects, except connected endpoints.
fn refusals(
    node: &Node,
    idle: &Ep,
    psp: &dat_core::Psp,
    cno: &dat_core::Cno,
    buffer: &dat_conformance::Buffer,
) -> Vec<Outcome> {
    let (ia, evd) = (&node.ia, &node.connect);
    let mut event = Event::default();
    let to_self = Connect::to(node.address(), psp.qualifier());
    let flags = EvdFlags::SOFTWARE;
    vec![
        ("pz_create", ia.pz_create().map(drop)),
        ("evd_create", ia.evd_create(&EvdOptions::new(4, flags)).map(drop)),
        ("cno_create", ia.cno_create(None).map(drop)),
        ("ep_create", ia.ep_create(&node.spec()).map(drop)),
        ("psp_create_any", ia.psp_create_any(&node.requests, EpProvision::Consumer).map(drop)),
        ("lmr_create", ia.lmr_create(&buffer.memory, &node.pz, Privileges::LOCAL_READ).map(drop)),
        ("connect", idle.connect(&to_self)),
        ("free of an endpoint", idle.free()),
        ("wait", evd.wait(Timeout::Infinite, 1, &mut event).map(drop)),
        ("next_event", evd.next_event(Timeout::Infinite).map(drop)),
        ("arm", evd.arm().map(drop)),
        ("free of a dispatcher", evd.free()),
        ("wait on a notification object", cno.wait(Timeout::Infinite).map(drop)),
        ("trigger", cno.trigger().map(drop)),
        ("query of a service point", psp.query().map(drop)),
        ("free of a service point", psp.free()),
        ("free of a region", buffer.lmr.free()),
        ("free of a zone", node.pz.free()),
        ("graceful close", ia.close(Close::Graceful)),
        ("abrupt close", ia.close(Close::Abrupt)),
    ]
}

/// Calls on a connected endpoint.
fn endpoint_refusals(client: &Ep) -> Vec<Outcome> {
    vec![
        ("query of an endpoint", client.query().map(drop)),
        ("disconnect", client.disconnect(Close::Abrupt)),
        ("reset", client.reset()),
        ("modify", client.modify(&dat_core::EpUpdate::new())),
    ]
}

/// Returns true if the error names the process that owns the adapter, and what to do.
fn names_the_owner(call: &str, result: &Result<()>, owner: u32) -> bool {
    let text = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let is_state = result.as_ref().is_err_and(|why| why.return_type() == ReturnType::InvalidState);
    let holds = is_state
        && text.contains(&format!("belongs to process {owner}"))
        && text.contains("open the adapter in this process");
    if !holds {
        eprintln!("{call} in a child: {result:?}");
    }
    holds
}
