//! What the shared-memory provider does about peers that are gone, stopped or in containers, and children.

mod common;
mod containers;
mod direct;
mod left_posts;
mod offers;
mod peers;
mod silence;
mod write_order;

dat_two_processes::tests!(crate::common::node);
