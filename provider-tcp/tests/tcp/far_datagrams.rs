//! Datagrams between two machines.

use std::net::IpAddr;
use std::process::Command;

use dat_conformance::Node;
use dat_two_processes::datagrams;
use dat_two_processes::network::{self, Machine};

use crate::common::node_on;

/// Fails where the kernel cannot limit how fast an interface sends.
const WITH_TBF: &str =
    "tc qdisc add dev lo root tbf rate 1gbit burst 1mb latency 1s\ntc qdisc del dev lo root";

#[test]
#[ignore = "the process on the other machine"]
fn peer() {
    datagrams::peer(|parameters| node_on("tcp-far", parameters));
}

/// Those that are longer than a packet of the wire cross in fragments.
#[test]
#[ignore = "in a network of its own"]
fn crossing() {
    let machine = Machine::new();
    let node: Node = node_on("tcp-near", "");
    let far: IpAddr = Machine::FAR.parse().expect("an address");
    datagrams::every_length_crosses(&node, far, &mut machine.command("far_datagrams::peer"));
}

#[test]
fn every_length_crosses_between_machines() {
    network::run("", "far_datagrams::crossing");
}

#[test]
#[ignore = "in a network of its own"]
fn waiting() {
    let machine = Machine::new();
    let node: Node = node_on("tcp-near", "");
    let far: IpAddr = Machine::FAR.parse().expect("an address");
    let slow = || {
        let mut command = Command::new("tc");
        command.args(["qdisc", "add", "dev", "near", "root", "tbf"]);
        command.args(["rate", "50mbit", "burst", "32kb", "latency", "10s"]);
        assert!(command.status().expect("iproute2").success());
    };
    let mut peer = machine.command("far_datagrams::peer");
    datagrams::those_without_space_wait(&node, far, &mut peer, slow);
}

#[test]
fn those_without_space_wait() {
    network::run(WITH_TBF, "far_datagrams::waiting");
}
