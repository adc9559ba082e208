//! Remote memory regions.

use crate::fault_provider;
use crate::prelude::*;

cases! {
    "dat_rmr_create(3DAT)":
        an_invalid_create_is_refused;
    "dat_rmr_free(3DAT)":
        a_freed_region_is_refused,
        freeing_a_bound_region_revokes_its_context_and_releases_the_local_region;
    "dat_rmr_bind(3DAT)":
        a_bind_gives_the_peer_access_and_completes_with_its_cookie,
        the_privileges_of_the_bind_limit_the_peer,
        a_new_bind_and_an_empty_bind_revoke_the_old_context,
        only_connected_and_disconnected_endpoints_post_binds,
        a_flushed_bind_does_not_change_the_region,
        an_invalid_bind_is_refused_and_changes_nothing,
        a_suppressed_bind_raises_no_event;
    "dat_rmr_query(3DAT)":
        a_new_region_is_not_bound;
}

fn bind<'a>(lmr: &'a Lmr, triplet: LmrTriplet, privileges: Privileges, cookie: u64) -> Bind<'a> {
    Bind { lmr, triplet, privileges, cookie, flags: NONE }
}

/// Posts an RDMA read through a remote context.
fn read(client: &Endpoint, local: LmrTriplet, remote: RmrTriplet) -> Result<()> {
    client.post_rdma_read(&[local], 99, remote, NONE)
}

fn a_new_region_is_not_bound() {
    let node = Node::new();
    let rmr = node.rmr();
    let param = rmr.query().expect("live");
    assert_eq!(param.pz, node.pz);
    assert_eq!((param.lmr_triplet, param.rmr_context), (None, 0));
    assert!(param.privileges.is_empty());
    node.finish_with(&[&rmr]);
}

fn an_invalid_create_is_refused() {
    let ia = open("max_rmrs=1");
    let pz = ia.pz_create().expect("made");
    let first = ia.rmr_create(&pz).expect("within the limit");
    refused(ia.rmr_create(&pz), Subtype::ResourceMemoryRegion);
    first.free().expect("live");
    ia.rmr_create(&pz).expect("within the limit again").free().expect("live");
    let foreign = open("").pz_create().expect("made");
    refused(ia.rmr_create(&foreign), Subtype::InvalidHandlePz);
    pz.free().expect("unused");
    refused(ia.rmr_create(&pz), Subtype::InvalidHandlePz);
    let without = Node::on(fault_provider::open("", |it| it.provider.rmr_supported = false));
    refused(without.ia.rmr_create(&without.pz), ReturnType::ModelNotSupported);
}

fn a_freed_region_is_refused() {
    let node = Node::new();
    let rmr = node.rmr();
    let clone = rmr.clone();
    clone.free().expect("live");
    refused(rmr.free(), Subtype::InvalidHandleRmr);
    refused(rmr.query(), Subtype::InvalidHandleRmr);
    let (client, _server) = node.pair();
    let buffer = node.buffer(8);
    let piece = buffer.piece(0, 8);
    refused(
        rmr.bind(&client, &bind(&buffer.lmr, piece, Privileges::ALL, 1)),
        Subtype::InvalidHandleRmr,
    );
}

fn a_bind_gives_the_peer_access_and_completes_with_its_cookie() {
    let node = Node::new();
    let (client, server) = node.pair();
    let (near, far) = (node.buffer(64), node.buffer(64));
    let rmr = node.rmr();
    let piece = far.piece(16, 8);
    let context = rmr.bind(&server, &bind(&far.lmr, piece, Privileges::REMOTE, 7)).expect("bound");
    let completion = expect_bind(&node.request, &[&client, &server]);
    assert_eq!((completion.cookie, completion.status), (7, DtoStatus::Success));
    assert_eq!((completion.ep, completion.rmr), (server.id(), rmr.id()));
    let param = rmr.query().expect("live");
    assert_eq!((param.lmr_triplet, param.rmr_context), (Some(piece), context));
    assert_eq!(param.privileges, Privileges::REMOTE);
    let remote = RmrTriplet { address: piece.address, length: 8, context };
    far.fill(16, b"is read!");
    read(&client, near.piece(0, 8), remote).expect("connected");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(near.bytes(0, 8), b"is read!");
    near.fill(8, b"written!");
    client.post_rdma_write(&[near.piece(8, 8)], 1, remote, NONE).expect("connected");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(far.bytes(16, 8), b"written!");
    // The peer cannot read beyond the bound segment.
    let beyond = RmrTriplet { length: 9, ..remote };
    read(&client, near.piece(0, 9), beyond).expect("only the peer can see it");
    assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::RemoteAccess);
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
}

fn the_privileges_of_the_bind_limit_the_peer() {
    for (privileges, reads) in [(Privileges::REMOTE_READ, true), (Privileges::REMOTE_WRITE, false)]
    {
        let node = Node::new();
        let (client, server) = node.pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr = node.rmr();
        let piece = far.piece(0, 8);
        let context = rmr.bind(&server, &bind(&far.lmr, piece, privileges, 1)).expect("bound");
        assert_eq!(expect_bind(&node.request, &[&server]).status, DtoStatus::Success);
        let remote = RmrTriplet { address: piece.address, length: 8, context };
        let local = near.piece(0, 8);
        let attempt = |is_read: bool| {
            if is_read {
                read(&client, local, remote).expect("connected");
            } else {
                client.post_rdma_write(&[local], 2, remote, NONE).expect("connected");
            }
            expect_dto(&node.request, &[&client, &server]).status
        };
        assert_eq!(attempt(reads), DtoStatus::Success);
        assert_eq!(attempt(!reads), DtoStatus::RemoteAccess);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
    }
}

fn a_new_bind_and_an_empty_bind_revoke_the_old_context() {
    for length in [8, 0] {
        let node = Node::new();
        let (client, server) = node.pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr = node.rmr();
        let piece = far.piece(0, 8);
        let open = |piece| {
            let bound = bind(&far.lmr, piece, Privileges::REMOTE_READ, 1);
            let context = rmr.bind(&server, &bound).expect("connected");
            assert_eq!(expect_bind(&node.request, &[&server]).status, DtoStatus::Success);
            RmrTriplet { address: piece.address, length: 8, context }
        };
        let first = open(piece);
        let second = open(LmrTriplet { length, ..piece });
        if length > 0 {
            assert_ne!(first.context, second.context);
            read(&client, near.piece(0, 8), second).expect("connected");
            assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
        } else {
            assert_eq!(rmr.query().expect("live").lmr_triplet, None);
            far.lmr.free().expect("nothing is bound to it");
        }
        read(&client, near.piece(0, 8), first).expect("only the peer can see it");
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::RemoteAccess);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
    }
}

fn freeing_a_bound_region_revokes_its_context_and_releases_the_local_region() {
    for dropped in [false, true] {
        let node = Node::new();
        let (client, server) = node.pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr: Rmr = node.rmr();
        let piece = far.piece(0, 8);
        let bound = bind(&far.lmr, piece, Privileges::REMOTE, 1);
        let context = rmr.bind(&server, &bound).expect("connected");
        assert_eq!(expect_bind(&node.request, &[&server]).status, DtoStatus::Success);
        refused(far.lmr.free(), Subtype::InvalidStateLmrInUse);
        if dropped {
            drop(rmr);
        } else {
            rmr.free().expect("bound ones are freed too");
        }
        let remote = RmrTriplet { address: piece.address, length: 8, context };
        read(&client, near.piece(0, 8), remote).expect("only the peer can see it");
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::RemoteAccess);
        expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Broken);
        far.lmr.free().expect("nothing is bound to it");
    }
}

fn only_connected_and_disconnected_endpoints_post_binds() {
    for wanted in STATES {
        let node = Node::new();
        let staged = ep_in_state(&node, wanted);
        let buffer = node.buffer(8);
        let rmr = node.rmr();
        let request = bind(&buffer.lmr, buffer.piece(0, 8), Privileges::REMOTE_READ, 3);
        drain(&node.request);
        let bound = rmr.bind(&staged.ep, &request);
        match wanted {
            EpState::Connected => {
                bound.expect("connected");
                assert_eq!(expect_bind(&node.request, &[]).status, DtoStatus::Success);
            }
            EpState::Disconnected => {
                bound.expect("disconnected");
                let completion = expect_bind(&node.request, &[]);
                assert_eq!((completion.cookie, completion.status), (3, DtoStatus::Flushed));
            }
            _ => {
                let error = refused(bound, wanted.invalid_state());
                assert!(error.reason().contains(wanted.name()), "{error}");
                assert_eq!(rmr.query().expect("live").lmr_triplet, None);
            }
        }
    }
}

fn a_flushed_bind_does_not_change_the_region() {
    let node = Node::new();
    let (client, server) = node.pair();
    let (first, second) = (node.buffer(8), node.buffer(8));
    let rmr = node.rmr();
    let unbound = node.rmr();
    let bound = bind(&first.lmr, first.piece(0, 8), Privileges::REMOTE_READ, 1);
    rmr.bind(&server, &bound).expect("connected");
    assert_eq!(expect_bind(&node.request, &[&server]).status, DtoStatus::Success);
    let before = rmr.query().expect("live");
    server.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    let other = bind(&second.lmr, second.piece(0, 8), Privileges::REMOTE_READ, 2);
    for rmr in [&rmr, &unbound] {
        rmr.bind(&server, &other).expect("disconnected");
        assert_eq!(expect_bind(&node.request, &[&server]).status, DtoStatus::Flushed);
    }
    assert_eq!(rmr.query().expect("live"), before, "the bind did not take place");
    assert_eq!(unbound.query().expect("live").lmr_triplet, None);
    // By the page, a local region is in use exactly while a remote region is bound to it.
    refused(first.lmr.free(), Subtype::InvalidStateLmrInUse);
    second.lmr.free().expect("nothing is bound to it");
}

fn an_invalid_bind_is_refused_and_changes_nothing() {
    let (node, foreign) = (Node::new(), Node::new());
    let rmr = node.rmr();
    let (client, server) = node.pair();
    let other_pz = node.ia.pz_create().expect("made");
    let (buffer, other) = (node.buffer(64), node.buffer(64));
    let elsewhere = Buffer::new(&node.ia, &other_pz, 8);
    let outside = foreign.buffer(8);
    let memory = Memory::zeroed(8).expect("memory");
    let bare = node
        .ia
        .lmr_create(MemorySource::Memory(&memory), &node.pz, Privileges::REMOTE)
        .expect("registered");
    let all = Privileges::REMOTE;
    let piece = buffer.piece(0, 8);
    // Segments that are outside of the region, or belong to another region.
    for triplet in [
        LmrTriplet { length: 65, ..piece },
        LmrTriplet { address: piece.address - 1, ..piece },
        LmrTriplet { context: other.lmr.context(), ..piece },
        other.piece(0, 8),
    ]
    .into_iter()
    // In DAT 1.2 the segment alone names the region.
    .take(if HAS_2_0 { 4 } else { 3 })
    {
        refused(rmr.bind(&server, &bind(&buffer.lmr, triplet, all, 1)), Subtype::InvalidArg3);
    }
    // Different protection zones.
    let bound = rmr.bind(&server, &bind(&elsewhere.lmr, elsewhere.piece(0, 8), all, 1));
    assert_eq!(bound.expect_err("another zone").return_type(), ReturnType::ProtectionViolation);
    let stranger = node.ia.rmr_create(&other_pz).expect("made");
    let bound = stranger.bind(&server, &bind(&buffer.lmr, piece, all, 1));
    assert_eq!(bound.expect_err("another zone").return_type(), ReturnType::ProtectionViolation);
    // A remote privilege without the local privilege.
    for (privileges, subtype) in [
        (Privileges::REMOTE_READ, Subtype::PrivilegesRead),
        (Privileges::REMOTE_WRITE, Subtype::PrivilegesWrite),
    ] {
        let bound =
            rmr.bind(&server, &bind(&bare, bare.triplet(0, 8).expect("inside"), privileges, 1));
        refused(bound, subtype);
    }
    // Flags that binds do not have.
    for flags in [CompletionFlags::SOLICITED_WAIT, CompletionFlags::UNSIGNALLED] {
        let bound = rmr.bind(&server, &Bind { flags, ..bind(&buffer.lmr, piece, all, 1) });
        refused(bound, Subtype::InvalidArg8);
    }
    // Invalid handles.
    let (far_client, _far_server) = foreign.pair();
    refused(rmr.bind(&far_client, &bind(&buffer.lmr, piece, all, 1)), Subtype::InvalidHandleEp);
    let freed = node.buffer(8);
    freed.lmr.free().expect("unused");
    if HAS_2_0 {
        let bound = rmr.bind(&server, &bind(&outside.lmr, outside.piece(0, 8), all, 1));
        refused(bound, Subtype::InvalidHandleLmr);
        refused(
            rmr.bind(&server, &bind(&freed.lmr, LmrTriplet { length: 0, ..piece }, all, 1)),
            Subtype::InvalidHandleLmr,
        );
    }
    assert_eq!(rmr.query().expect("live").lmr_triplet, None);
    expect_no_event(&node.request);
    for lmr in [&buffer.lmr, &other.lmr, &elsewhere.lmr, &bare] {
        lmr.free().expect("nothing is bound to it");
    }
    assert!(client.status().expect("live").state.is_connected());
}

fn a_suppressed_bind_raises_no_event() {
    let node = Node::new();
    let (client, server) = node.pair();
    let (near, far) = (node.buffer(8), node.buffer(8));
    let rmr = node.rmr();
    let quiet = Bind {
        flags: CompletionFlags::SUPPRESS,
        ..bind(&far.lmr, far.piece(0, 8), Privileges::REMOTE_READ, 1)
    };
    let context = rmr.bind(&server, &quiet).expect("connected");
    let remote = RmrTriplet { address: far.memory.address(), length: 8, context };
    read(&client, near.piece(0, 8), remote).expect("connected");
    expect_completion(&node.request, &[&client, &server], 99, DtoStatus::Success);
    expect_no_event(&node.request);
}
