//! The calls of rdma_cm(7) that wrap verbs: registrations, posts and completions through an
//! identifier, each with a test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdma_verbs::cm::CmId;
use rdma_verbs::verbs::{AddressHandle, CompletionKind, CompletionStatus, MemoryRegion, SendFlags};

use crate::common::*;

/// Runs a test with both sides of a connection, and ends the connection.
fn with_connection(test: impl FnOnce(&CmId, &CmId) + Send + 'static) {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        test(&active, &passive);
        disconnect(active, passive);
    });
}

fn messages(id: &CmId, bytes: &[u8]) -> Arc<MemoryRegion> {
    id.register_messages(bytes).expect("registered")
}

#[test]
fn reg_msgs_registers_memory_for_messages() {
    with_connection(|active, passive| {
        let (source, target) = (messages(active, b"hello"), messages(passive, &[0; 8]));
        passive.post_receive(1, &[target.segment(0..8).expect("inside")]).expect("posted");
        let segment = source.segment(0..5).expect("inside");
        active.post_send(2, &[segment], SendFlags::SIGNALED).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        assert!(passive.receive_completion().expect("complete").is_success());
        // The peer may not access it.
        let local = messages(active, &[0; 8]);
        let segments = [local.segment(0..5).expect("inside")];
        active.post_read(3, &segments, SendFlags::SIGNALED, target.remote(0)).expect("posted");
        let refused = active.send_completion().expect("complete");
        assert_ne!(refused.status, CompletionStatus::Success);
    });
}

#[test]
fn reg_read_registers_memory_that_the_peer_reads() {
    with_connection(|active, passive| {
        let remote = passive.register_read(&b"readable"[..]).expect("registered");
        let local = messages(active, &[0; 8]);
        let segments = [local.segment(0..8).expect("inside")];
        active.post_read(1, &segments, SendFlags::SIGNALED, remote.remote(0)).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        assert_eq!(local.to_vec(0..8).expect("inside"), b"readable");
    });
}

#[test]
fn reg_write_registers_memory_that_the_peer_writes() {
    with_connection(|active, passive| {
        let remote = passive.register_write(&[0_u8; 8][..]).expect("registered");
        let local = messages(active, b"written!");
        let segments = [local.segment(0..8).expect("inside")];
        active.post_write(1, &segments, SendFlags::SIGNALED, remote.remote(0)).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        assert_eq!(remote.to_vec(0..8).expect("inside"), b"written!");
    });
}

#[test]
fn dereg_mr_waits_for_the_posts_of_a_region() {
    with_connection(|active, passive| {
        let target = messages(passive, &[0; 8]);
        passive.post_receive(1, &[target.segment(0..8).expect("inside")]).expect("posted");
        let busy = target.deregister().expect_err("a post uses it");
        assert_eq!(busy.errno, libc::EBUSY);
        let source = messages(active, b"x");
        let segment = source.segment(0..1).expect("inside");
        active.post_send(2, &[segment], SendFlags::SIGNALED).expect("posted");
        assert!(passive.receive_completion().expect("complete").is_success());
        target.deregister().expect("unused");
        target.deregister().expect("a second time, which does nothing");
        let gone = target.segment(0..8).expect("inside");
        assert_eq!(passive.post_receive(3, &[gone]).expect_err("gone").errno, libc::EINVAL);
        assert!(active.send_completion().expect("complete").is_success());
    });
}

#[test]
fn post_recv_receives_a_message() {
    with_connection(|active, passive| {
        let target = messages(passive, &[0; 8]);
        passive.post_receive(7, &[target.segment(2..8).expect("inside")]).expect("posted");
        let source = messages(active, b"abc");
        let segment = source.segment(0..3).expect("inside");
        active.post_send(1, &[segment], SendFlags::SIGNALED).expect("posted");
        let received = passive.receive_completion().expect("complete");
        assert_eq!((received.id, received.length), (7, 3));
        assert_eq!(received.kind, Some(CompletionKind::Receive));
        assert_eq!(target.to_vec(0..8).expect("inside"), b"\0\0abc\0\0\0");
    });
}

#[test]
fn post_send_sends_a_message() {
    with_connection(|active, passive| {
        passive.post_receive(1, &[]).expect("posted");
        active.post_send(9, &[], SendFlags::SIGNALED | SendFlags::SOLICITED).expect("posted");
        let sent = active.send_completion().expect("complete");
        assert_eq!((sent.id, sent.kind), (9, Some(CompletionKind::Send)));
        assert_eq!(passive.receive_completion().expect("complete").length, 0);
    });
}

#[test]
fn post_read_reads_the_memory_of_the_peer() {
    with_connection(|active, passive| {
        let remote = passive.register_read(&b"0123456789"[..]).expect("registered");
        let local = messages(active, &[0; 4]);
        let segments = [local.segment(0..4).expect("inside")];
        active.post_read(5, &segments, SendFlags::SIGNALED, remote.remote(3)).expect("posted");
        let read = active.send_completion().expect("complete");
        assert_eq!((read.id, read.kind), (5, Some(CompletionKind::Read)));
        assert_eq!(local.to_vec(0..4).expect("inside"), b"3456");
    });
}

/// Awaits what a write leaves in memory. On iWARP, its completion says only that the data was sent.
fn await_bytes(region: &MemoryRegion, expected: &[u8]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let found = || region.to_vec(0..expected.len()).expect("inside");
    while found() != expected && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(found(), expected);
}

#[test]
fn post_write_writes_the_memory_of_the_peer() {
    with_connection(|active, passive| {
        let remote = passive.register_write(&[b'-'; 8][..]).expect("registered");
        let local = messages(active, b"ab");
        let segments = [local.segment(0..2).expect("inside")];
        active.post_write(6, &segments, SendFlags::SIGNALED, remote.remote(3)).expect("posted");
        let written = active.send_completion().expect("complete");
        assert_eq!((written.id, written.kind), (6, Some(CompletionKind::Write)));
        await_bytes(&remote, b"---ab---");
    });
}

#[test]
fn post_recvv_receives_into_several_segments() {
    with_connection(|active, passive| {
        let target = messages(passive, &[b'.'; 8]);
        let segments = [0..2, 4..8].map(|range| target.segment(range).expect("inside"));
        passive.post_receive(1, &segments).expect("posted");
        let source = messages(active, b"abcd");
        let segment = source.segment(0..4).expect("inside");
        active.post_send(2, &[segment], SendFlags::SIGNALED).expect("posted");
        assert_eq!(passive.receive_completion().expect("complete").length, 4);
        assert_eq!(target.to_vec(0..8).expect("inside"), b"ab..cd..");
    });
}

#[test]
fn post_sendv_sends_from_several_segments() {
    with_connection(|active, passive| {
        let target = messages(passive, &[0; 4]);
        passive.post_receive(1, &[target.segment(0..4).expect("inside")]).expect("posted");
        let source = messages(active, b"abcdef");
        let segments = [4..6, 0..2].map(|range| source.segment(range).expect("inside"));
        active.post_send(2, &segments, SendFlags::SIGNALED).expect("posted");
        assert_eq!(passive.receive_completion().expect("complete").length, 4);
        assert_eq!(target.to_vec(0..4).expect("inside"), b"efab");
    });
}

#[test]
fn post_readv_reads_into_several_segments() {
    with_connection(|active, passive| {
        let remote = passive.register_read(&b"abcd"[..]).expect("registered");
        let local = messages(active, &[b'.'; 6]);
        // A read over iWARP has one segment.
        let most = active.context().expect("bound").query().expect("its limits").max_sge_rd;
        let count = most.clamp(1, 2) as usize;
        let ranges = &[0..2, 4..6][..count];
        let segments: Vec<_> =
            ranges.iter().map(|range| local.segment(range.clone()).expect("inside")).collect();
        active.post_read(1, &segments, SendFlags::SIGNALED, remote.remote(0)).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        let read: Vec<u8> =
            ranges.iter().flat_map(|range| local.to_vec(range.clone()).expect("inside")).collect();
        assert_eq!(read, b"abcd"[..2 * count]);
    });
}

#[test]
fn post_writev_writes_from_several_segments() {
    with_connection(|active, passive| {
        let remote = passive.register_write(&[0_u8; 4][..]).expect("registered");
        let local = messages(active, b"abcdef");
        let segments = [4..6, 0..2].map(|range| local.segment(range).expect("inside"));
        active.post_write(1, &segments, SendFlags::SIGNALED, remote.remote(0)).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        await_bytes(&remote, b"efab");
    });
}

#[test]
fn post_ud_send_sends_a_datagram() {
    with_device(|address| {
        let peers = datagram_peers(address);
        let (id, request) = (&peers.client, &peers.server);
        let target = messages(request, &[0; 64]);
        request.post_receive(1, &[target.segment(0..64).expect("inside")]).expect("posted");
        let source = messages(id, b"to and fro");
        let domain = id.domain().expect("the default one");
        let handle = AddressHandle::new(&domain, &peers.address).expect("reachable");
        let segments = [source.segment(0..10).expect("inside")];
        let flags = SendFlags::SIGNALED;
        id.post_datagram(2, &segments, flags, &handle, peers.queue_pair).expect("posted");
        drop(handle);
        let received = request.receive_completion().expect("complete");
        assert_eq!(target.to_vec(40..50).expect("inside"), b"to and fro");
        // The answer goes to the sender of the datagram.
        let back = messages(id, &[0; 64]);
        id.post_receive(3, &[back.segment(0..64).expect("inside")]).expect("posted");
        let domain = request.domain().expect("the default one");
        let handle = AddressHandle::from_completion(&domain, request.port(), &received, &target, 0);
        let segments = [target.segment(40..50).expect("inside")];
        let (handle, sender) = (handle.expect("of the sender"), received.source_queue_pair);
        request.post_datagram(4, &segments, flags, &handle, sender).expect("posted");
        assert_eq!(id.receive_completion().expect("complete").length, 50);
        assert_eq!(back.to_vec(40..50).expect("inside"), b"to and fro");
    });
}

#[test]
fn get_send_comp_waits_for_requests() {
    with_connection(|active, passive| {
        passive.post_receive(1, &[]).expect("posted");
        let waiting = active.clone();
        let waiting = std::thread::spawn(move || waiting.send_completion());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished(), "nothing was sent");
        active.post_send(4, &[], SendFlags::SIGNALED).expect("posted");
        let sent = waiting.join().expect("the waiter").expect("complete");
        assert_eq!(sent.id, 4);
    });
}

#[test]
fn get_recv_comp_waits_for_receives() {
    with_connection(|active, passive| {
        passive.post_receive(1, &[]).expect("posted");
        let waiting = passive.clone();
        let waiting = std::thread::spawn(move || waiting.receive_completion());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished(), "nothing was sent");
        active.post_send(4, &[], SendFlags::SIGNALED).expect("posted");
        let received = waiting.join().expect("the waiter").expect("complete");
        assert_eq!(received.id, 1);
    });
}
