//! What the shared-memory provider does about peers that are gone or stopped, and children.

mod common;

dat_two_processes::tests!(crate::common::node);
