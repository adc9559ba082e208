//! Local memory regions of shared memory.

use dat_core::flags::MemoryTypes;
use dat_core::mem::Span;

use crate::mapping::Mapping;
use crate::mapping::PAGE;
use crate::prelude::*;

cases! {
    "dat_lmr_create(3DAT)": private_memory_is_refused,
        partly_shared_memory_is_refused, shared_memory_carries_messages,
        a_query_names_the_memory_type, several_regions_can_share_it,
        the_same_memory_can_be_mapped_at_different_addresses, memory_can_have_two_names,
        a_name_denotes_one_memory, a_name_denotes_all_of_the_memory,
        every_byte_of_a_name_counts, a_name_is_available_after_the_last_free,
        a_provider_without_support_refuses_the_registration;
}

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

/// The name of shared memory, of which all 40 bytes count.
fn id(last: u8) -> [u8; 40] {
    let mut id = [0; 40];
    id[39] = last;
    id
}

/// Registers shared memory.
fn register(node: &Node, id: [u8; 40], span: Span) -> Result<Lmr> {
    node.ia.lmr_create(MemorySource::Shared { id, span }, &node.pz, Privileges::ALL)
}

/// Sends a message from one place of a region to another.
fn send_within(node: &Node, lmr: &Lmr, from: u64, to: u64, length: u64) {
    let piece = |offset| lmr.triplet(offset, length).expect("inside");
    let (client, server) = node.pair();
    server.post_recv(&[piece(to)], 1, NONE).expect("posted");
    client.post_send(&[piece(from)], 2, NONE).expect("connected");
    for evd in [&node.recv, &node.request] {
        assert_eq!(expect_dto(evd, &[&client, &server]).status, DtoStatus::Success);
    }
}

fn private_memory_is_refused() {
    let node = node();
    let memory = Memory::zeroed(3 * PAGE).expect("memory");
    refused(register(&node, id(1), memory.span()), ReturnType::InvalidState);
    node.finish();
}

fn partly_shared_memory_is_refused() {
    let node = node();
    let mapping = Mapping::half_shared().expect("a mapping");
    refused(register(&node, id(2), mapping.span(0, 2 * PAGE)), ReturnType::InvalidState);
    let lmr = register(&node, id(2), mapping.span(0, PAGE)).expect("the part is shared");
    node.finish_with(&[&lmr]);
}

fn shared_memory_carries_messages() {
    let node = node();
    let mapping = Mapping::shared(2 * PAGE).expect("a mapping");
    let lmr = register(&node, id(3), mapping.span(0, 2 * PAGE)).expect("shared memory");
    mapping.write(PAGE - 4, b"page over");
    send_within(&node, &lmr, PAGE as u64 - 4, 0, 9);
    assert_eq!(mapping.read(0, 9), b"page over");
    lmr.free().expect("live");
}

fn a_query_names_the_memory_type() {
    let node = node();
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let span = mapping.span(0, PAGE);
    let lmr = register(&node, id(4), span).expect("shared memory");
    let param = lmr.query().expect("live");
    assert_eq!(param.memory_type, MemoryTypes::SHARED_VIRTUAL);
    let registered = param.registered_address..param.registered_address + param.registered_size;
    assert!(registered.contains(&span.address()));
    assert!(registered.end >= span.address() + PAGE as u64);
    node.finish_with(&[&lmr]);
}

fn several_regions_can_share_it() {
    let (node, other) = (node(), Node::new());
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let span = mapping.span(0, PAGE);
    let mine = register(&node, id(5), span).expect("shared memory");
    let theirs = register(&other, id(5), span).expect("again");
    let source = MemorySource::Shared { id: id(5), span };
    let narrow = node.ia.lmr_create(source, &node.pz, Privileges::LOCAL_READ);
    let narrow = narrow.expect("with other privileges");
    assert_ne!(narrow.context(), mine.context(), "regions of their own");
    mine.free().expect("live");
    // Freeing one registration does not affect the others.
    mapping.write(0, b"still");
    send_within(&other, &theirs, 0, 100, 5);
    assert_eq!(mapping.read(100, 5), b"still");
    free_all(&[&theirs, &narrow]);
}

fn the_same_memory_can_be_mapped_at_different_addresses() {
    let (node, other) = (node(), Node::new());
    let [here, there] = Mapping::shared_twice(PAGE).expect("two mappings");
    let mine = register(&node, id(8), here.span(0, PAGE)).expect("shared memory");
    let theirs = register(&other, id(8), there.span(0, PAGE)).expect("the same memory");
    there.write(0, b"shared");
    send_within(&other, &theirs, 0, 100, 6);
    assert_eq!(here.read(100, 6), b"shared");
    free_all(&[&mine, &theirs]);
}

fn memory_can_have_two_names() {
    let node = node();
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    let lmrs = [id(9), id(10)].map(|id| register(&node, id, mapping.span(0, PAGE)));
    for lmr in lmrs {
        lmr.expect("shared memory").free().expect("live");
    }
    node.finish();
}

fn a_name_denotes_one_memory() {
    let (node, other) = (node(), Node::new());
    let [here, there] = [(); 2].map(|()| Mapping::shared(2 * PAGE).expect("a mapping"));
    let lmr = register(&node, id(11), here.span(0, PAGE)).expect("shared memory");
    // Other memory, and another part of the same memory.
    for span in [there.span(0, PAGE), here.span(PAGE, PAGE)] {
        for node in [&node, &other] {
            refused(register(node, id(11), span), Subtype::InvalidArg3);
        }
    }
    node.finish_with(&[&lmr]);
    other.finish();
}

fn a_name_denotes_all_of_the_memory() {
    let node = node();
    let mapping = Mapping::shared(2 * PAGE).expect("a mapping");
    let lmr = register(&node, id(12), mapping.span(0, PAGE)).expect("shared memory");
    for length in [1, PAGE - 1, PAGE + 1, 2 * PAGE] {
        refused(register(&node, id(12), mapping.span(0, length)), Subtype::InvalidArg4);
    }
    node.finish_with(&[&lmr]);
}

fn every_byte_of_a_name_counts() {
    let node = node();
    let [one, two] = [(); 2].map(|()| Mapping::shared(PAGE).expect("a mapping"));
    // A zero byte does not end the name.
    let first = register(&node, [0; 40], one.span(0, PAGE)).expect("shared memory");
    for place in 0..40 {
        let mut id = [0; 40];
        id[place] = 1;
        let other = register(&node, id, two.span(0, PAGE)).expect("another name");
        other.free().expect("live");
    }
    node.finish_with(&[&first]);
}

fn a_name_is_available_after_the_last_free() {
    let (node, other) = (node(), Node::new());
    let [one, two] = [(); 2].map(|()| Mapping::shared(PAGE).expect("a mapping"));
    let first = register(&node, id(13), one.span(0, PAGE)).expect("shared memory");
    let second = register(&other, id(13), one.span(0, PAGE)).expect("the same");
    first.free().expect("live");
    refused(register(&node, id(13), two.span(0, PAGE)), Subtype::InvalidArg3);
    // The handle outlives the region, and does not keep the name in use.
    other.ia.close(Close::Abrupt).expect("open");
    let third = register(&node, id(13), two.span(0, PAGE)).expect("the name is free");
    third.free().expect("live");
    drop((first, second));
    // A registration that fails for another reason does not take the name.
    let freed = node.freed_pz();
    let source = MemorySource::Shared { id: id(13), span: one.span(0, PAGE) };
    refused(node.ia.lmr_create(source, &freed, Privileges::ALL), Subtype::InvalidHandlePz);
    register(&node, id(13), two.span(0, PAGE)).expect("still free").free().expect("live");
    node.finish();
}

fn a_provider_without_support_refuses_the_registration() {
    let node = Node::new();
    if supports(&node) {
        return;
    }
    let mapping = Mapping::shared(PAGE).expect("a mapping");
    refused(register(&node, id(7), mapping.span(0, PAGE)), ReturnType::ModelNotSupported);
}
