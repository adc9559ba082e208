//! The memory of an endpoint, before and after its first use, and of a connection, so that it does not grow unseen:
//! programs create thousands. An object that is rarely used must be created at its first use.
#![allow(unsafe_code, reason = "the test counts what the allocator of the program hands out")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use dat_core::{
    Connect, ConnectionEventKind, Ep, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions, Event, Ia,
    Memory, MemorySource, Privileges, Registry, Timeout,
};

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

/// Opens an adapter without a monitor, whose thread takes memory for each connection after a second.
fn open(name: &str) -> Ia {
    let registry = Registry::new();
    for provider in dat_builtin_providers::all() {
        registry.add_provider(provider).expect("no other has its name");
    }
    registry.open(&format!("{name}?monitor=no")).expect("it needs no device")
}

fn heap() -> usize {
    IN_USE.load(Ordering::Relaxed) + dat_sync::slab_bytes()
}

/// The bytes of one of many endpoints, to each of which a receive was posted if `is_used`.
fn bytes_each(name: &str, is_used: bool) -> usize {
    let ia = open(name);
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
    let before = heap();
    (1..COUNT).for_each(|_| create());
    (heap() - before) / (COUNT - 1)
}

/// Resident bytes of memory that processes share. Both sides of a connection are in this process.
fn shared() -> usize {
    let all = std::fs::read_to_string("/proc/self/smaps").expect("Linux");
    let (mut kilobytes, mut is_shared) = (0, false);
    for line in all.lines() {
        match line.strip_prefix("Pss:") {
            Some(pss) if is_shared => {
                let pss = pss.trim().trim_end_matches(" kB");
                kilobytes += pss.parse::<usize>().expect("a number");
            }
            Some(_) => {}
            // The first line of a mapping.
            None if line.contains(" r") && line.contains('-') => {
                is_shared = line.contains("memfd:dat-shm");
            }
            None => {}
        }
    }
    kilobytes << 10
}

/// Number of connections: each takes two descriptors, of 1,024 at least.
const CONNECTIONS: usize = 1 << 7;

fn next(evd: &Evd) -> Event {
    let event = evd.next_event(Timeout::After(std::time::Duration::from_secs(60)));
    event.expect("a dispatcher").expect("an event within a minute")
}

fn expect_established(evd: &Evd) {
    let event = next(evd);
    let Event::Connection(event) = event else { panic!("{event:?}") };
    assert_eq!(event.kind, ConnectionEventKind::Established);
}

/// The bytes of both sides of one of many connections: when it was made, and after a message in each direction.
fn connection_bytes(name: &str) -> [usize; 2] {
    let ia = open(name);
    let pz = ia.pz_create().expect("memory");
    let evd = |flags| ia.evd_create(&EvdOptions::new(8, flags)).expect("memory");
    let (requests, connected) =
        (evd(EvdFlags::CONNECTION_REQUEST), [(); 2].map(|()| evd(EvdFlags::CONNECTION)));
    let done = evd(EvdFlags::DTO);
    let memory = Memory::zeroed(64).expect("memory");
    let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL).expect("memory");
    let segment = lmr.triplet(0, 64).expect("inside of it");
    let psp = ia.psp_create_any(&requests, EpProvision::Consumer).expect("a free qualifier");
    let mut all: Vec<[Ep; 2]> = Vec::with_capacity(CONNECTIONS);
    let mut connect = || {
        let eps = [0, 1].map(|side| {
            let spec = EpSpec::new(&pz).recv_evd(&done).request_evd(&done);
            ia.ep_create(&spec.connect_evd(&connected[side])).expect("memory")
        });
        eps[0].connect(&Connect::to_psp(&psp)).expect("an attempt");
        let event = next(&requests);
        let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
        arrival.request.accept(Some(&eps[1]), b"").expect("unconnected");
        connected.iter().for_each(expect_established);
        all.push(eps);
    };
    connect();
    let (before, shared_before) = (heap(), shared());
    (1..CONNECTIONS).for_each(|_| connect());
    let used = || (heap() - before + shared() - shared_before) / (CONNECTIONS - 1);
    let idle = used();
    for eps in &all {
        for (from, to) in [(0, 1), (1, 0)] {
            eps[to].receive(&[segment], 1).expect("connected");
            eps[from].send(&[segment], 2).expect("connected");
            for _ in 0..2 {
                let event = next(&done);
                let Event::Dto(completion) = &event else { panic!("{event:?}") };
                assert_eq!(completion.status, dat_core::DtoStatus::Success);
            }
        }
    }
    [idle, used()]
}

/// One test, because others would allocate at the same time.
#[test]
fn endpoints_and_connections_take_little_memory() {
    for (name, unused, used) in
        [("loopback", 420, 1400), ("shm", 420, 1600), ("tcp-lo", 420, 1600), ("auto", 420, 1600)]
    {
        let bytes = [false, true].map(|is_used| bytes_each(name, is_used));
        println!("{name}: endpoint {bytes:?} bytes");
        assert!(bytes[0] <= unused && bytes[1] <= used, "{name}: {bytes:?} bytes");
    }
    // docs/provider-shm.md states the memory of its connections. 4 KiB of it are the page that both processes share.
    for (name, idle, used) in
        [("loopback", 3100, 3600), ("shm", 12_600, 15_700), ("tcp-lo", 7200, 10_500)]
    {
        let bytes = connection_bytes(name);
        println!("{name}: connection {bytes:?} bytes");
        assert!(bytes[0] <= idle && bytes[1] <= used, "{name}: {bytes:?} bytes");
    }
}
