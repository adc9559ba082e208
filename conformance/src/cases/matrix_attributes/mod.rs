//! Every limit of the adapter: values up to it are accepted and usable; larger ones are refused
//! with a text that names the value and the limit. This file has the list of the cases, and what they share.

mod endpoints;
mod objects;
mod private_data;
mod queues;
mod transfers;

use dat_core::{CompletionFlags, EpAttributes, Error, Result, ReturnType};

use crate::case::{cases, skip};
use crate::fixture::Node;
use crate::target::takes_parameters;

use endpoints::*;
use objects::*;
use private_data::*;
use queues::*;
use transfers::*;

cases! {
    "dat_ep_create(3DAT), ep_attributes": endpoint_attributes_reach_their_bounds,
        endpoint_attributes_above_their_bounds_are_refused;
    "dat_ep_create_with_srq(3DAT), ep_attributes": attributes_with_a_shared_queue;
    "dat_ep_modify(3DAT)": modified_attributes_have_the_same_bounds,
        a_refused_change_of_completion_flags_changes_nothing;
    "dat_ep_post_send(3DAT)": messages_reach_the_bound, messages_stay_below_the_endpoints_bound;
    "dat_ep_post_rdma_write(3DAT)": writes_reach_the_bound;
    "dat_ep_post_rdma_read(3DAT)": reads_reach_the_bound, reads_are_counted;
    "dat_ep_post_recv(3DAT), max_recv_dtos": receives_reach_the_bound;
    "dat_ep_post_send(3DAT), max_request_dtos": requests_reach_the_bound;
    "dat_ep_post_send(3DAT), num_segments": segments_reach_the_bound;
    "dat_evd_create, evd_min_qlen": dispatchers_reach_the_bound;
    "dat_evd_resize(3DAT)": a_resize_has_the_same_bounds;
    "dat_evd_wait(3DAT), threshold": thresholds_reach_the_queue_length;
    "dat_srq_create(3DAT), srq_attr": shared_queues_reach_the_bounds;
    "dat_srq_resize(3DAT)": a_resize_of_a_shared_queue_has_the_same_bounds;
    "dat_srq_set_lw(3DAT)": low_watermarks_reach_the_queue_length;
    "dat_ep_set_watermark(3DAT)": high_watermarks_reach_the_bound;
    "dat_ep_connect(3DAT), private_data": private_data_of_a_request_reach_the_bound;
    "dat_cr_accept(3DAT), private_data": private_data_of_an_answer_reach_the_bound;
    "dat_ep_connect(3DAT), timeout": a_timeout_is_positive;
    "dat_lmr_create(3DAT), length": regions_have_a_length;
    "dat_ia_query(3DAT): how many objects there can be": objects_are_counted;
}

const NONE: CompletionFlags = CompletionFlags::empty();

/// Maximum memory of a case, in bytes.
const MEMORY: u64 = 64 << 20;

/// An adapter with low limits, if it takes parameters, so that reaching them is cheap.
fn small() -> Node {
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
fn affordable(bytes: u64, what: &str) -> usize {
    if bytes > MEMORY {
        skip(format!("{what} would take {bytes} bytes, and the adapter takes no parameters"));
    }
    usize::try_from(bytes).expect("within the memory")
}

/// Checks that an error is about a parameter and names it and its bound.
#[track_caller]
fn names(error: &Error, words: &[&dyn std::fmt::Display]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(&word.to_string()), "{word} is not named: {text}");
    }
}

/// Checks the error of a call with a parameter above its limit.
#[track_caller]
fn out_of_bounds<T: std::fmt::Debug>(result: Result<T>, words: &[&dyn std::fmt::Display]) {
    match result {
        Ok(value) => panic!("it worked: {value:?}"),
        Err(error) => {
            assert_eq!(error.return_type(), ReturnType::InvalidParameter, "{error}");
            names(&error, words);
        }
    }
}

/// Attributes with small values, so that only one reaches its limit.
fn modest(node: &Node) -> EpAttributes {
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

fn need_srq(node: &Node) {
    if !node.ia.provider_attributes().srq_supported {
        skip("the provider does not support shared receive queues");
    }
}
