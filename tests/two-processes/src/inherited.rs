//! What a child of fork inherits (docs/c-conventions.md, "fork").

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, stdin};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use dat_conformance::{Node, exchange, expect_connection, expect_dto, expect_request, link, until};
use dat_core::{Connect, ConnectionEventKind, DtoStatus, EpProvision};

use crate::child::Child;
use crate::completions::NONE;
use crate::process;

/// The open descriptors of this process, and what they refer to; without that of the folder.
fn descriptors() -> BTreeMap<String, PathBuf> {
    let folder = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    let all = fs::read_dir(&folder).expect("Linux").flatten();
    let all = all.filter_map(|one| {
        Some((one.file_name().into_string().ok()?, fs::read_link(one.path()).ok()?))
    });
    all.filter(|(_, to)| *to != folder).collect()
}

/// A parent has every kind of object; of their descriptors, its child keeps none, and it has one thread. Needs
/// a process of its own, whose descriptors it lists.
///
/// # Panics
/// If the child keeps a descriptor, or the parent is disturbed.
pub fn a_child_keeps_no_descriptor_of_its_parent(open: fn(&str) -> Node) {
    let before = descriptors();
    let node = open("");
    let far = open("");
    let (client, server) = node.pair();
    // With more than two endpoints, dispatchers watch their links by descriptors of their own.
    let (others, remote) = (node.pair(), (node.ep(), far.ep()));
    link(&node, &remote.0, &far, &remote.1);
    let psp = node.psp();
    let (asking, waiting) = (node.connecting(psp.qualifier()), node.connecting(psp.qualifier()));
    let request = expect_request(&node.requests);
    let cno = node.ia.cno_create(None).expect("a notification object");
    for descriptor in [node.recv.as_fd(), node.connect.as_fd(), cno.as_fd()] {
        assert!(descriptor.try_clone_to_owned().is_ok(), "it is open");
    }
    // A stranger that connects and says nothing. Only TCP has such a port.
    let so_far = descriptors().len();
    let port = u16::try_from(psp.qualifier()).ok().zip(node.address().ip());
    let stranger = port.and_then(|(port, ip)| TcpStream::connect((ip, port)).ok());
    until("it is accepted", || stranger.is_none() || descriptors().len() >= so_far + 2);
    let mut kept = before.clone();
    if let Some(stranger) = &stranger {
        let number = stranger.as_raw_fd().to_string();
        kept.extend(descriptors().remove_entry(&number));
    }
    Child::fork(60, || {
        let mut found = descriptors();
        found.retain(|number, to| kept.get(number) != Some(to) && to.as_os_str() != "/dev/null");
        let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        eprintln!("threads: {threads}; kept: {found:?}");
        found.is_empty() && threads == 1
    })
    .expect_success();
    exchange(&node, &client, &server);
    drop((others, remote, asking, waiting, request, cno, psp, stranger));
}

/// A parent frees its service point and listens again, while a child lives that makes no call.
///
/// # Panics
/// If the freed qualifier accepts a connection or is in use, or the new service point gets no request.
pub fn a_parent_listens_again_while_its_child_lives(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.psp();
    let qualifier = psp.qualifier();
    let child = Child::idle();
    psp.free().expect("live");
    let refused = node.connecting(qualifier);
    expect_connection(&node.connect, &refused, ConnectionEventKind::NonPeerRejected);
    let listen = node.ia.psp_create(qualifier, &node.requests, EpProvision::Consumer);
    let again = listen.expect("its qualifier is free");
    let asking = node.connecting(qualifier);
    let accepted = node.ep();
    expect_request(&node.requests).request.accept(Some(&accepted), b"").expect("unconnected");
    expect_connection(&node.connect, &asking, ConnectionEventKind::Established);
    again.free().expect("live");
    drop(child);
}

/// The other process: accepts a connection, forks, says so to its peer, and waits to be killed. Its child lives
/// until the standard input ends.
///
/// # Panics
/// If a call fails.
pub fn process_with_a_child(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.psp();
    process::announce(psp.qualifier());
    let ep = node.ep();
    let buffer = node.buffer(1);
    expect_request(&node.requests).request.accept(Some(&ep), b"").expect("unconnected");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    let child = Child::fork(120, || stdin().read(&mut [0]).is_ok());
    ep.post_send(&[buffer.piece(0, 1)], 1, NONE).expect("connected");
    child.expect_success();
}

/// A process is killed while a child of it lives: its peer is notified.
///
/// # Panics
/// If the connection does not end.
pub fn a_peer_notices_the_death_of_a_process_whose_child_lives(open: fn(&str) -> Node) {
    let node = open("");
    let buffer = node.buffer(1);
    let (mut server, port) = process::start("inherited::process_with_a_child");
    let ep = node.ep();
    ep.post_recv(&[buffer.piece(0, 1)], 1, NONE).expect("live");
    ep.connect(&Connect::to(node.address(), port)).expect("an attempt");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    assert_eq!(expect_dto(&node.recv, &[&ep]).status, DtoStatus::Success);
    // Kept open until the end: the child reads it.
    let input = server.stdin.take();
    server.kill().expect("it lives");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Disconnected);
    drop(input);
    server.wait().expect("its end");
}

/// A child has an adapter of its own at the address of its parent: nothing that the parent has is there.
///
/// # Panics
/// If the child finds the service point of its parent.
pub fn a_child_does_not_find_the_listeners_of_its_parent(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.psp();
    let qualifier = psp.qualifier();
    Child::fork(60, || {
        let own = open("");
        let refused = own.connecting(qualifier);
        expect_connection(&own.connect, &refused, ConnectionEventKind::NonPeerRejected);
        // The objects of the parent are dropped here, and not those of the child.
        drop((node, psp));
        let listen = own.ia.psp_create(qualifier, &own.requests, EpProvision::Consumer);
        let asking = listen.is_ok().then(|| own.connecting(qualifier));
        asking.is_some_and(|_| expect_request(&own.requests).request.reject(b"").is_ok())
    })
    .expect_success();
}
