//! Many connections of one adapter.

use dat_conformance::{Buffer, Node, expect_connections, link, until};
use dat_core::{Close, ConnectionEventKind, DtoStatus, Ep};

use crate::completions::{NONE, each_once};
use crate::process::raise_descriptors;

/// The number of threads of adapters in this process.
pub(crate) fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "dat-progress").count()
}

/// 120 connections between two adapters share dispatchers.
///
/// # Panics
/// If a message is lost.
pub fn hundreds_of_connections_share_dispatchers(open: fn(&str) -> Node) {
    const PAIRS: usize = 120;
    raise_descriptors();
    let (near, far) = (open(""), open(""));
    let pairs: Vec<(Ep, Ep)> = (0..PAIRS)
        .map(|_| {
            let (client, server) = (near.ep(), far.ep());
            link(&near, &client, &far, &server);
            (client, server)
        })
        .collect();
    let (source, target): (Buffer, Buffer) = (near.buffer(PAIRS), far.buffer(PAIRS));
    source.fill(0, &[9; PAIRS]);
    let cookies: Vec<u64> = (0..PAIRS as u64).collect();
    for _ in 0..3 {
        for (index, (client, server)) in pairs.iter().enumerate() {
            server.post_recv(&[target.piece(index, 1)], index as u64, NONE).expect("live");
            client.post_send(&[source.piece(index, 1)], index as u64, NONE).expect("connected");
        }
        for queue in [&far.recv, &near.request] {
            let done = each_once(&[queue], &cookies);
            assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
        }
        assert_eq!(target.bytes(0, PAIRS), [9; PAIRS]);
    }
    for (client, server) in &pairs {
        client.disconnect(Close::Graceful).expect("connected");
        expect_connections(&near.connect, &[client], ConnectionEventKind::Disconnected);
        expect_connections(&far.connect, &[server], ConnectionEventKind::Disconnected);
    }
    for (client, server) in pairs {
        client.free().expect("disconnected");
        server.free().expect("disconnected");
    }
    for buffer in [source, target] {
        buffer.lmr.free().expect("unused");
    }
    near.finish();
    far.finish();
}

/// 20 adapters have a thread each, until they are closed.
///
/// # Panics
/// If a thread remains.
pub fn the_thread_ends_with_its_adapter(open: fn(&str) -> Node) {
    let adapters: Vec<_> = (0..20).map(|_| open("")).collect();
    until("the threads run", || threads() >= 20);
    adapters.into_iter().for_each(Node::finish);
    // Other tests have threads of their own.
    until("the threads end", || threads() < 20);
}
