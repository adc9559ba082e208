//! Local memory regions.

use crate::prelude::*;

cases! {
    "dat_lmr_create(3DAT)":
        without_a_remote_privilege_there_is_no_remote_context,
        local_write_implies_local_read,
        a_refused_registration_takes_no_resources,
        a_region_over_the_memory_of_another_has_its_own_zone_and_privileges;
    "dat_lmr_free(3DAT)":
        a_freed_region_is_refused,
        a_free_is_refused_while_a_remote_region_is_bound,
        posts_that_name_a_freed_region_are_a_protection_violation,
        a_receive_into_a_freed_region_fails_and_writes_nothing,
        a_send_from_a_freed_region_fails,
        operations_on_dropped_regions_fail_or_are_flushed,
        the_remote_context_of_a_freed_region_breaks_the_connection,
        a_context_is_not_reused_immediately,
        freeing_an_unused_region_does_not_affect_a_connection;
    "dat_ia_close(3DAT)":
        an_abrupt_close_frees_the_regions;
    "dat_lmr_query(3DAT)":
        a_query_returns_what_was_registered;
}

fn a_query_returns_what_was_registered() {
    let node = Node::new();
    let memory = Memory::zeroed(100).expect("memory");
    let part = MemorySource::Part(&memory, 10..50);
    let privileges = Privileges::LOCAL_READ | Privileges::REMOTE_READ;
    let lmr = node.ia.lmr_create(part, &node.pz, privileges).expect("registered");
    let param = lmr.query().expect("live");
    assert_eq!(param.pz, node.pz);
    assert_eq!(param.privileges, privileges);
    assert_eq!(param.lmr_context, lmr.context());
    assert_eq!(param.rmr_context, lmr.rmr_context());
    assert!(param.registered_address <= memory.address() + 10);
    assert!(param.registered_address + param.registered_size >= memory.address() + 50);
    assert_ne!(param.rmr_context, 0);
}

fn without_a_remote_privilege_there_is_no_remote_context() {
    let node = Node::new();
    let memory = Memory::zeroed(8).expect("memory");
    let source = || MemorySource::Memory(&memory);
    for privileges in [
        Privileges::empty(),
        Privileges::LOCAL_READ,
        Privileges::LOCAL_READ | Privileges::LOCAL_WRITE,
    ] {
        let lmr = node.ia.lmr_create(source(), &node.pz, privileges).expect("registered");
        assert_eq!(lmr.rmr_context(), 0);
        assert!(lmr.remote_triplet(0, 8).is_err());
    }
    for privileges in [Privileges::REMOTE_READ, Privileges::REMOTE_WRITE, Privileges::ALL] {
        let lmr = node.ia.lmr_create(source(), &node.pz, privileges).expect("registered");
        assert_ne!(lmr.rmr_context(), 0);
    }
}

fn local_write_implies_local_read() {
    let (node, client, server) = linked_pair();
    let memory = Memory::copy_of(b"message!").expect("memory");
    let source = MemorySource::Memory(&memory);
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::LOCAL_WRITE).expect("registered");
    assert_eq!(lmr.query().expect("live").privileges, Privileges::LOCAL_WRITE, "as requested");
    assert_eq!(lmr.rmr_context(), 0);
    let target = node.buffer(8);
    server.post_recv(&[target.piece(0, 8)], 1, NONE).expect("connected");
    client.post_send(&[lmr.triplet(0, 8).expect("inside")], 2, NONE).expect("readable");
    for evd in [&node.recv, &node.request] {
        assert_eq!(expect_dto(evd, &[&client, &server]).status, DtoStatus::Success);
    }
    assert_eq!(target.bytes(0, 8), b"message!");
}

fn a_refused_registration_takes_no_resources() {
    let node = Node::with("max_lmrs=1");
    let other = Node::new();
    let memory = Memory::zeroed(8).expect("memory");
    let make = |source, pz, privileges| node.ia.lmr_create(source, pz, privileges);
    let all = Privileges::ALL;
    refused(make(MemorySource::Part(&memory, 3..3), &node.pz, all), ReturnType::LengthError);
    refused(make(MemorySource::Part(&memory, 4..9), &node.pz, all), Subtype::InvalidArg3);
    let unknown = Privileges::from_bits_retain(0x80);
    refused(make(MemorySource::Memory(&memory), &node.pz, unknown), Subtype::InvalidArg6);
    refused(make(MemorySource::Memory(&memory), &other.pz, all), Subtype::InvalidHandlePz);
    let freed = node.freed_pz();
    refused(make(MemorySource::Memory(&memory), &freed, all), Subtype::InvalidHandlePz);
    let foreign = other.buffer(8);
    refused(make(MemorySource::Lmr(&foreign.lmr), &node.pz, all), Subtype::InvalidHandleLmr);
    let lmr = make(MemorySource::Memory(&memory), &node.pz, all).expect("within the limit");
    refused(make(MemorySource::Memory(&memory), &node.pz, all), Subtype::ResourceMemoryRegion);
    lmr.free().expect("unused");
    let again = make(MemorySource::Memory(&memory), &node.pz, all).expect("within the limit again");
    node.finish_with(&[&again, &foreign]);
    other.finish();
}

fn a_region_over_the_memory_of_another_has_its_own_zone_and_privileges() {
    let node = Node::new();
    let pz = node.ia.pz_create().expect("made");
    let first = node.buffer(16);
    let read = Privileges::LOCAL_READ;
    let second = node.ia.lmr_create(MemorySource::Lmr(&first.lmr), &pz, read).expect("registered");
    let (one, two) = (first.lmr.query().expect("live"), second.query().expect("live"));
    assert_eq!(one.registered_address, two.registered_address);
    assert_eq!(one.registered_size, two.registered_size);
    assert_ne!(one.lmr_context, two.lmr_context);
    assert_eq!((two.pz, two.privileges), (pz.clone(), read));
    first.lmr.free().expect("the other region does not keep it");
    drop(first.memory);
    second.query().expect("live, and the memory with it");
    second.free().expect("unused");
    refused(node.ia.lmr_create(MemorySource::Lmr(&second), &pz, read), Subtype::InvalidHandleLmr);
    node.finish_with(&[&pz]);
}

fn a_freed_region_is_refused() {
    let node = Node::new();
    let buffer = node.buffer(8);
    let clone = buffer.lmr.clone();
    buffer.lmr.free().expect("unused");
    refused(clone.free(), Subtype::InvalidHandleLmr);
    refused(clone.query(), Subtype::InvalidHandleLmr);
    node.finish();
}

fn a_free_is_refused_while_a_remote_region_is_bound() {
    let (node, client, server) = linked_pair();
    let buffer = node.buffer(64);
    let rmr = node.rmr();
    let bind = |length| {
        let triplet = LmrTriplet { length, ..buffer.piece(0, 64) };
        let bind = Bind { triplet, ..buffer.bind(Privileges::REMOTE_READ) };
        rmr.bind(&server, &bind).expect("connected");
        assert_eq!(expect_bind(&node.request, &[&client, &server]).status, DtoStatus::Success);
    };
    bind(32);
    refused(buffer.lmr.free(), Subtype::InvalidStateLmrInUse);
    assert!(buffer.lmr.is_live() && buffer.lmr.query().is_ok(), "nothing has changed");
    let context = rmr.query().expect("live").rmr_context;
    let remote = RmrTriplet { context, ..buffer.remote(0, 8) };
    client.post_rdma_read(&[buffer.piece(32, 8)], 2, remote, NONE).expect("connected");
    assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
    bind(0);
    buffer.lmr.free().expect("not bound any more");
}

fn posts_that_name_a_freed_region_are_a_protection_violation() {
    let (node, client, server) = linked_pair();
    let (gone, live) = (node.buffer(8), node.buffer(8));
    let piece = gone.piece(0, 8);
    gone.lmr.free().expect("unused");
    refused(client.post_send(&[piece], 1, NONE), Subtype::ProtectionRead);
    refused(client.post_recv(&[piece], 1, NONE), Subtype::ProtectionWrite);
    let remote = live.remote(0, 8);
    refused(client.post_rdma_write(&[piece], 1, remote, NONE), Subtype::ProtectionRead);
    refused(client.post_rdma_read(&[piece], 1, remote, NONE), Subtype::ProtectionWrite);
    expect_no_events(&[&node.recv, &node.request, &node.connect]);
    assert!(server.status().expect("live").state.is_connected(), "nothing broke");
}

fn a_receive_into_a_freed_region_fails_and_writes_nothing() {
    let (node, client, server) = linked_pair();
    let (target, source) = (node.buffer(8), node.buffer(8));
    server.post_recv(&[target.piece(0, 8)], 1, NONE).expect("connected");
    let Buffer { memory, lmr } = target;
    lmr.free().expect("posts don't keep it");
    source.fill(0, b"message!");
    client.post_send(&[source.piece(0, 8)], 2, NONE).expect("connected");
    let watched = [&client, &server];
    let received = expect_completion(&node.recv, &watched, 1, DtoStatus::LocalProtection);
    assert_eq!(received.operation, Operation::Receive);
    let sent = expect_dto(&node.request, &[&client, &server]);
    assert_eq!(sent.cookie, 2);
    assert_ne!(sent.status, DtoStatus::Success);
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
    assert_eq!(memory.to_vec(0, 8).expect("inside"), [0; 8]);
}

fn a_send_from_a_freed_region_fails() {
    let (node, client, server) = linked_pair();
    // Too long for a transport to copy it when it is posted.
    const LONG: usize = 8192;
    let (source, target) = (node.buffer(LONG), node.buffer(LONG));
    // No receive is posted yet, so the send is outstanding.
    client.post_send(&[source.piece(0, LONG)], 1, NONE).expect("connected");
    assert!(!client.status().expect("live").request_idle);
    let Buffer { memory, lmr } = source;
    lmr.free().expect("posts don't keep it");
    drop((lmr, memory));
    server.post_recv(&[target.piece(0, LONG)], 2, NONE).expect("connected");
    expect_completion(&node.request, &[&client, &server], 1, DtoStatus::LocalProtection);
    let received = expect_dto(&node.recv, &[&client, &server]);
    assert_eq!(received.cookie, 2);
    assert_ne!(received.status, DtoStatus::Success);
    assert_eq!(target.bytes(0, LONG), [0; LONG]);
}

fn operations_on_dropped_regions_fail_or_are_flushed() {
    let (node, client, server) = linked_pair();
    for cookie in 0..4 {
        let (source, target) = (node.buffer(4096), node.buffer(4096));
        server.post_recv(&[target.piece(0, 4096)], cookie, NONE).expect("connected");
        // The peer has no receive for these.
        server.post_send(&[source.piece(0, 4096)], cookie, NONE).expect("connected");
    }
    client.post_send(&[], 9, NONE).expect("connected");
    // A send of the server may have failed earlier and broken the connection.
    let mut completions = Vec::new();
    loop {
        let completion = expect_dto(&node.request, &[&client, &server]);
        if (completion.ep, completion.cookie) == (client.id(), 9) {
            break;
        }
        completions.push(completion);
    }
    free_all(&[&client, &server]);
    for event in drain(&node.recv).into_iter().chain(drain(&node.request)) {
        let Event::Dto(completion) = event else { panic!("not a DTO: {event:?}") };
        completions.push(completion);
    }
    for completion in completions {
        // An empty message succeeds even without memory.
        let empty = completion.length == 0;
        assert!(completion.status != DtoStatus::Success || empty, "{completion:?}");
    }
    node.finish();
}

fn the_remote_context_of_a_freed_region_breaks_the_connection() {
    let node = Node::new();
    for read in [false, true] {
        let (client, server) = node.pair();
        let (near, far) = (node.buffer_of(b"message!"), node.buffer(8));
        let remote = far.remote(0, 8);
        far.lmr.free().expect("unused");
        let local = [near.piece(0, 8)];
        let post = if read { Ep::post_rdma_read } else { Ep::post_rdma_write };
        post(&client, &local, 1, remote, NONE).expect("only the peer can see it");
        expect_completion(&node.request, &[&client, &server], 1, DtoStatus::RemoteAccess);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
        assert_eq!(far.bytes(0, 8), [0; 8]);
        assert_eq!(near.bytes(0, 8), b"message!");
        free_all(&[&client, &server]);
    }
}

fn a_context_is_not_reused_immediately() {
    let node = Node::new();
    let first = node.buffer(8);
    let context = first.lmr.context();
    first.lmr.free().expect("unused");
    for _ in 0..16 {
        let next = node.buffer(8);
        assert_ne!(next.lmr.context(), context);
        next.lmr.free().expect("unused");
    }
}

fn an_abrupt_close_frees_the_regions() {
    let ia = open("");
    let pz = ia.pz_create().expect("made");
    let buffer = Buffer::new(&ia, &pz, 8);
    ia.close(Close::Abrupt).expect("always possible");
    assert!(!buffer.lmr.is_live());
    refused(buffer.lmr.query(), Subtype::InvalidHandleLmr);
}

fn freeing_an_unused_region_does_not_affect_a_connection() {
    let (node, client, server) = linked_pair();
    node.buffer(8).lmr.free().expect("unused");
    post_message((&client, 2), (&server, 1));
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Success);
    client.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
}
