//! An adapter with low limits, and checks of what its errors say.

use crate::check::Code;
use crate::prelude::*;

/// Maximum memory of a case, in bytes.
const MEMORY: u64 = 64 << 20;

/// An adapter with low limits, if it takes parameters, so that reaching them is cheap.
pub(super) fn small() -> Node {
    if !takes_parameters() {
        return Node::new();
    }
    Node::with(
        "max_message_size=5000,max_rdma_size=6000,max_dto_per_ep=16,max_iov=5,\
         max_rdma_read_in=3,max_rdma_read_out=4,max_evd_qlen=300,max_private_data_size=33,\
         max_recv_per_srq=12",
    )
}

/// Skips the case if it would need too much memory.
pub(super) fn affordable(bytes: u64, what: &str) -> usize {
    if bytes > MEMORY {
        skip(format!("{what} would take {bytes} bytes, and the adapter takes no parameters"));
    }
    usize::try_from(bytes).expect("within the memory")
}

/// Checks that an error is about a parameter and names it and its bound.
#[track_caller]
pub(super) fn names(error: &Error, words: &[&dyn std::fmt::Display]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(&word.to_string()), "{word} is not named: {text}");
    }
}

/// Checks a refused call, whose error must have words.
#[track_caller]
pub(super) fn refused_with<T: std::fmt::Debug>(
    result: Result<T>,
    code: impl Code,
    words: &[&dyn std::fmt::Display],
) {
    names(&refused(result, code), words);
}

/// Checks the error of a call with a parameter above its limit.
#[track_caller]
pub(super) fn out_of_bounds<T: std::fmt::Debug>(
    result: Result<T>,
    words: &[&dyn std::fmt::Display],
) {
    names(&fails_with(result, ReturnType::InvalidParameter), words);
}

/// Attributes with small values, so that only one reaches its limit.
pub(super) fn modest(node: &Node) -> EpAttributes {
    EpAttributes {
        max_message_size: 64,
        max_rdma_size: 64,
        max_recv_dtos: 2,
        max_request_dtos: 2,
        max_recv_iov: 1,
        max_request_iov: 1,
        max_rdma_read_in: 0,
        max_rdma_read_out: node.ia.attributes().max_rdma_read_per_ep_out.min(1),
        max_rdma_read_iov: 1,
        max_rdma_write_iov: 1,
        ..node.ia.default_ep_attributes().clone()
    }
}
