//! Posting data transfer operations, and their completions.

use crate::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

cases! {
    "dat_ep_post_recv(3DAT)":
        a_message_fills_the_segments_of_the_receive_in_order,
        a_receive_that_is_too_short_fails_and_so_does_the_send;
    "dat_ep_post_send(3DAT)":
        a_message_may_be_empty,
        messages_keep_their_order_and_cookies_need_not_be_unique,
        a_send_without_a_receive_holds_up_later_requests,
        an_error_is_never_suppressed,
        posts_of_many_threads_on_one_endpoint_all_complete;
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)":
        an_empty_segment_needs_no_valid_region,
        the_state_decides_which_posts_are_allowed,
        completion_flags_must_suit_the_operation_and_the_endpoint,
        invalid_segments_are_refused_and_nothing_is_posted;
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT)":
        a_single_empty_segment_needs_no_valid_region;
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT)":
        an_empty_segment_counts_as_a_segment,
        posts_are_limited_until_completions_are_dequeued,
        unsignalled_posts_need_an_unsignalled_endpoint;
    "dat_ep_post_send(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)":
        a_suppressed_success_raises_no_event_and_returns_its_credit;
    "dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)":
        an_rdma_target_must_be_long_enough,
        rdma_moves_bytes_without_the_other_side_noticing,
        a_remote_access_error_completes_with_a_status_and_breaks_the_connection;
    "dat_ep_post_rdma_read(3DAT)":
        an_endpoint_without_rdma_reads_refuses_them;
}

fn a_message_fills_the_segments_of_the_receive_in_order() {
    let (node, client, server) = linked_pair();
    let (source, target) = (node.buffer(64), node.buffer(64));
    source.fill(0, b"abcdefghij");
    let from = [source.piece(0, 3), source.piece(3, 0), source.piece(3, 7)];
    let to = [target.piece(0, 4), target.piece(20, 4), target.piece(40, 4), target.piece(60, 4)];
    server.post_recv(&to, 1, NONE).expect("connected");
    client.post_send(&from, 2, NONE).expect("connected");
    let received = expect_dto(&node.recv, &[&client, &server]);
    assert_eq!((received.operation, received.length), (Operation::Receive, 10));
    assert_eq!(expect_dto(&node.request, &[&client]).length, 10);
    assert_eq!(target.bytes(0, 4), b"abcd");
    assert_eq!(target.bytes(20, 4), b"efgh");
    assert_eq!(target.bytes(40, 4), b"ij\0\0", "partially filled");
    assert_eq!(target.bytes(60, 4), [0; 4], "not filled at all");
}

fn a_message_may_be_empty() {
    let (node, client, server) = linked_pair();
    let memory = node.buffer(8);
    for iov in [&[][..], &[memory.piece(0, 8)]] {
        server.post_recv(iov, 1, NONE).expect("connected");
        client.post_send(&[], 2, NONE).expect("connected");
        let received = expect_dto(&node.recv, &[&client, &server]);
        assert_eq!((received.status, received.length), (DtoStatus::Success, 0));
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
    }
}

/// Segments of length 0 with the leftovers that programs pass: a context that never existed, one of
/// a freed region, one of another zone, and invalid addresses.
fn empty_segments(node: &Node, piece: LmrTriplet) -> Vec<LmrTriplet> {
    let freed = node.buffer(8);
    let stale = freed.piece(0, 0);
    freed.lmr.free().expect("not bound");
    let other = node.ia.pz_create().expect("made");
    let elsewhere = Buffer::new(&node.ia, &other, 8).piece(0, 0);
    let made_up = LmrTriplet { length: 0, context: 0xdead_beef, ..piece };
    let outside = LmrTriplet { length: 0, address: u64::MAX, ..piece };
    let unset = LmrTriplet { length: 0, address: 0, context: 0 };
    vec![stale, elsewhere, made_up, outside, unset]
}

fn an_empty_segment_needs_no_valid_region() {
    let (node, client, server) = linked_pair();
    let (near, far) = (node.buffer(64), node.buffer(64));
    let watched = [&client, &server];
    for empty in empty_segments(&node, near.piece(0, 8)) {
        near.fill(0, b"abcdefgh");
        far.fill(0, &[0; 64]);
        let from = [near.piece(0, 3), empty, near.piece(3, 5)];
        let into = [empty, far.piece(0, 4), far.piece(8, 4)];
        server.post_recv(&into, 1, NONE).expect("connected");
        client.post_send(&from, 2, NONE).expect("connected");
        let received = expect_dto(&node.recv, &watched);
        assert_eq!((received.status, received.length), (DtoStatus::Success, 8), "{empty:?}");
        assert_eq!(expect_dto(&node.request, &watched).status, DtoStatus::Success);
        assert_eq!((far.bytes(0, 4), far.bytes(8, 4)), (b"abcd".to_vec(), b"efgh".to_vec()));
        client.post_rdma_write(&from, 3, far.remote(16, 8), NONE).expect("connected");
        expect_completion(&node.request, &watched, 3, DtoStatus::Success);
        // Reads of iWARP have one segment.
        let read_iov = client.query().expect("live").attributes.max_rdma_read_iov;
        let into = match read_iov {
            0..3 => &[near.piece(16, 8)][..],
            _ => &[near.piece(16, 4), empty, near.piece(20, 4)],
        };
        client.post_rdma_read(into, 4, far.remote(16, 8), NONE).expect("connected");
        expect_completion(&node.request, &watched, 4, DtoStatus::Success);
        // Over iWARP a write completes before it is placed, but always ahead of a later read.
        assert_eq!(far.bytes(16, 8), b"abcdefgh");
        assert_eq!(near.bytes(16, 8), b"abcdefgh");
    }
}

fn a_single_empty_segment_needs_no_valid_region() {
    let (node, client, server) = linked_pair();
    let (near, far) = (node.buffer(8), node.buffer(8));
    let watched = [&client, &server];
    for empty in empty_segments(&node, near.piece(0, 8)) {
        server.post_recv(&[empty], 1, NONE).expect("connected");
        client.post_send(&[empty], 2, NONE).expect("connected");
        let received = expect_dto(&node.recv, &watched);
        assert_eq!((received.status, received.length), (DtoStatus::Success, 0), "{empty:?}");
        assert_eq!(expect_dto(&node.request, &watched).status, DtoStatus::Success);
        client.post_rdma_write(&[empty], 3, far.remote(0, 8), NONE).expect("connected");
        expect_completion(&node.request, &watched, 3, DtoStatus::Success);
    }
}

fn an_empty_segment_counts_as_a_segment() {
    let (node, client, server) = linked_pair();
    let memory = node.buffer(8);
    let most = client.query().expect("live").attributes;
    let iov = |count: u32| vec![memory.piece(0, 0); count as usize + 1];
    refused(client.post_send(&iov(most.max_request_iov), 1, NONE), Subtype::InvalidArg2);
    refused(server.post_recv(&iov(most.max_recv_iov), 1, NONE), Subtype::InvalidArg2);
}

fn messages_keep_their_order_and_cookies_need_not_be_unique() {
    let (node, client, server) = linked_pair();
    let memory = node.buffer(128);
    for at in 0..50 {
        memory.fill(at, &[at as u8]);
        server.post_recv(&[memory.piece(64 + at, 1)], 7, NONE).expect("connected");
    }
    for at in 0..50 {
        client.post_send(&[memory.piece(at, 1)], u64::MAX, NONE).expect("connected");
    }
    for _ in 0..50 {
        assert_eq!(expect_dto(&node.recv, &[&client, &server]).cookie, 7);
        assert_eq!(expect_dto(&node.request, &[&client, &server]).cookie, u64::MAX);
    }
    assert_eq!(memory.bytes(64, 50), (0..50).collect::<Vec<u8>>());
}

fn a_send_without_a_receive_holds_up_later_requests() {
    let (node, client, server) = linked_pair();
    let memory = node.buffer(64);
    memory.fill(0, b"late");
    client.post_send(&[memory.piece(0, 4)], 1, NONE).expect("connected");
    let written = client.post_rdma_write(&[memory.piece(0, 4)], 2, memory.remote(32, 4), NONE);
    written.expect("connected");
    expect_no_event(&node.request);
    assert_eq!(memory.bytes(32, 4), [0; 4], "requests start in their order");
    assert!(!client.status().expect("live").request_idle);
    server.post_recv(&[memory.piece(16, 4)], 3, NONE).expect("connected");
    for (cookie, operation) in [(1, Operation::Send), (2, Operation::RdmaWrite)] {
        let completion = expect_dto(&node.request, &[&client, &server]);
        assert_eq!((completion.cookie, completion.operation), (cookie, operation));
    }
    assert_eq!((memory.bytes(16, 4), memory.bytes(32, 4)), (b"late".to_vec(), b"late".to_vec()));
    assert!(client.status().expect("live").request_idle);
}

fn the_state_decides_which_posts_are_allowed() {
    in_every_state(|node, staged, wanted| {
        let ep = &staged.ep;
        let memory = node.buffer(16);
        let (local, remote) = ([memory.piece(0, 8)], memory.remote(8, 8));
        drain(&node.request);
        let received = ep.post_recv(&local, 1, NONE);
        if wanted.is_unconfigured() {
            refused(received, wanted.invalid_state());
        } else {
            received.unwrap_or_else(|error| panic!("a receive in {wanted}: {error}"));
        }
        if wanted == EpState::Disconnected {
            expect_completion(&node.recv, &[ep], 1, DtoStatus::Flushed);
        }
        let posts = [
            ep.post_rdma_write(&local, 2, remote, NONE),
            ep.post_rdma_read(&local, 3, remote, NONE),
            ep.post_send(&[], 4, NONE),
        ];
        for (cookie, posted) in (2..).zip(posts) {
            if !matches!(wanted, EpState::Connected | EpState::Disconnected) {
                refused_naming(posted, wanted.invalid_state(), wanted.name());
                continue;
            }
            posted.unwrap_or_else(|error| panic!("a request in {wanted}: {error}"));
            if wanted == EpState::Disconnected {
                expect_completion(&node.request, &[ep], cookie, DtoStatus::Flushed);
            }
        }
        assert_eq!(state(ep), wanted, "posts don't change the state");
    });
}

fn posts_are_limited_until_completions_are_dequeued() {
    let node = Node::new();
    let client = node.ep_with(|it| (it.max_request_dtos, it.max_recv_dtos) = (3, 2));
    let server = node.linked_to(&client);
    post_sends(&client, 0..3);
    refused(client.post_send(&[], 3, NONE), Subtype::ResourceCredits);
    post_receives(&client, 0..2);
    refused(client.post_recv(&[], 3, NONE), Subtype::ResourceCredits);
    post_receives(&server, [0; 3]);
    expect_completion(&node.request, &[&client], 0, DtoStatus::Success);
    client.post_send(&[], 3, NONE).expect("within the limit again");
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connection(&node.connect, &client, ConnectionEventKind::Disconnected);
    drain(&node.recv);
    client.post_recv(&[], 4, NONE).expect("within the limit again");
}

fn a_suppressed_success_raises_no_event_and_returns_its_credit() {
    let node = Node::new();
    let client = node.ep_with(|it| it.max_request_dtos = 2);
    let server = node.linked_to(&client);
    let memory = node.buffer(16);
    // Space comes back when the peer has executed a request, which may take a moment.
    let posts = |post: &dyn Fn() -> Result<()>| {
        until("a suppressed request makes space", || match post() {
            Err(error) if error.is(ReturnType::InsufficientResources) => false,
            posted => posted.map(|()| true).expect("connected"),
        });
    };
    for _ in 0..10 {
        server.post_recv(&[], 0, NONE).expect("connected");
        posts(&|| client.post_send(&[], 1, CompletionFlags::SUPPRESS));
        assert_eq!(expect_dto(&node.recv, &[&server]).status, DtoStatus::Success);
        let (local, remote) = ([memory.piece(0, 8)], memory.remote(8, 8));
        posts(&|| client.post_rdma_write(&local, 2, remote, CompletionFlags::SUPPRESS));
        posts(&|| client.post_rdma_read(&local, 3, remote, CompletionFlags::SUPPRESS));
    }
    until("the suppressed requests are over", || client.status().expect("live").request_idle);
    expect_no_event(&node.request);
}

fn an_error_is_never_suppressed() {
    for flush in [false, true] {
        let (node, client, server) = linked_pair();
        let memory = node.buffer(8);
        if flush {
            client.post_send(&[], 1, CompletionFlags::SUPPRESS).expect("connected");
            client.disconnect(Close::Abrupt).expect("connected");
        } else {
            server.post_recv(&[], 0, NONE).expect("connected");
            let local = [memory.piece(0, 8)];
            client.post_send(&local, 1, CompletionFlags::SUPPRESS).expect("connected");
        }
        let expected = if flush { DtoStatus::Flushed } else { DtoStatus::RemoteResponder };
        expect_completion(&node.request, &[&client, &server], 1, expected);
        becomes(&server, EpState::Disconnected);
    }
}

fn completion_flags_must_suit_the_operation_and_the_endpoint() {
    let (node, client, _server) = linked_pair();
    let memory = node.buffer(16);
    let (local, remote) = ([memory.piece(0, 8)], memory.remote(8, 8));
    let unsignalled = CompletionFlags::UNSIGNALLED;
    refused(client.post_send(&[], 1, unsignalled), Subtype::InvalidArg5);
    refused(client.post_recv(&[], 1, unsignalled), Subtype::InvalidArg5);
    refused(client.post_rdma_write(&local, 1, remote, unsignalled), Subtype::InvalidArg6);
    refused(client.post_rdma_read(&local, 1, remote, unsignalled), Subtype::InvalidArg6);
    for flags in [
        CompletionFlags::SUPPRESS,
        CompletionFlags::SOLICITED_WAIT,
        CompletionFlags::BARRIER_FENCE,
        CompletionFlags::from_bits_retain(0x100),
    ] {
        refused(client.post_recv(&[], 1, flags), Subtype::InvalidArg5);
    }
    let solicited = CompletionFlags::SOLICITED_WAIT;
    refused(client.post_rdma_read(&local, 1, remote, solicited), Subtype::InvalidArg6);
    for flags in [CompletionFlags::EVD_THRESHOLD, CompletionFlags::from_bits_retain(0x100)] {
        refused(client.post_send(&[], 1, flags), Subtype::InvalidArg5);
    }
    expect_no_events(&[&node.recv, &node.request, &node.connect]);
    let allowed = CompletionFlags::SUPPRESS | solicited | CompletionFlags::BARRIER_FENCE;
    client.post_send(&[], 1, allowed).expect("a send has all these");
}

fn invalid_segments_are_refused_and_nothing_is_posted() {
    let (node, client, server) = linked_pair();
    let memory = node.buffer(16);
    let piece = memory.piece(0, 8);
    let remote = memory.remote(8, 8);
    type Post<'a> = (&'a dyn Fn(LmrTriplet) -> Result<()>, (Subtype, Subtype));
    let (reads, writes) = (
        (Subtype::ProtectionRead, Subtype::PrivilegesRead),
        (Subtype::ProtectionWrite, Subtype::PrivilegesWrite),
    );
    let posts: [Post<'_>; 4] = [
        (&|it| client.post_send(&[it], 1, NONE), reads),
        (&|it| client.post_recv(&[it], 1, NONE), writes),
        (&|it| client.post_rdma_write(&[it], 1, remote, NONE), reads),
        (&|it| client.post_rdma_read(&[it], 1, remote, NONE), writes),
    ];
    let (_other, elsewhere) = node.elsewhere(8);
    let bare = node.buffer_with(8, Privileges::REMOTE);
    for (post, (protection, privileges)) in posts {
        for outside in [
            LmrTriplet { length: 17, ..piece },
            LmrTriplet { address: piece.address - 1, ..piece },
            LmrTriplet { address: piece.address + 9, ..piece },
            LmrTriplet { address: u64::MAX, ..piece },
            LmrTriplet { length: u64::MAX, ..piece },
        ] {
            refused(post(outside), Subtype::InvalidArg3);
        }
        refused(post(elsewhere.piece(0, 8)), protection);
        refused(post(bare.piece(0, 8)), privileges);
        refused(post(LmrTriplet { context: 0xdead_beef, ..piece }), privileges);
    }
    assert!(client.status().expect("live").recv_idle);
    assert!(state(&server).is_connected());
    expect_no_events(&[&node.recv, &node.request, &node.connect]);
}

fn an_rdma_target_must_be_long_enough() {
    let (node, client, _server) = linked_pair();
    let memory = node.buffer(32);
    let write = |local, remote| {
        client.post_rdma_write(&[memory.piece(0, local)], 1, memory.remote(16, remote), NONE)
    };
    let read = |local, remote| {
        client.post_rdma_read(&[memory.piece(0, local)], 1, memory.remote(16, remote), NONE)
    };
    refused(write(8, 7), ReturnType::LengthError);
    refused(read(7, 8), ReturnType::LengthError);
    expect_no_event(&node.request);
    for posted in [write(7, 8), write(8, 8), read(8, 7), read(8, 8)] {
        posted.expect("long enough");
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
    }
}

fn rdma_moves_bytes_without_the_other_side_noticing() {
    let (node, client, server) = linked_pair();
    let (near, far) = (node.buffer(64), node.buffer(64));
    near.fill(0, b"0123456789");
    let segments = [near.piece(0, 4), near.piece(4, 6)];
    client.post_rdma_write(&segments, 1, far.remote(7, 20), NONE).expect("connected");
    let completion = expect_dto(&node.request, &[&client]);
    assert_eq!((completion.operation, completion.length), (Operation::RdmaWrite, 10));
    assert_eq!(far.bytes(6, 12), b"\x000123456789\0");
    let segments = [near.piece(40, 3), near.piece(50, 10)];
    client.post_rdma_read(&segments, 2, far.remote(7, 10), NONE).expect("connected");
    let completion = expect_dto(&node.request, &[&client]);
    assert_eq!((completion.operation, completion.length), (Operation::RdmaRead, 10));
    assert_eq!((near.bytes(40, 3), near.bytes(50, 8)), (b"012".to_vec(), b"3456789\0".to_vec()));
    expect_no_event(&node.recv);
    assert!(server.status().expect("live").recv_idle);
}

fn a_remote_access_error_completes_with_a_status_and_breaks_the_connection() {
    let node = Node::new();
    let far = node.buffer(16);
    let (_other, elsewhere) = node.elsewhere(16);
    let readable = node.buffer_with(16, Privileges::REMOTE_READ);
    let writable = node.buffer_with(16, Privileges::REMOTE_WRITE);
    let good = far.remote(0, 8);
    let both: [RmrTriplet; 4] = [
        RmrTriplet { context: 0xdead_beef, ..good },
        RmrTriplet { address: good.address - 1, ..good },
        RmrTriplet { address: good.address + 9, ..good },
        elsewhere.remote(0, 8),
    ];
    let reads = both.into_iter().chain([writable.remote(0, 8)]);
    let writes = both.into_iter().chain([readable.remote(0, 8)]);
    let attempts = reads.map(|it| (true, it)).chain(writes.map(|it| (false, it)));
    for (is_read, remote) in attempts {
        let (client, server) = node.pair();
        let near = node.buffer_of(b"as it is");
        client.post_recv(&[], 5, NONE).expect("connected");
        let local = [near.piece(0, 8)];
        let post = if is_read { Ep::post_rdma_read } else { Ep::post_rdma_write };
        post(&client, &local, 1, remote, NONE).expect("only the peer can see it");
        expect_completion(&node.request, &[&client, &server], 1, DtoStatus::RemoteAccess);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
        expect_completion(&node.recv, &[&client], 5, DtoStatus::Flushed);
        assert_eq!(near.bytes(0, 8), b"as it is");
        free_all(&[&client, &server]);
    }
    for buffer in [far, elsewhere, readable, writable] {
        assert_eq!(buffer.bytes(0, 16), [0; 16]);
    }
}

fn an_endpoint_without_rdma_reads_refuses_them() {
    let node = Node::new();
    let client = node.ep_with(|it| it.max_rdma_read_out = 0);
    let _server = node.linked_to(&client);
    let memory = node.buffer(16);
    let posted = client.post_rdma_read(&[memory.piece(0, 8)], 1, memory.remote(8, 8), NONE);
    fails_with(posted, ReturnType::InvalidParameter);
    expect_no_event(&node.request);
}

fn a_receive_that_is_too_short_fails_and_so_does_the_send() {
    let (node, client, server) = linked_pair();
    let (source, target) = (node.buffer(8), node.buffer(8));
    server.post_recv(&[target.piece(0, 7)], 1, NONE).expect("connected");
    server.post_recv(&[target.piece(0, 8)], 2, NONE).expect("connected");
    client.post_send(&[source.piece(0, 8)], 3, NONE).expect("connected");
    expect_completion(&node.recv, &[&client, &server], 1, DtoStatus::LocalLength);
    expect_completion(&node.recv, &[&client, &server], 2, DtoStatus::Flushed);
    expect_completion(&node.request, &[&client, &server], 3, DtoStatus::RemoteResponder);
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
}

fn unsignalled_posts_need_an_unsignalled_endpoint() {
    let node = Node::new();
    let spec = node.spec_with(|it| {
        it.recv_completion_flags = CompletionFlags::UNSIGNALLED;
        it.request_completion_flags = CompletionFlags::UNSIGNALLED;
    });
    let client = node.ep_of(&spec);
    let server = node.ep_of(&spec);
    link(&node, &client, &node, &server);
    for flags in [NONE, CompletionFlags::UNSIGNALLED] {
        server.post_recv(&[], 1, flags).expect("has the flag");
        client.post_send(&[], 2, flags).expect("has the flag");
        // The completion is queued in either case; the flag decides whether it wakes a waiter.
        for (evd, cookie) in [(&node.recv, 1), (&node.request, 2)] {
            assert_eq!(expect_unsignalled_dto(evd, &[&client, &server]).cookie, cookie);
            expect_no_event(evd);
        }
    }
}

fn posts_of_many_threads_on_one_endpoint_all_complete() {
    let each = u64::from(rounds(500));
    let (node, client, server) = linked_pair();
    let memory = node.buffer(8);
    let sent = Arc::new(AtomicU64::new(0));
    let senders = [0, 1, 2].map(|thread| {
        let (client, request, sent) = (client.clone(), node.request.clone(), Arc::clone(&sent));
        Background::run(move || {
            for number in 0..each {
                let cookie = thread * each + number;
                until("the queue has space", || {
                    client.post_send(&[], cookie, NONE).is_ok() || {
                        for event in drain(&request) {
                            assert!(
                                matches!(event, Event::Dto(it) if it.status == DtoStatus::Success)
                            );
                            sent.fetch_add(1, Ordering::Relaxed);
                        }
                        false
                    }
                });
            }
        })
    });
    let piece = memory.piece(0, 8);
    for cookie in 0..3 * each {
        server.post_recv(&[piece], cookie, NONE).expect("within the limit");
        expect_completion(&node.recv, &[&client, &server], cookie, DtoStatus::Success);
    }
    for sender in senders {
        sender.join();
    }
    // A message may arrive before the completion of its send.
    for _ in sent.load(Ordering::Relaxed)..3 * each {
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
    }
    assert!(client.status().expect("live").request_idle);
    expect_no_events(&[&node.request, &node.connect]);
}
