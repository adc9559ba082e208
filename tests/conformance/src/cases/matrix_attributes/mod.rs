//! Every limit of the adapter: values up to it are accepted and usable; larger ones are refused
//! with a text that names the value and the limit. This file has the list of the cases.

mod bounds;
mod endpoints;
mod objects;
mod private_data;
mod queues;
mod transfers;

use crate::prelude::*;
use endpoints::*;
use objects::*;
use private_data::*;
use queues::*;
use transfers::*;

cases! {
    "dat_ep_create(3DAT), ep_attributes": endpoint_attributes_reach_their_limits,
        endpoint_attributes_above_their_limits_are_refused;
    "dat_ep_create_with_srq(3DAT), ep_attributes": endpoint_attributes_with_a_shared_queue;
    "dat_ep_modify(3DAT)": modified_attributes_have_the_same_limits,
        a_refused_change_of_completion_flags_changes_nothing;
    "dat_ep_post_send(3DAT)": messages_reach_the_limit, messages_are_limited_by_the_endpoint;
    "dat_ep_post_rdma_write(3DAT)": writes_reach_the_limit;
    "dat_ep_post_rdma_read(3DAT)": reads_reach_the_limit, more_reads_than_can_be_in_flight_are_queued;
    "dat_ep_post_recv(3DAT), max_recv_dtos": receives_reach_the_limit;
    "dat_ep_post_send(3DAT), max_request_dtos": requests_reach_the_limit;
    "dat_ep_post_send(3DAT), num_segments": segments_reach_the_limit;
    "dat_evd_create, evd_min_qlen": queue_lengths_reach_the_limit;
    "dat_evd_resize(3DAT)": a_resize_has_the_same_limits;
    "dat_evd_wait(3DAT), threshold": thresholds_reach_the_queue_length;
    "dat_srq_create(3DAT), srq_attr": shared_queues_reach_the_limits;
    "dat_srq_resize(3DAT)": a_resize_of_a_shared_queue_has_the_same_limits;
    "dat_srq_set_lw(3DAT)": low_watermarks_reach_the_queue_length;
    "dat_ep_set_watermark(3DAT)": high_watermarks_reach_the_limit;
    "dat_ep_connect(3DAT), private_data": private_data_of_a_request_reach_the_limit;
    "dat_cr_accept(3DAT), private_data": private_data_of_an_answer_reach_the_limit;
    "dat_ep_connect(3DAT), timeout": a_timeout_is_positive;
    "dat_lmr_create(3DAT), length": region_lengths_are_limited;
    "dat_ia_query(3DAT): how many objects there can be": the_number_of_objects_is_limited;
}
