//! Children of fork (docs/provider-tcp.md and docs/provider-shm.md, "Fork").
#![allow(unsafe_code, reason = "fork")]

use dat_conformance::{Node, drain, exchange};
use dat_core::ReturnType;

use crate::completions::NONE;

/// A child is refused, and its parent's connection goes on.
///
/// # Panics
/// If the child may post or takes a completion, or a message of the parent is lost.
pub fn a_child_does_not_disturb_the_connections_of_its_parent(open: fn(&str) -> Node) {
    let node = open("");
    let (client, server) = node.pair();
    let buffer = node.buffer(16);
    // SAFETY: the child makes calls that take no lock which another thread may hold, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = client.post_send(&[buffer.piece(0, 8)], 1, NONE).err();
        let is_refused = refused.is_some_and(|why| why.return_type() == ReturnType::InvalidState);
        let is_quiet = drain(&node.request).is_empty() && drain(&node.recv).is_empty();
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(i32::from(is_refused) + 2 * i32::from(is_quiet)) };
    }
    let mut status = 0;
    // SAFETY: the child that was made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 3, "{status:#x}");
    exchange(&node, &client, &server);
}
