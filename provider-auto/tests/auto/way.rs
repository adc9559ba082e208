//! The transport that a connection between two processes uses: a ring is a memory file that the peer has
//! mapped (docs/provider-auto.md).

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use dat_conformance::{expect_connection, expect_request};
use dat_core::{Connect, ConnectionEventKind, DtoStatus, EpProvision};
use dat_two_processes::{NONE, each_once, posts};

use crate::common::on;

const ADAPTER: &str = "DAT_TEST_PEER";

/// The other process: accepts a request, sends messages, and stays until it is killed.
#[test]
#[ignore = "the other process of the tests below"]
fn peer() {
    let node = on(&std::env::var(ADAPTER).expect("the test sets it"));
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    println!("\nport {}", psp.qualifier());
    let ep = node.ep();
    let buffer = node.buffer(128);
    expect_request(&node.requests).request.accept(Some(&ep), b"").expect("unconnected");
    for cookie in 0..8 {
        ep.post_recv(&[buffer.piece(0, 64)], cookie, NONE).expect("live");
    }
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    for _ in 0..8 {
        ep.post_send(&[buffer.piece(64, 64)], 100, NONE).expect("live");
    }
    let _ = std::io::stdin().read(&mut [0]);
}

fn start(adapter: &str) -> (Child, u64) {
    let mut child = Command::new(std::env::current_exe().expect("a test"))
        .args(["--exact", "way::peer", "--ignored", "--nocapture"])
        .env(ADAPTER, adapter)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let port =
        lines.map_while(Result::ok).find_map(|line| line.strip_prefix("port ")?.parse().ok());
    (child, port.expect("the peer listens"))
}

/// Exchanges messages between two adapters. Returns whether they went through a ring.
fn has_ring(near: &str, far: &str) -> bool {
    let (mut child, port) = start(far);
    let node = on(near);
    let ep = node.ep();
    let buffer = node.buffer(128);
    let cookies = posts(&ep, &buffer, 8, 0);
    ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    for cookie in 1000..1008 {
        ep.post_send(&[buffer.piece(64, 64)], cookie, NONE).expect("connected");
    }
    let cookies: Vec<u64> = cookies.into_iter().chain(1000..1008).collect();
    let done = each_once(&[&node.recv, &node.request], &cookies);
    assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id())).expect("it lives");
    child.kill().expect("a child");
    child.wait().expect("a child");
    maps.contains("memfd:dat-shm")
}

#[test]
fn two_processes_of_a_machine_share_memory() {
    assert!(has_ring("auto?lo", "auto?lo"));
}

#[test]
fn a_process_with_an_adapter_over_tcp_is_reached_over_tcp() {
    assert!(!has_ring("auto?lo", "tcp-lo"));
    assert!(!has_ring("tcp-lo", "auto?lo"));
}

#[test]
fn the_default_adapter_shares_memory_too() {
    assert!(has_ring("auto", "auto"));
}
