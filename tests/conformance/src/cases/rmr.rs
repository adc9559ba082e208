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

/// A bind of a segment.
fn bind<'a>(lmr: &'a Lmr, triplet: LmrTriplet, privileges: Privileges, cookie: u64) -> Bind<'a> {
    Bind { lmr, triplet, privileges, cookie, flags: NONE }
}

/// Posts a bind, which must succeed, and returns the bound memory for the peer.
#[track_caller]
fn bound(node: &Node, rmr: &Rmr, ep: &Ep, bind: &Bind<'_>) -> RmrTriplet {
    let context = rmr.bind(ep, bind).expect("connected");
    assert_eq!(expect_bind(&node.request, &[ep]).status, DtoStatus::Success);
    RmrTriplet { address: bind.triplet.address, length: bind.triplet.length, context }
}

/// Checks that the peer refuses an operation that was posted, and that it ends the connection.
#[track_caller]
fn breaks(node: &Node, client: &Ep, server: &Ep, posted: Result<()>) {
    posted.expect("only the peer can see it");
    assert_eq!(expect_dto(&node.request, &[client, server]).status, DtoStatus::RemoteAccess);
    expect_connections(&node.connect, &[client, server], ConnectionEventKind::Broken);
}

/// Posts an RDMA read through a remote context.
fn read(client: &Ep, local: LmrTriplet, remote: RmrTriplet) -> Result<()> {
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
    let without = fault_provider::node(|it| it.provider.rmr_supported = false);
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
    refused(rmr.bind(&client, &buffer.bind(Privileges::ALL)), Subtype::InvalidHandleRmr);
}

fn a_bind_gives_the_peer_access_and_completes_with_its_cookie() {
    let (node, client, server) = linked_pair();
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
    breaks(&node, &client, &server, read(&client, near.piece(0, 9), beyond));
}

fn the_privileges_of_the_bind_limit_the_peer() {
    for (privileges, reads) in [(Privileges::REMOTE_READ, true), (Privileges::REMOTE_WRITE, false)]
    {
        let (node, client, server) = linked_pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr = node.rmr();
        let remote = bound(&node, &rmr, &server, &far.bind(privileges));
        let attempt = |is_read| {
            let post = if is_read { Ep::post_rdma_read } else { Ep::post_rdma_write };
            post(&client, &[near.piece(0, 8)], 2, remote, NONE)
        };
        attempt(reads).expect("connected");
        assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
        breaks(&node, &client, &server, attempt(!reads));
    }
}

fn a_new_bind_and_an_empty_bind_revoke_the_old_context() {
    for length in [8, 0] {
        let (node, client, server) = linked_pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr = node.rmr();
        let piece = far.piece(0, 8);
        let open = |piece| {
            let bind = bind(&far.lmr, piece, Privileges::REMOTE_READ, 1);
            RmrTriplet { length: 8, ..bound(&node, &rmr, &server, &bind) }
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
        breaks(&node, &client, &server, read(&client, near.piece(0, 8), first));
    }
}

fn freeing_a_bound_region_revokes_its_context_and_releases_the_local_region() {
    for dropped in [false, true] {
        let (node, client, server) = linked_pair();
        let (near, far) = (node.buffer(8), node.buffer(8));
        let rmr: Rmr = node.rmr();
        let remote = bound(&node, &rmr, &server, &far.bind(Privileges::REMOTE));
        refused(far.lmr.free(), Subtype::InvalidStateLmrInUse);
        if dropped {
            drop(rmr);
        } else {
            rmr.free().expect("bound ones are freed too");
        }
        breaks(&node, &client, &server, read(&client, near.piece(0, 8), remote));
        far.lmr.free().expect("nothing is bound to it");
    }
}

fn only_connected_and_disconnected_endpoints_post_binds() {
    in_every_state(|node, staged, wanted| {
        let buffer = node.buffer(8);
        let rmr = node.rmr();
        let request = buffer.bind(Privileges::REMOTE_READ);
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
                assert_eq!(completion.cookie, request.cookie);
                assert_eq!(completion.status, DtoStatus::Flushed);
            }
            _ => {
                refused_naming(bound, wanted.invalid_state(), wanted.name());
                assert_eq!(rmr.query().expect("live").lmr_triplet, None);
            }
        }
    });
}

fn a_flushed_bind_does_not_change_the_region() {
    let (node, client, server) = linked_pair();
    let (first, second) = (node.buffer(8), node.buffer(8));
    let rmr = node.rmr();
    let unbound = node.rmr();
    bound(&node, &rmr, &server, &first.bind(Privileges::REMOTE_READ));
    let before = rmr.query().expect("live");
    server.disconnect(Close::Abrupt).expect("connected");
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    let other = second.bind(Privileges::REMOTE_READ);
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
    let (buffer, other) = (node.buffer(64), node.buffer(64));
    let (other_pz, elsewhere) = node.elsewhere(8);
    let outside = foreign.buffer(8);
    let bare = node.buffer_with(8, Privileges::REMOTE);
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
    let bound = rmr.bind(&server, &elsewhere.bind(all));
    fails_with(bound, ReturnType::ProtectionViolation);
    let stranger = node.ia.rmr_create(&other_pz).expect("made");
    let bound = stranger.bind(&server, &bind(&buffer.lmr, piece, all, 1));
    fails_with(bound, ReturnType::ProtectionViolation);
    // A remote privilege without the local privilege.
    for (privileges, subtype) in [
        (Privileges::REMOTE_READ, Subtype::PrivilegesRead),
        (Privileges::REMOTE_WRITE, Subtype::PrivilegesWrite),
    ] {
        refused(rmr.bind(&server, &bare.bind(privileges)), subtype);
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
        refused(rmr.bind(&server, &outside.bind(all)), Subtype::InvalidHandleLmr);
        let unbind = bind(&freed.lmr, LmrTriplet { length: 0, ..piece }, all, 1);
        refused(rmr.bind(&server, &unbind), Subtype::InvalidHandleLmr);
    }
    assert_eq!(rmr.query().expect("live").lmr_triplet, None);
    expect_no_event(&node.request);
    free_all(&[&buffer, &other, &elsewhere, &bare]);
    assert!(client.status().expect("live").state.is_connected());
}

fn a_suppressed_bind_raises_no_event() {
    let (node, client, server) = linked_pair();
    let (near, far) = (node.buffer(8), node.buffer(8));
    let rmr = node.rmr();
    let quiet = Bind { flags: CompletionFlags::SUPPRESS, ..far.bind(Privileges::REMOTE_READ) };
    let context = rmr.bind(&server, &quiet).expect("connected");
    let remote = RmrTriplet { context, ..far.remote(0, 8) };
    read(&client, near.piece(0, 8), remote).expect("connected");
    expect_completion(&node.request, &[&client, &server], 99, DtoStatus::Success);
    expect_no_event(&node.request);
}
