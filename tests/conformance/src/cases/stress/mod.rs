//! Many concurrent threads, on their own objects and on shared ones. Every posted operation
//! completes once, every connection ends once on each side, and no object is left at the end.
//! This file has the list of the cases.

mod arena;
mod events;
mod exchange;
mod objects;
mod race;
mod shared_receives;
mod threads;
mod workers;

use crate::prelude::*;
use arena::*;
use exchange::*;
use objects::*;
use race::*;
use shared_receives::*;

cases! {
    "semantics, endpoints: every operation completes once, every connection ends once":
        shared_endpoints, own_endpoints;
    "dat_cr_accept, dat_ep_disconnect(3DAT): which comes first": an_accept_races_with_a_disconnect;
    "dat_srq_create(3DAT): buffers are used once": a_shared_receive_queue;
    "dat_ia_close(3DAT): nothing is left": objects_are_created_and_freed_concurrently;
}
