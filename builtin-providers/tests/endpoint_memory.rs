//! The memory of an endpoint that is not used yet, so that it does not grow unseen: programs create thousands before they
//! connect the first. An object that is rarely used must be created at its first use.
#![allow(unsafe_code, reason = "the test counts what the allocator of the program hands out")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use dat_core::{EpSpec, EvdFlags, EvdOptions, Memory, MemorySource, Privileges, Registry};

/// Bytes in use, with the head of each allocation in a usual allocator.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn taken(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

// SAFETY: the system's allocator does what is requested; this only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller's guarantees are those of this method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller's guarantees are those of this method.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A power of two, so that the tables of all objects, whose sizes double, are full.
const COUNT: usize = 1 << 10;

/// The bytes of one of many endpoints, to each of which a receive was posted if `is_used`.
fn bytes_each(name: &str, is_used: bool) -> usize {
    let registry = Registry::new();
    for provider in dat_builtin_providers::all() {
        registry.add_provider(provider).expect("no other has its name");
    }
    let ia = registry.open(name).expect("it needs no device");
    let pz = ia.pz_create().expect("memory");
    let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::DEFAULT)).expect("memory");
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let memory = Memory::zeroed(64).expect("memory");
    let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL).expect("memory");
    let segment = lmr.triplet(0, 64).expect("inside of it");
    let mut all = Vec::with_capacity(COUNT);
    let mut create = || {
        let ep = ia.ep_create(&spec).expect("memory");
        if is_used {
            ep.receive(&[segment], 1).expect("it is allowed in any state");
        }
        all.push(ep);
    };
    // The first one creates what all share.
    create();
    let used = || IN_USE.load(Ordering::Relaxed) + dat_sync::slab_bytes();
    let before = used();
    (1..COUNT).for_each(|_| create());
    (used() - before) / (COUNT - 1)
}

/// One test, because others would allocate at the same time.
#[test]
fn an_endpoint_takes_little_memory_before_and_after_its_first_use() {
    for (name, unused, used) in
        [("loopback", 420, 1500), ("shm", 420, 5400), ("tcp-lo", 420, 5400), ("auto", 420, 5400)]
    {
        let bytes = [false, true].map(|is_used| bytes_each(name, is_used));
        println!("{name}: {bytes:?} bytes");
        assert!(bytes[0] <= unused && bytes[1] <= used, "{name}: {bytes:?} bytes");
    }
}
