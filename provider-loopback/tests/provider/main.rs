//! Tests of the loopback provider, through the provider contract (with `common`) and through the DAT API.

mod auto_traits;
mod blocking;
mod common;
mod completions;
mod connections;
mod first_use;
mod messages;
mod opening;
mod rdma;
mod shared_receives;
mod stress;
