//! Local ports.

use dat_two_processes::{network, ports};

use crate::common::node;

#[test]
#[ignore = "in a network of its own"]
fn few() {
    ports::they_are_shared(node);
}

#[test]
fn they_are_shared() {
    network::run(ports::FEW, "ports::few");
}
