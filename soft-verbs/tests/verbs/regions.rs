//! Registered memory.

use std::sync::Arc;

use dat_provider::mem::Memory;
use dat_soft_verbs::*;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

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
    let again = unsafe { domain.reregister(&first, other.address(), 64, other.address(), access) };
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
    let moved =
        unsafe { other.reregister(&region, memory.address(), 64, memory.address(), all_access()) };
    let moved = moved.expect("no window is bound");
    other.deallocate().expect_err("it has a region");
    assert_eq!(write(&a, memory.address(), moved.remote_key()), WcStatus::REM_ACCESS_ERR);
    moved.deregister().expect("it is unused");
    other.deallocate().expect("it has no region");
}

/// Registers memory that posts and peers name by `iova`.
fn register_at(domain: &Arc<Domain>, memory: &Memory, iova: u64, access: Access) -> Arc<Region> {
    // SAFETY: the memory outlives the region in each test.
    let region = unsafe { domain.register(memory.address(), memory.len() as u64, iova, access) };
    region.expect("memory of the process")
}

fn bytes(memory: &Memory, at: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes).expect("inside");
    bytes
}

#[test]
fn posts_and_peers_name_a_region_by_the_addresses_that_were_chosen_for_it() {
    for (iova, zero_based) in [(0, true), (0x7000, false), (u64::MAX - 64, false)] {
        let [a, b] = pair();
        let memory = [Memory::zeroed(64).expect("memory"), Memory::zeroed(64).expect("memory")];
        let access = all_access() | if zero_based { Access::ZERO_BASED } else { Access::empty() };
        let chosen = if zero_based { memory[0].address() } else { iova };
        let own = register_at(&a.domain, &memory[0], chosen, access);
        let far = register_at(&b.domain, &memory[1], iova, all_access());
        assert_eq!((own.iova(), far.iova()), (iova, iova));
        memory[0].write(8, b"outbound").expect("inside");
        let local = |at| Sge { address: iova + at, length: 8, key: own.local_key() };
        let remote = |at| Remote { address: iova + at, key: far.remote_key() };
        a.post(1, SendOperation::Write(remote(16)), local(8));
        a.done(1);
        assert_eq!(&bytes(&memory[1], 16), b"outbound");
        a.post(2, SendOperation::Read(remote(16)), local(32));
        a.done(1);
        assert_eq!(&bytes(&memory[0], 32), b"outbound");
        a.post(3, SendOperation::FetchAdd { remote: remote(24), add: 5 }, local(40));
        a.done(1);
        assert_eq!(bytes(&memory[1], 24), 5_u64.to_ne_bytes());
        b.receive(4, Sge { address: iova + 48, length: 8, key: far.local_key() });
        a.post(5, SendOperation::Send, local(8));
        a.done(1);
        b.done(1);
        assert_eq!(&bytes(&memory[1], 48), b"outbound");
        assert_eq!(write(&a, memory[1].address(), far.remote_key()), WcStatus::REM_ACCESS_ERR);
    }
}

#[test]
fn a_region_with_an_address_of_its_own_ends_and_is_not_a_window() {
    let [a, b] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let region = register_at(&b.domain, &memory, 0x9000, all_access());
    assert_eq!(write(&a, 0x9008, region.remote_key()), WcStatus::SUCCESS);
    b.receive(1, b.sge(0, 8));
    a.post(2, SendOperation::SendWithInvalidate(region.remote_key()), a.sge(0, 8));
    assert_eq!(a.one().status, WcStatus::REM_ACCESS_ERR);
    let [a, b] = pair();
    let region = register_at(&b.domain, &memory, 0x9000, all_access());
    let key = region.remote_key();
    assert_eq!(write(&a, 0x9008, key), WcStatus::SUCCESS);
    region.deregister().expect("unused");
    assert_eq!(write(&a, 0x9008, key), WcStatus::REM_ACCESS_ERR);
}

#[test]
fn a_region_keeps_its_address_if_its_accesses_change() {
    let [a, b] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let first = register_at(&b.domain, &memory, 0xa000, Access::LOCAL_WRITE);
    // SAFETY: the memory outlives the region.
    let again = unsafe { b.domain.reregister(&first, memory.address(), 64, 0xa000, all_access()) };
    let again = again.expect("no window is bound");
    assert_eq!(again.local_key(), first.local_key());
    assert_eq!(write(&a, 0xa008, again.remote_key()), WcStatus::SUCCESS);
    // SAFETY: as above.
    let own = unsafe {
        b.domain.reregister(&again, memory.address(), 64, memory.address(), all_access())
    };
    let own = own.expect("no window is bound");
    assert_eq!(write(&a, memory.address(), own.remote_key()), WcStatus::SUCCESS);
    assert_eq!(write(&a, 0xa008, again.remote_key()), WcStatus::REM_ACCESS_ERR);
}

#[test]
fn advice_is_taken_for_regions_that_are_paged_on_demand() {
    let [a, b] = pair();
    let memory = Memory::zeroed(64).expect("memory");
    let region = register_at(&a.domain, &memory, 0xb000, Access::ON_DEMAND);
    let sge = Sge { address: 0xb000, length: 64, key: region.local_key() };
    let errno = |result: Result<()>| result.expect_err("refused").errno;
    a.domain.advise(&[sge], false).expect("its own region");
    assert_eq!(errno(a.domain.advise(&[sge], true)), libc::EPERM);
    assert_eq!(errno(a.domain.advise(&[Sge { length: 65, ..sge }], false)), libc::EFAULT);
    assert_eq!(errno(a.domain.advise(&[Sge { address: 0xafff, ..sge }], false)), libc::EFAULT);
    assert_eq!(errno(b.domain.advise(&[sge], false)), libc::EINVAL);
    let pinned = Sge { key: a.region.local_key(), address: a.memory.address(), length: 8 };
    assert_eq!(errno(a.domain.advise(&[pinned], false)), libc::EOPNOTSUPP);
    region.deregister().expect("unused");
    assert_eq!(errno(a.domain.advise(&[sge], false)), libc::EINVAL);
}

/// Runs an operation with a registered page of the second of two sides that are connected.
fn with_page(protection: ProtFlags, operation: impl Fn(&Side, &Side, Sge, Remote)) {
    const LENGTH: usize = 4096;
    let [one, other] = pair();
    // SAFETY: the system chooses the address.
    let page =
        unsafe { mmap_anonymous(std::ptr::null_mut(), LENGTH, protection, MapFlags::PRIVATE) };
    let page = page.expect("memory");
    let address = page.expose_provenance() as u64;
    // SAFETY: the mapping outlives the region.
    let region = unsafe { other.domain.register(address, LENGTH as u64, address, all_access()) };
    let region = region.expect("the memory is not accessed");
    let sge = Sge { address, length: 8, key: region.local_key() };
    operation(&one, &other, sge, Remote { address, key: region.remote_key() });
    region.deregister().expect("it is unused");
    // SAFETY: the mapping of this function.
    unsafe { munmap(page, LENGTH) }.expect("a mapping");
}

#[test]
fn memory_without_the_access_is_registered_and_makes_operations_fail() {
    with_page(ProtFlags::empty(), |one, other, sge, _| {
        one.receive(9, one.sge(0, 8));
        other.post(1, SendOperation::Send, sge);
        assert_eq!(other.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
    });
    with_page(ProtFlags::READ, |one, other, sge, _| {
        other.receive(1, sge);
        one.post(2, SendOperation::Send, one.sge(0, 8));
        assert_eq!(other.brief(1), [(1, WcStatus::LOC_PROT_ERR)]);
    });
    with_page(ProtFlags::READ, |one, _, _, remote| {
        one.post(1, SendOperation::Write(remote), one.sge(0, 8));
        assert_eq!(one.brief(1), [(1, WcStatus::REM_ACCESS_ERR)]);
    });
    with_page(ProtFlags::empty(), |one, _, _, remote| {
        one.post(1, SendOperation::Read(remote), one.sge(0, 8));
        assert_eq!(one.brief(1), [(1, WcStatus::REM_ACCESS_ERR)]);
    });
}
