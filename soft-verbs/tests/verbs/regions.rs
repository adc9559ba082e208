//! Registered memory.

use dat_provider::mem::Memory;
use dat_soft_verbs::*;

use crate::world::*;

/// Writes eight bytes of a side into a region of its peer, and returns how that ended.
fn write(from: &Side, address: u64, key: u32) -> WcStatus {
    from.post(1, SendOperation::Write(Remote { address, key }), from.sge(0, 8));
    from.one().status
}

#[test]
fn a_region_that_is_registered_again_keeps_its_keys() {
    let [a, b] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let other = Memory::zeroed(64).expect("memory");
    let domain = &b.domain;
    let first = register(domain, &memory, Access::LOCAL_WRITE);
    let access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    // SAFETY: the memory outlives the region.
    let again = unsafe { domain.reregister(&first, other.address(), 64, access) };
    let again = again.expect("no window is bound");
    assert_eq!(again.local_key(), first.local_key());
    assert_eq!(again.remote_key(), first.remote_key());
    first.deregister().expect_err("it is gone");
    assert_eq!(write(&a, other.address(), again.remote_key()), WcStatus::SUCCESS);
    assert_eq!(write(&a, memory.address(), again.remote_key()), WcStatus::REM_ACCESS_ERR);
    again.deregister().expect("it is unused");
}

#[test]
fn a_region_that_is_registered_again_in_another_domain_is_no_longer_in_the_first() {
    let [a, b] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let region = register(&b.domain, &memory, all_access());
    let other = b.context.create_domain().expect("memory");
    // SAFETY: the memory outlives the region.
    let moved = unsafe { other.reregister(&region, memory.address(), 64, all_access()) };
    let moved = moved.expect("no window is bound");
    other.deallocate().expect_err("it has a region");
    assert_eq!(write(&a, memory.address(), moved.remote_key()), WcStatus::REM_ACCESS_ERR);
    moved.deregister().expect("it is unused");
    other.deallocate().expect("it has no region");
}
