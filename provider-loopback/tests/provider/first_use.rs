//! The first use of an endpoint, which creates its queue pair.

use std::sync::Barrier;

use dat_core::{CompletionFlags, EpSpec, EvdFlags, EvdOptions, Memory, MemorySource, Privileges};

use crate::common::open_ia;

const THREADS: u32 = 4;

/// The first receive takes the slow path, and those after it the fast path, which does not test whether there is a queue
/// pair.
#[test]
fn receives_of_several_threads_all_get_into_one_queue_pair() {
    let ia = open_ia();
    let pz = ia.pz_create().unwrap();
    let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT)).unwrap();
    let memory = Memory::zeroed(8).unwrap();
    let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL).unwrap();
    let segment = [lmr.triplet(0, 8).unwrap()];
    for _ in 0..100 {
        let ep = ia.ep_create(&EpSpec::new(&pz).recv_evd(&evd)).unwrap();
        assert!(ep.status().unwrap().recv_idle);
        let start = Barrier::new(THREADS as usize);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (ep, start) = (&ep, &start);
                scope.spawn(move || {
                    start.wait();
                    for cookie in [1, 2] {
                        ep.post_recv(&segment, cookie, CompletionFlags::empty()).unwrap();
                    }
                    // Control calls at the same time wait for the creation, or do without the queue pair.
                    assert!(thread > 0 || !ep.status().unwrap().recv_idle);
                });
            }
        });
        assert_eq!(ep.recv_query().unwrap().allocated, 2 * THREADS);
        ep.free().unwrap();
    }
}
