//! Memory synchronization for RDMA (dat_lmr_sync_rdma_read and _write).

use crate::prelude::*;

cases! {
    "dat_lmr_sync_rdma_read(3DAT), dat_lmr_sync_rdma_write(3DAT)":
        segments_can_belong_to_several_regions_and_zones, an_empty_list_of_segments_is_allowed,
        a_segment_outside_its_region_is_refused, an_unknown_context_is_refused,
        privileges_do_not_matter, a_closed_adapter_is_refused;
    "dat_lmr_sync_rdma_read(3DAT)": a_read_after_a_sync_sees_the_changes;
    "dat_lmr_sync_rdma_write(3DAT)": the_data_of_a_write_is_visible_after_a_sync;
}

type Call = fn(&Ia, &[LmrTriplet]) -> Result<()>;
const CALLS: [Call; 2] = [Ia::lmr_sync_rdma_read, Ia::lmr_sync_rdma_write];

fn segments_can_belong_to_several_regions_and_zones() {
    let node = Node::new();
    let other = node.ia.pz_create().expect("a zone");
    let (here, there) = (node.buffer(64), Buffer::new(&node.ia, &other, 64));
    for sync in CALLS {
        let segments = [here.piece(0, 8), there.piece(8, 56), here.piece(0, 64)];
        sync(&node.ia, &segments).expect("all inside");
    }
}

fn an_empty_list_of_segments_is_allowed() {
    let node = Node::new();
    let buffer = node.buffer(64);
    for sync in CALLS {
        sync(&node.ia, &[]).expect("nothing to do");
        sync(&node.ia, &[buffer.piece(64, 0)]).expect("an empty piece is inside");
    }
}

fn a_segment_outside_its_region_is_refused() {
    let node = Node::new();
    let buffer = node.buffer(64);
    let good = buffer.piece(0, 64);
    for bad in [
        LmrTriplet { length: 65, ..good },
        LmrTriplet { address: good.address - 1, ..good },
        LmrTriplet { address: good.address + 64, length: 1, ..good },
        LmrTriplet { address: u64::MAX, ..good },
        LmrTriplet { length: u64::MAX, ..good },
    ] {
        for sync in CALLS {
            refused(sync(&node.ia, &[good, bad]), Subtype::InvalidArg2);
        }
    }
}

fn an_unknown_context_is_refused() {
    let (node, other) = (Node::new(), Node::new());
    let (buffer, freed) = (node.buffer(64), node.buffer(64));
    let good = buffer.piece(0, 64);
    let stale = freed.piece(0, 64);
    freed.lmr.free().expect("live");
    for sync in CALLS {
        for context in [0, 0x7fff_fff1, u32::MAX] {
            let synced = sync(&node.ia, &[LmrTriplet { context, ..good }]);
            refused(synced, Subtype::InvalidArg2);
        }
        refused(sync(&node.ia, &[stale]), Subtype::InvalidArg2);
        refused(sync(&other.ia, &[good]), Subtype::InvalidArg2);
    }
}

fn privileges_do_not_matter() {
    let node = Node::new();
    let memory = Memory::zeroed(64).expect("memory");
    let source = MemorySource::Memory(&memory);
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::LOCAL_READ).expect("registered");
    for sync in CALLS {
        sync(&node.ia, &[lmr.triplet(0, 64).expect("inside")]).expect("it does no harm");
    }
}

fn a_closed_adapter_is_refused() {
    let node = Node::new();
    let buffer = node.buffer(64);
    let good = buffer.piece(0, 64);
    let ia = node.ia.clone();
    ia.close(Close::Abrupt).expect("open");
    for sync in CALLS {
        refused(sync(&ia, &[good]), Subtype::InvalidHandleIa);
    }
}

fn a_read_after_a_sync_sees_the_changes() {
    let (node, client, server) = linked_pair();
    let (source, target) = (node.buffer(16), node.buffer(16));
    for round in 0..8_u8 {
        source.fill(0, &[round; 16]);
        node.ia.lmr_sync_rdma_read(&[source.piece(0, 16)]).expect("inside");
        let local = [target.piece(0, 16)];
        client.post_rdma_read(&local, 1, source.remote(0, 16), NONE).expect("connected");
        assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
        assert_eq!(target.bytes(0, 16), [round; 16]);
    }
}

fn the_data_of_a_write_is_visible_after_a_sync() {
    let (node, client, server) = linked_pair();
    let (source, target, note) = (node.buffer(16), node.buffer(16), node.buffer(1));
    for round in 0..8_u8 {
        source.fill(0, &[round; 16]);
        server.post_recv(&[note.piece(0, 1)], 1, NONE).expect("posted");
        let local = [source.piece(0, 16)];
        client.post_rdma_write(&local, 2, target.remote(0, 16), NONE).expect("connected");
        client.post_send(&[], 3, NONE).expect("connected");
        // The message arrives after the data of the write that precedes it.
        assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Success);
        node.ia.lmr_sync_rdma_write(&[target.piece(0, 16)]).expect("inside");
        assert_eq!(target.bytes(0, 16), [round; 16]);
        for _ in 0..2 {
            expect_dto(&node.request, &[&client, &server]);
        }
    }
}
