//! Local memory regions of memory that processes share.

use dat_core::{
    CompletionFlags, DtoStatus, LmrTriplet, Memory, MemorySource, Privileges, ReturnType, Subtype,
    flags::MemoryTypes,
};

use crate::case::{cases, skip};
use crate::check::refused;
use crate::mapping::{Mapping, PAGE};
use crate::node::Node;
use crate::wait::expect_dto;

cases! {
    "dat_lmr_create(3DAT)": memory_that_is_not_shared_is_refused,
        memory_that_is_shared_in_part_is_refused, shared_memory_carries_messages,
        a_query_names_the_memory_type, several_may_share_it,
        a_provider_without_it_says_so;
}

const NONE: CompletionFlags = CompletionFlags::empty();

fn supports(node: &Node) -> bool {
    node.ia.provider_attributes().lmr_mem_types.contains(MemoryTypes::SHARED_VIRTUAL)
}

fn node() -> Node {
    let node = Node::new();
    if !supports(&node) {
        skip("the provider registers no shared memory");
    }
    node
}

/// The name of shared memory: all forty bytes count.
fn id(last: u8) -> [u8; 40] {
    let mut id = [0; 40];
    id[39] = last;
    id
}

fn memory_that_is_not_shared_is_refused() {
    let node = node();
    let memory = Memory::zeroed(3 * PAGE).expect("memory");
    let source = MemorySource::Shared { id: id(1), span: memory.span() };
    let made = node.ia.lmr_create(source, &node.pz, Privileges::ALL);
    refused(made, ReturnType::InvalidState, Subtype::NoSubtype);
    node.finish();
}

fn memory_that_is_shared_in_part_is_refused() {
    let node = node();
    let mapping = Mapping::half_shared().expect("a mapping");
    let all = MemorySource::Shared { id: id(2), span: mapping.span(0, 2 * PAGE) };
    let made = node.ia.lmr_create(all, &node.pz, Privileges::ALL);
    refused(made, ReturnType::InvalidState, Subtype::NoSubtype);
    let half = MemorySource::Shared { id: id(2), span: mapping.span(0, PAGE) };
    let lmr = node.ia.lmr_create(half, &node.pz, Privileges::ALL).expect("the part is shared");
    lmr.free().expect("live");
    node.finish();
}

fn shared_memory_carries_messages() {
    let node = node();
    let (client, server) = node.pair();
    let mapping = Mapping::shared(2 * PAGE).expect("a mapping");
    let span = mapping.span(0, 2 * PAGE);
    let source = MemorySource::Shared { id: id(3), span };
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::ALL).expect("shared memory");
    mapping.write(PAGE - 4, b"page over");
    let piece = |offset, length| -> LmrTriplet { lmr.triplet(offset, length).expect("inside") };
    server.post_recv(&[piece(0, 9)], 1, NONE).expect("posted");
    client.post_send(&[piece(PAGE as u64 - 4, 9)], 2, NONE).expect("connected");
    assert_eq!(expect_dto(&node.recv, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(expect_dto(&node.request, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(mapping.read(0, 9), b"page over");
    lmr.free().expect("live");
}

fn a_query_names_the_memory_type() {
    let node = node();
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let span = mapping.span(0, PAGE);
    let source = MemorySource::Shared { id: id(4), span };
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::ALL).expect("shared memory");
    let param = lmr.query().expect("live");
    assert_eq!(param.memory_type, MemoryTypes::SHARED_VIRTUAL);
    let registered = param.registered_address..param.registered_address + param.registered_size;
    assert!(registered.contains(&span.address()));
    assert!(registered.end >= span.address() + PAGE as u64);
    lmr.free().expect("live");
    node.finish();
}

fn several_may_share_it() {
    let (node, other) = (node(), Node::new());
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let source = || MemorySource::Shared { id: id(5), span: mapping.span(0, PAGE) };
    let mine = node.ia.lmr_create(source(), &node.pz, Privileges::ALL).expect("shared memory");
    let theirs = other.ia.lmr_create(source(), &other.pz, Privileges::ALL).expect("again");
    // The same address under another name is other shared memory.
    let renamed = MemorySource::Shared { id: id(6), span: mapping.span(0, PAGE) };
    let third = node.ia.lmr_create(renamed, &node.pz, Privileges::ALL).expect("and again");
    mine.free().expect("live");
    // One consumer's end leaves the others their memory.
    let (client, server) = other.pair();
    mapping.write(0, b"still");
    server.post_recv(&[theirs.triplet(100, 5).expect("inside")], 1, NONE).expect("posted");
    client.post_send(&[theirs.triplet(0, 5).expect("inside")], 2, NONE).expect("connected");
    assert_eq!(expect_dto(&other.recv, &[&client, &server]).status, DtoStatus::Success);
    assert_eq!(mapping.read(100, 5), b"still");
    for lmr in [theirs, third] {
        lmr.free().expect("live");
    }
}

fn a_provider_without_it_says_so() {
    let node = Node::new();
    if supports(&node) {
        return;
    }
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let source = MemorySource::Shared { id: id(7), span: mapping.span(0, PAGE) };
    let made = node.ia.lmr_create(source, &node.pz, Privileges::ALL);
    refused(made, ReturnType::ModelNotSupported, Subtype::NoSubtype);
}
