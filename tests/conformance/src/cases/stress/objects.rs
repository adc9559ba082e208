//! Objects of all kinds that threads create and free.

use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;

use super::threads::{ENOUGH, THREADS, in_threads};
use crate::prelude::*;

/// An endpoint and the service point that reserves it, if its qualifier was unused.
#[derive(Debug)]
struct Reserved(Option<Rsp>, Ep);

impl Free for Reserved {
    fn free(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), Rsp::free).and_then(|()| self.1.free())
    }
}

/// Creates an object of a random kind.
fn make(random: &mut Rng, node: &Node, memory: &Memory) -> Result<Box<dyn Free + Send>> {
    let ia: &Ia = &node.ia;
    let offers = ia.provider_attributes();
    match random.u32(..9) {
        0 => ia.pz_create().map(boxed),
        1 => {
            let options = EvdOptions::new(1 + random.u32(..64), EvdFlags::DEFAULT);
            ia.evd_create(&options).map(boxed)
        }
        2 => ia.cno_create(None).map(boxed),
        3 => ia.ep_create(&node.spec()).map(boxed),
        4 => {
            let source = MemorySource::Memory(memory);
            ia.lmr_create(source, &node.pz, Privileges::ALL).map(boxed)
        }
        5 if offers.rmr_supported => ia.rmr_create(&node.pz).map(boxed),
        6 if offers.srq_supported => {
            let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
            ia.srq_create(&node.pz, attributes).map(boxed)
        }
        7 => ia.psp_create_any(&node.requests, EpProvision::Consumer).map(boxed),
        _ => {
            let ep = ia.ep_create(&node.spec())?;
            let qualifier = 30_000 + u64::from(random.u32(..20_000));
            match ia.rsp_create(qualifier, Some(&ep), &node.requests) {
                Ok(rsp) => Ok(boxed(Reserved(Some(rsp), ep))),
                Err(error) if error.is(ReturnType::ConnQualInUse) => Ok(boxed(Reserved(None, ep))),
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
        let mut objects = Vec::new();
        let start = Instant::now();
        for _ in 0..6_000 {
            if start.elapsed() > ENOUGH {
                break;
            }
            if objects.len() < 24 && random.u32(..3) != 0 {
                objects.push(make(&mut random, &shared, &memory).expect("within the limits"));
            } else if !objects.is_empty() {
                let at = random.usize(..objects.len());
                objects.swap_remove(at).free().expect("nothing uses it");
            }
        }
        for object in objects {
            object.free().expect("nothing uses it");
        }
    });
    // A graceful close fails if an object is left.
    Arc::into_inner(node).expect("all threads ended").finish();
}
