//! Parent and thread domains.

use std::sync::Arc;

use rdma_verbs::verbs::{Access, ProtectionDomain, ThreadDomain};

use crate::common::*;
use crate::objects::open;

#[test]
fn parent_domains_take_the_place_of_a_domain_unless_the_driver_has_none() {
    with_device(|address| {
        let (context, _, domain) = open(address);
        let other = ProtectionDomain::new(&context).expect("a domain");
        let used = |parent: Arc<ProtectionDomain>| {
            assert!(*parent == *domain && *parent != *other);
            assert_eq!(parent.parent().expect_err("one level").errno, libc::EINVAL);
            let region = region(&parent, 16, Access::LOCAL_WRITE);
            drop(parent);
            region.write(0, b"parent").expect("inside");
        };
        match domain.parent() {
            Ok(parent) => used(parent),
            Err(error) => assert_unsupported(error),
        }
        match ThreadDomain::new(&context) {
            Ok(thread) => {
                // SAFETY: this thread is the only one that uses objects of the domain.
                let parent = unsafe { domain.parent_of_thread(&thread) };
                drop(thread);
                used(parent.expect("a parent domain"));
            }
            Err(error) => assert_unsupported(error),
        }
    });
}
