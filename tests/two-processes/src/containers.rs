//! A peer in namespaces of its own, as in a container: the two sides connect, or the attempt fails
//! with a reason; neither hangs.

use std::process::Command;

use dat_conformance::{Node, expect_connection};
use dat_core::{Close, Connect, ConnectionEventKind, DtoStatus};

use crate::completions::{each_once, posts};
use crate::process;

/// Options of unshare(1), each for one namespace.
const NAMESPACES: [&str; 5] = ["--user", "--pid", "--net", "--ipc", "--mount"];

/// The command that runs a test in new namespaces. An unprivileged process can create them only in
/// a user namespace.
fn unshared(namespaces: &[&str], test: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(namespaces);
    if namespaces.contains(&"--user") || !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    if namespaces.contains(&"--pid") {
        command.args(["--fork", "--kill-child"]);
    }
    let program = process::command(test);
    command.arg(program.get_program()).args(program.get_args());
    command
}

/// Connects to a peer in new namespaces, for each of them alone and for all together. `test` is the
/// name of an ignored test that runs [`lost::peer`](crate::lost::peer) over an adapter like that of
/// the node, and finds `variables` in its environment.
///
/// # Panics
/// If a connection hangs or loses a message, or is refused although it `crosses_networks` or the peer
/// is in the same network.
pub fn each_namespace(node: &Node, test: &str, variables: &[(&str, &str)], crosses_networks: bool) {
    let alone = NAMESPACES.iter().map(|one| vec![*one]);
    for namespaces in alone.chain([NAMESPACES.to_vec()]) {
        let tried = unshared(&namespaces, test).arg("--list").output();
        if !tried.is_ok_and(|ran| ran.status.success()) {
            println!("NOT RUN: unshare {namespaces:?} is not possible here");
            continue;
        }
        let is_reached = crosses_networks || !namespaces.contains(&"--net");
        let mut command = unshared(&namespaces, test);
        let (mut child, port) = process::started(command.envs(variables.iter().copied()));
        if let Some(port) = port {
            connects(node, port, is_reached);
        } else {
            assert!(!is_reached, "{namespaces:?}: the peer cannot open its adapter");
            assert!(!child.wait().expect("a child").success());
        }
        println!("{namespaces:?}: {}", if is_reached { "connected" } else { "refused" });
        let _ = child.kill();
        child.wait().expect("a child");
    }
}

/// Connects and exchanges messages, or is refused.
fn connects(node: &Node, port: u64, is_reached: bool) {
    let ep = node.ep();
    let buffer = node.buffer(128);
    ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
    if is_reached {
        expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        let cookies = posts(&ep, &buffer, 8, 8);
        let done = each_once(&[&node.recv, &node.request], &cookies);
        assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
        ep.disconnect(Close::Abrupt).expect("connected");
        expect_connection(&node.connect, &ep, ConnectionEventKind::Disconnected);
    } else {
        expect_connection(&node.connect, &ep, ConnectionEventKind::NonPeerRejected);
    }
    ep.free().expect("unconnected");
}
