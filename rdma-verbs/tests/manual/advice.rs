//! Advice on memory regions.

use std::slice::from_ref;

use rdma_verbs::verbs::{Access, Advice, Memory, MemoryRegion, ProtectionDomain};

use crate::common::*;
use crate::objects::open;

#[test]
fn advice_is_taken_for_memory_that_is_paged_in_on_demand() {
    with_device(|address| {
        let (context, _, domain) = open(address);
        let register = |access| MemoryRegion::new(&domain, Memory::zeroed(8192), access);
        let pinned = register(Access::LOCAL_WRITE).expect("registered");
        let segment = pinned.segment(0..8192).expect("inside");
        let advised = domain.advise(Advice::Prefetch, true, from_ref(&segment));
        let error = advised.expect_err("it is pinned");
        match register(Access::LOCAL_WRITE | Access::ON_DEMAND) {
            Ok(region) => {
                let segment = region.segment(0..8192).expect("inside");
                domain.advise(Advice::PrefetchForWrite, true, &[segment]).expect("prefetched");
            }
            Err(_) => assert_unsupported(error),
        }
        let other = ProtectionDomain::new(&context).expect("a domain");
        let refused = other.advise(Advice::Prefetch, true, from_ref(&segment));
        assert_eq!(refused.expect_err("of another domain").errno, libc::EPERM);
        pinned.deregister().expect("unused");
        let refused = domain.advise(Advice::Prefetch, true, &[segment]);
        assert_eq!(refused.expect_err("deregistered").errno, libc::EINVAL);
    });
}
