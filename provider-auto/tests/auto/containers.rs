//! Containers: the peer is in namespaces of its own. The loopback interface of a new network namespace
//! is down, so the adapter cannot be opened there.

use dat_two_processes::{containers, lost};

use crate::common::node;

#[test]
#[ignore = "the other process of the test below"]
fn peer() {
    lost::peer(node);
}

#[test]
fn processes_reach_each_other_in_one_network_namespace() {
    containers::each_namespace(&node(""), "containers::peer", &[], false);
}
