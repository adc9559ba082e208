//! Regions, and the number of objects.

use super::bounds::{names, refused_with, small};
use crate::prelude::*;

pub(super) fn region_lengths_are_limited() {
    let node = small();
    let most = node.ia.attributes().max_lmr_block_size;
    // Skip the length of a block if it exceeds the memory limit of a case.
    let len = usize::try_from(most.min(1 << 20)).expect("a megabyte");
    let memory = Memory::zeroed(len + 1).expect("memory");
    let register =
        |range| node.ia.lmr_create(MemorySource::Part(&memory, range), &node.pz, Privileges::ALL);
    refused(register(3..3), ReturnType::LengthError);
    refused(register(1..len + 2), Subtype::InvalidArg3);
    if most == len as u64 {
        refused_with(register(0..len + 1), Subtype::InvalidArg4, &[&"length", &(len + 1), &most]);
    }
    for range in [0..1, len..len + 1, 1..len + 1] {
        let (start, length) = (range.start as u64, range.len() as u64);
        let lmr = register(range).expect("within the bound");
        let param = lmr.query().expect("live");
        let address = memory.address() + start;
        assert!(param.registered_address <= address);
        assert!(param.registered_address + param.registered_size >= address + length);
        assert!(lmr.triplet(0, length).is_ok());
        assert!(lmr.triplet(0, length + 1).is_err());
        lmr.free().expect("unused");
    }
    node.finish();
}

/// Checks that as many objects of a kind as the limit can be created, and one more after a free.
pub(super) fn the_number_of_objects_is_limited() {
    if !takes_parameters() {
        skip("the adapter takes no parameters, and its bounds are too high to meet");
    }
    // A node has a zone and four dispatchers; the adapter has one dispatcher.
    let node = Node::with("max_eps=3,max_evds=7,max_lmrs=2,max_rmrs=2,max_pzs=3,max_srqs=2");
    let ia = &node.ia;
    let memory = Memory::zeroed(8).expect("memory");
    let source = || MemorySource::Memory(&memory);
    let srq = SrqAttributes { max_recv_dtos: 1, max_recv_iov: 1, low_watermark: 0 };
    let evd = EvdOptions::new(1, EvdFlags::SOFTWARE);
    type Make<'a> = &'a dyn Fn() -> Result<Box<dyn Free + Send>>;
    let kinds: [(&str, u32, Make<'_>); 6] = [
        ("EP", 3, &|| ia.ep_create(&node.spec()).map(boxed)),
        ("EVD", 2, &|| ia.evd_create(&evd).map(boxed)),
        ("LMR", 2, &|| ia.lmr_create(source(), &node.pz, Privileges::ALL).map(boxed)),
        ("RMR", 2, &|| ia.rmr_create(&node.pz).map(boxed)),
        ("PZ", 2, &|| ia.pz_create().map(boxed)),
        ("SRQ", 2, &|| ia.srq_create(&node.pz, srq).map(boxed)),
    ];
    for (kind, limit, make) in kinds {
        let mut made = Vec::new();
        for _ in 0..limit {
            made.push(make().unwrap_or_else(|error| panic!("{kind}: {error}")));
        }
        for _ in 0..2 {
            let error = fails_with(make(), ReturnType::InsufficientResources);
            names(&error, &[&kind, &"maximum"]);
            made.pop().expect("made before").free().expect("unused");
            made.push(make().unwrap_or_else(|error| panic!("{kind}, freed: {error}")));
        }
        for object in made {
            object.free().expect("unused");
        }
    }
    node.finish();
}
