//! What the provider does about peers that are gone or stopped, and children; and the transport
//! that a connection between two processes uses.

mod address_table;
mod addresses;
mod common;
mod containers;
mod machine;
mod mixed;
mod way;

dat_two_processes::tests!(crate::common::node);
