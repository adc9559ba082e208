//! What the TCP provider does about peers that are gone, silent, strangers or hostile.

mod bursts;
mod common;
mod credits;
mod far_datagrams;
mod freed;
mod ports;
mod secret;
mod silence;
mod starved;
mod strangers;
mod wire;
mod write_order;

dat_two_processes::tests!(crate::common::node);
