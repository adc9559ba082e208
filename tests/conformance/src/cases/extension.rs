//! The InfiniBand extensions of DAT 2.0, and the calls of 2.0 that move data.

use crate::prelude::*;

cases! {
    "DAT 2.0, IB extension: dat_ib_post_fetch_and_add": fetch_and_add_returns_the_value_before;
    "DAT 2.0, IB extension: dat_ib_post_cmp_and_swap": compare_and_swap_changes_only_what_it_expects;
    "DAT 2.0, IB extension: memory privileges": atomics_need_their_privilege;
    "DAT 2.0, IB extension: dat_ib_post_fetch_and_add, dat_ib_post_cmp_and_swap":
        atomics_use_the_first_word_of_longer_segments, atomics_need_an_aligned_64_bit_word;
    "DAT 2.0, IB extension: dat_ib_post_rdma_write_immed": immediate_data_completes_a_receive;
    "DAT 2.0, IB extension: dat_ib_start_counter, dat_ib_query_counters, dat_ib_print_counters, dat_ib_stop_counter": counters_count_from_their_start;
    "DAT 2.0, IB extension: dat_ib_open_query, dat_ib_close_query":
        an_open_query_returns_the_attributes_of_an_open;
    "DAT 2.0, IB extension: dat_ib_collective_create_member, dat_ib_collective_free_member, dat_ib_collective_create_group, dat_ib_collective_free_group, dat_ib_collective_set_clock, dat_ib_collective_read_clock, dat_ib_collective_scatter, dat_ib_collective_scatterv, dat_ib_collective_gather, dat_ib_collective_gatherv, dat_ib_collective_allgather, dat_ib_collective_allgatherv, dat_ib_collective_alltoall, dat_ib_collective_alltoallv, dat_ib_collective_reduce, dat_ib_collective_allreduce, dat_ib_collective_reduce_scatter, dat_ib_collective_scan, dat_ib_collective_broadcast, dat_ib_collective_barrier":
        collectives_are_not_supported_and_say_why;
    "DAT 2.0, dat_ep_post_rdma_read_to_rmr": a_read_can_target_a_remote_context;
}

/// Memory that remote atomic operations may change.
fn atomic(node: &Node, len: usize) -> Buffer {
    node.buffer_with(len, Privileges::ALL | Privileges::REMOTE_ATOMIC)
}

/// A word that remote atomic operations may change.
fn word(node: &Node, value: u64) -> Buffer {
    let buffer = atomic(node, 8);
    buffer.fill(0, &value.to_ne_bytes());
    buffer
}

/// A node with two connected endpoints; skips the case if the provider has no atomic operations.
fn pair() -> (Node, Ep, Ep) {
    let node = Node::new();
    node.need(|it| it.atomics_supported, "atomic operations");
    node.paired()
}

fn value(buffer: &Buffer) -> u64 {
    u64::from_ne_bytes(buffer.bytes(0, 8).try_into().expect("eight bytes"))
}

fn fetch_and_add_returns_the_value_before() {
    let (node, client, server) = pair();
    let (target, result) = (word(&node, u64::MAX - 1), node.buffer(8));
    for (round, before) in [u64::MAX - 1, 1, 4].into_iter().enumerate() {
        let cookie = round as u64;
        let local = result.piece(0, 8);
        let posted = client.post_fetch_and_add(3, local, cookie, target.remote(0, 8), NONE);
        posted.expect("connected");
        let watched = [&client, &server];
        let done = expect_completion(&node.request, &watched, cookie, DtoStatus::Success);
        assert_eq!((done.operation, done.length), (Operation::FetchAdd, 8));
        assert_eq!(value(&result), before);
        assert_eq!(value(&target), before.wrapping_add(3));
    }
}

fn compare_and_swap_changes_only_what_it_expects() {
    let (node, client, server) = pair();
    let (target, result) = (word(&node, 10), node.buffer(8));
    for (pair, before, after) in [((11, 1), 10, 10), ((10, 7), 10, 7), ((7, 7), 7, 7)] {
        let local = result.piece(0, 8);
        let posted = client.post_compare_and_swap(pair, local, 1, target.remote(0, 8), NONE);
        posted.expect("connected");
        let done = expect_dto(&node.request, &[&client, &server]);
        assert_eq!((done.operation, done.status), (Operation::CompareSwap, DtoStatus::Success));
        assert_eq!((value(&result), value(&target)), (before, after));
    }
}

fn atomics_use_the_first_word_of_longer_segments() {
    let (node, client, server) = pair();
    let (target, result) = (atomic(&node, 32), node.buffer_of(&[9; 32]));
    let (local, remote) = (result.piece(0, 32), target.remote(0, 32));
    client.post_fetch_and_add(3, local, 1, remote, NONE).expect("connected");
    let done = expect_dto(&node.request, &[&client, &server]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, 8));
    client.post_compare_and_swap((3, 4), local, 2, remote, NONE).expect("connected");
    let done = expect_dto(&node.request, &[&client, &server]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, 8));
    assert_eq!((value(&result), value(&target)), (3, 4));
    assert_eq!((result.bytes(8, 24), target.bytes(8, 24)), (vec![9; 24], vec![0; 24]));
}

fn atomics_need_an_aligned_64_bit_word() {
    let (node, client, _server) = pair();
    let (target, result) = (word(&node, 0), node.buffer(8));
    let far = node.buffer(32);
    let odd = far.remote(if far.memory.address() % 8 == 0 { 4 } else { 0 }, 8);
    for (local, remote) in [
        (result.piece(0, 8), target.remote(0, 7)),
        (result.piece(0, 7), target.remote(0, 7)),
        (result.piece(0, 8), odd),
    ] {
        refused(client.post_fetch_and_add(1, local, 1, remote, NONE), Subtype::InvalidArg5);
        refused(client.post_compare_and_swap((0, 1), local, 1, remote, NONE), Subtype::InvalidArg5);
    }
    let posted = client.post_fetch_and_add(1, result.piece(0, 7), 1, target.remote(0, 8), NONE);
    refused(posted, ReturnType::LengthError);
    expect_no_event(&node.request);
}

fn atomics_need_their_privilege() {
    let (node, client, server) = pair();
    let (target, result) = (node.buffer(8), node.buffer(8));
    let posted = client.post_fetch_and_add(1, result.piece(0, 8), 5, target.remote(0, 8), NONE);
    posted.expect("only the other side can see it");
    expect_completion(&node.request, &[&client, &server], 5, DtoStatus::RemoteAccess);
    assert_eq!(value(&target), 0);
    expect_connection(&node.connect, &client, ConnectionEventKind::Broken);
}

fn immediate_data_completes_a_receive() {
    let node = Node::new();
    node.need(|it| it.immediate_data_supported, "immediate data");
    let (client, server) = node.pair();
    let (source, target) = (node.buffer_of(b"immediate bytes!"), node.buffer(16));
    let receive = node.buffer_of(&[0xaa; 16]);
    server.post_recv(&[receive.piece(0, 16)], 21, NONE).expect("posted");
    let (local, remote) = ([source.piece(0, 16)], target.remote(0, 16));
    let posted = client.post_rdma_write_immediate(&local, 20, remote, 0xdead_beef, NONE);
    posted.expect("connected");
    let done = expect_completion(&node.request, &[&client, &server], 20, DtoStatus::Success);
    assert_eq!(done.operation, Operation::RdmaWriteImmediate);
    let got = expect_completion(&node.recv, &[&client, &server], 21, DtoStatus::Success);
    assert_eq!((got.operation, got.length), (Operation::ReceiveImmediate, 16));
    assert_eq!(got.immediate(), Some(0xdead_beef));
    assert_eq!(target.bytes(0, 16), b"immediate bytes!");
    assert_eq!(receive.bytes(0, 16), [0xaa; 16], "the buffer of the receive is not touched");
    expect_no_event(&node.recv);
}

fn a_read_can_target_a_remote_context() {
    let node = Node::new();
    node.need(|it| it.read_to_rmr_supported, "RDMA read to a remote context");
    let (client, server) = node.pair();
    let (source, target) = (node.buffer_of(b"from there to a remote context.."), node.buffer(32));
    let posted = client.post_rdma_read_to_rmr(target.remote(0, 32), 9, source.remote(0, 32), NONE);
    posted.expect("connected");
    let done = expect_completion(&node.request, &[&client, &server], 9, DtoStatus::Success);
    assert_eq!((done.operation, done.length), (Operation::RdmaRead, 32));
    assert_eq!(target.bytes(0, 32), source.bytes(0, 32));
}

fn counters_count_from_their_start() {
    let (node, client, server) = unconnected_pair();
    for (counted, figures) in [
        (client.start_counters(), client.counters(false).map(|all| all.values().to_vec())),
        (server.start_counters(), server.counters(false).map(|all| all.values().to_vec())),
        (node.recv.start_counters(), node.recv.counters(false).map(|all| all.values().to_vec())),
    ] {
        counted.expect("live");
        assert!(figures.expect("live").iter().all(|figure| *figure == 0));
    }
    node.ia.start_counters().expect("live");
    link(&node, &client, &node, &server);
    let buffer = node.buffer(32);
    server.post_recv(&[buffer.piece(0, 16)], 1, NONE).expect("posted");
    client.post_send(&[buffer.piece(16, 12)], 2, NONE).expect("connected");
    expect_dto(&node.recv, &[&client, &server]);
    expect_no_event(&node.recv);

    let of = client.counters(false).expect("live");
    assert_eq!((of.get(EpCounter::Connect), of.get(EpCounter::PostSend)), (1, 1));
    assert_eq!((of.get(EpCounter::PostSendData), of.get(EpCounter::PostRecv)), (12, 0));
    assert!(of.to_string().contains("DCNT_EP_POST_SEND_DATA 12"), "{of}");
    let of = server.counters(true).expect("live");
    assert_eq!((of.get(EpCounter::PostRecv), of.get(EpCounter::PostRecvData)), (1, 16));
    assert_eq!((of.get(EpCounter::Recv), of.get(EpCounter::RecvData)), (1, 12));
    assert_eq!(server.counters(false).expect("live").get(EpCounter::Recv), 0, "set back");
    let of = node.recv.counters(false).expect("live");
    assert_eq!((of.get(EvdCounter::Wait), of.get(EvdCounter::DequeueNotFound)), (1, 1));
    let of = node.ia.counters(false).expect("live");
    assert_eq!((of.get(IaCounter::LmrCreate), of.get(IaCounter::SpCrAccepted)), (1, 1));
    assert_eq!((of.get(IaCounter::CmActiveEst), of.get(IaCounter::CmPassiveEst)), (1, 1));

    node.ia.stop_counters().expect("live");
    drop(node.buffer(8));
    assert_eq!(node.ia.counters(false).expect("live"), of, "stopped");
}

fn collectives_are_not_supported_and_say_why() {
    let node = Node::new();
    // The values are those of the extension header.
    assert!(Collective::ALL.iter().map(|operation| operation.number()).eq(6..=25));
    for &operation in Collective::ALL {
        let error = node.ia.collective(operation);
        let error = refused(error, ReturnType::ModelNotSupported);
        assert_eq!(error.operation(), operation.name());
        assert!(error.reason().contains("offload engine"), "{error}");
        assert_eq!(Collective::from_number(operation.number()), Some(operation));
    }
    let ia = node.ia.clone();
    ia.close(Close::Abrupt).expect("open");
    refused(ia.collective(Collective::Barrier), Subtype::InvalidHandleIa);
}

fn an_open_query_returns_the_attributes_of_an_open() {
    let target = target();
    let query = target.registry.open_query(&target.name).expect("the adapter under test");
    let ia = target.registry.open(&target.name).expect("the adapter under test");
    assert_eq!(query.attributes(), ia.attributes());
    assert_eq!(query.provider_attributes(), ia.provider_attributes());
    drop(query);
    ia.close(Close::Graceful).expect("nothing was made on it");
    assert!(target.registry.open_query("no such adapter").is_err());
}
