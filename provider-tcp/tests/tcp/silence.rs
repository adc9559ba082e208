//! Peers that do not run, and machines that do not answer.

use dat_conformance::Node;
use dat_core::WaitCause;
use dat_two_processes::{network, silence};

use crate::common::{node, node_on};

#[test]
#[ignore = "a process that is stopped in the tests below, on this machine or on another one"]
fn peer() {
    let is_far = dat_provider_kit::network::interfaces().iter().any(|one| one.name == "far");
    silence::peer(if is_far { far } else { node });
}

fn far(parameters: &str) -> Node {
    node_on("tcp-far", parameters)
}

fn near(parameters: &str) -> Node {
    node_on("tcp-near", parameters)
}

#[test]
#[ignore = "in a network of its own"]
fn stopped() {
    silence::a_stopped_peer_is_slow(&node(silence::TIMEOUT), &[WaitCause::LinkFull]);
}

#[test]
fn a_stopped_peer_is_slow() {
    network::run(silence::SMALL_BUFFERS, "silence::stopped");
}

#[test]
#[ignore = "in a network of its own"]
fn lost() {
    silence::a_machine_that_does_not_answer_is_lost(near);
}

#[test]
fn a_machine_that_does_not_answer_is_lost() {
    network::run(silence::SMALL_BUFFERS, "silence::lost");
}
