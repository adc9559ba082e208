//! Every call that takes an endpoint, in every state that an endpoint can be kept in: the list of
//! the cases.
//!
//! The table in `table.rs` was written from the manual pages. A refused call must name the state
//! and change nothing: neither the endpoint, nor its peer, nor the request or the service point
//! that decide over it, and no event may come of it.

mod attributes;
mod connections;
mod posts;
mod scene;
// Its columns are aligned by hand.
#[rustfmt::skip]
mod table;
mod trial;

use crate::prelude::*;
use attributes::*;
use connections::*;
use posts::*;

cases! {
    "dat_ep_connect(3DAT)":
        connect;
    "dat_ep_dup_connect(3DAT)":
        dup_connect,
        dup_connect_of,
        dup_connect_of_the_passive_side;
    "DAT 2.0, dat_ep_common_connect":
        common_connect;
    "dat_ep_disconnect(3DAT)":
        disconnect_gracefully,
        disconnect_abruptly;
    "dat_ep_reset(3DAT)":
        reset;
    "dat_ep_free(3DAT)":
        free;
    "dat_ep_post_recv(3DAT)":
        post_recv;
    "dat_ep_post_send(3DAT)":
        post_send;
    "DAT 2.0, dat_ep_post_send_with_invalidate":
        post_send_with_invalidate;
    "dat_ep_post_rdma_write(3DAT)":
        post_rdma_write;
    "DAT 2.0, IB extension: dat_ib_post_rdma_write_immed":
        post_rdma_write_immediate;
    "dat_ep_post_rdma_read(3DAT)":
        post_rdma_read;
    "DAT 2.0, dat_ep_post_rdma_read_to_rmr":
        post_rdma_read_to_rmr;
    "DAT 2.0, IB extension: dat_ib_post_fetch_and_add":
        post_fetch_and_add;
    "DAT 2.0, IB extension: dat_ib_post_cmp_and_swap":
        post_compare_and_swap;
    "dat_rmr_bind(3DAT)":
        bind;
    "dat_ep_modify(3DAT)":
        modify_zone,
        modify_dispatchers,
        modify_attributes;
    "dat_rsp_create(3DAT)":
        rsp_create;
    "dat_cr_accept(3DAT)":
        accept,
        accept_on_the_endpoint_of_the_request;
    "dat_ep_query(3DAT)":
        query;
    "dat_ep_get_status(3DAT)":
        status;
    "dat_ep_recv_query(3DAT)":
        recv_query;
    "dat_ep_set_watermark(3DAT)":
        set_watermark;
}
