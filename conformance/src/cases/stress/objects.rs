//! Objects of all kinds that threads create and free.

use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;

use super::threads::{ENOUGH, THREADS, in_threads};
use crate::prelude::*;

/// A function that frees an object.
type Free = Box<dyn Fn() -> Result<()> + Send>;

fn make(random: &mut Rng, node: &Node, memory: &Memory) -> Result<Free> {
    fn frees<T: Send + 'static>(made: Result<T>, free: fn(&T) -> Result<()>) -> Result<Free> {
        made.map(|object| Box::new(move || free(&object)) as Free)
    }
    let ia: &InterfaceAdapter = &node.ia;
    let offers = ia.provider_attributes();
    match random.u32(..9) {
        0 => frees(ia.pz_create(), |pz| pz.free()),
        1 => {
            let options = EvdOptions::new(1 + random.u32(..64), EvdFlags::DEFAULT);
            frees(ia.evd_create(&options), |evd| evd.free())
        }
        2 => frees(ia.cno_create(None), |cno| cno.free()),
        3 => frees(ia.ep_create(&node.spec()), |ep| ep.free()),
        4 => {
            let source = MemorySource::Memory(memory);
            frees(ia.lmr_create(source, &node.pz, Privileges::ALL), |lmr| lmr.free())
        }
        5 if offers.rmr_supported => frees(ia.rmr_create(&node.pz), |rmr| rmr.free()),
        6 if offers.srq_supported => {
            let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
            frees(ia.srq_create(&node.pz, attributes), |srq| srq.free())
        }
        7 => {
            let made = ia.psp_create_any(&node.requests, PspMaker::Consumer);
            frees(made, |psp| psp.free())
        }
        _ => {
            let ep = ia.ep_create(&node.spec())?;
            let qualifier = 30_000 + u64::from(random.u32(..20_000));
            match ia.rsp_create(qualifier, Some(&ep), &node.requests) {
                Ok(rsp) => Ok(Box::new(move || rsp.free().and_then(|()| ep.free()))),
                Err(error) if error.is(ReturnType::ConnQualInUse) => {
                    Ok(Box::new(move || ep.free()))
                }
                Err(error) => Err(error),
            }
        }
    }
}

/// Threads create and free objects of all kinds on one adapter.
pub(super) fn objects_are_created_and_freed_concurrently() {
    let node = Arc::new(Node::new());
    let shared = Arc::clone(&node);
    in_threads(THREADS, move |number| {
        let mut random = Rng::with_seed(number);
        let memory = Memory::zeroed(4_096).expect("memory");
        let mut objects: Vec<Free> = Vec::new();
        let start = Instant::now();
        for _ in 0..6_000 {
            if start.elapsed() > ENOUGH {
                break;
            }
            if objects.len() < 24 && random.u32(..3) != 0 {
                objects.push(make(&mut random, &shared, &memory).expect("within the limits"));
            } else if !objects.is_empty() {
                let at = random.usize(..objects.len());
                objects.swap_remove(at)().expect("nothing uses it");
            }
        }
        for free in objects {
            free().expect("nothing uses it");
        }
    });
    // A graceful close fails if an object is left.
    Arc::into_inner(node).expect("all threads ended").finish();
}
