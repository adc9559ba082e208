//! Registered memory.
#![allow(unsafe_code, reason = "the program registers its memory by address")]

use std::ptr::{self, NonNull, with_exposed_provenance_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::mem::Span;
use dat_provider::{MemoryRegion, Registration};

use crate::access::Access;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::in_use::{Use, UseCount};
use crate::request::Sge;

/// A region of this process begins at another address than its memory.
static HAS_OTHER_ADDRESSES: AtomicBool = AtomicBool::new(false);

/// Registered memory (ibv_reg_mr(3)).
pub struct Region {
    domain: Arc<Domain>,
    pub(crate) kit: Box<dyn MemoryRegion>,
    range: Range,
    access: Access,
    local_key: u32,
    remote_key: u32,
    windows: UseCount,
}

/// The place of memory, and the address by which posts and peers name it.
#[derive(Clone, Copy)]
struct Range {
    /// The first address.
    address: u64,
    /// Number of bytes.
    length: u64,
    /// The address for posts and peers.
    iova: u64,
}

impl Region {
    fn new(
        domain: &Arc<Domain>,
        registration: Registration,
        (range, access): (Range, Access),
        used: Use,
    ) -> Arc<Self> {
        let Registration { region: kit, local_key, remote_key } = registration;
        if range.iova != range.address {
            // Before the key is known to the program.
            HAS_OTHER_ADDRESSES.store(true, Ordering::Relaxed);
        }
        let region = Arc::new(Self {
            domain: Arc::clone(domain),
            kit,
            range,
            access,
            local_key,
            remote_key: if remote_key == 0 { local_key } else { remote_key },
            windows: UseCount::using(vec![used]),
        });
        domain.regions.lock().insert(local_key, Arc::downgrade(&region));
        region
    }

    /// Its domain.
    #[must_use]
    pub const fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The first address.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.range.address
    }

    /// The address of the first byte for posts and peers.
    #[must_use]
    pub const fn iova(&self) -> u64 {
        self.range.iova
    }

    /// The address of the memory that posts and peers name by this one.
    pub(crate) const fn memory_at(&self, iova: u64) -> u64 {
        let Range { address, iova: first, .. } = self.range;
        address.wrapping_add(iova.wrapping_sub(first))
    }

    /// Number of bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.range.length
    }

    /// The permitted accesses.
    #[must_use]
    pub const fn access(&self) -> Access {
        self.access
    }

    /// The key for local segments (`lkey`).
    #[must_use]
    pub const fn local_key(&self) -> u32 {
        self.local_key
    }

    /// The key for operations of the peer (`rkey`). Without an access for the peer it permits nothing.
    #[must_use]
    pub const fn remote_key(&self) -> u32 {
        self.remote_key
    }

    /// A window is bound to it.
    pub(crate) fn add_window(&self) -> Result<Use> {
        self.windows.add()
    }

    /// Ends the registration (ibv_dereg_mr(3)). After the return no transfer accesses the memory.
    ///
    /// # Errors
    /// `EBUSY` while a window is bound to it, or if a peer on this machine does not end its access.
    pub fn deregister(&self) -> Result<()> {
        self.windows.check("cannot deregister the region: a memory window is bound to it")?;
        self.forget();
        self.kit.deregister().map_err(|error| Error::new(libc::EBUSY, error.to_string()))?;
        self.windows.end("cannot deregister the region: a memory window was bound to it meanwhile")
    }

    /// Removes it from the regions of the domain, unless another one has its key by now.
    fn forget(&self) {
        let mut regions = self.domain.regions.lock();
        if regions.get(&self.local_key).is_some_and(|one| ptr::eq(one.as_ptr(), self)) {
            regions.remove(&self.local_key);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Domain {
    /// Registers memory (ibv_reg_mr(3), ibv_reg_mr_iova(3)). Posts and peers name its first byte by `iova`, or by 0 if
    /// the region is zero-based.
    ///
    /// # Errors
    /// `EINVAL` if the peer may write and local writes are not permitted, or if the region would exceed the address space
    /// at the `iova`; `EOPNOTSUPP` for the whole address space; `ENOMEM` if there is no key left.
    ///
    /// # Safety
    /// The memory must exist until the region is deregistered, and the program must have no reference into it that a
    /// transfer could violate.
    pub unsafe fn register(
        self: &Arc<Self>,
        address: u64,
        length: u64,
        iova: u64,
        access: Access,
    ) -> Result<Arc<Region>> {
        let range = Range { address, length, iova: first_address(iova, access) };
        // SAFETY: the caller guarantees that the memory exists until the region is deregistered.
        let span = unsafe { checked_span(range, access) }?;
        let used = self.add_use()?;
        let registration =
            self.kit.for_verbs().register_at(span, range.iova, access.privileges())?;
        Ok(Region::new(self, registration, (range, access), used))
    }

    /// Registers other memory under the local key of a region, which may be one of another domain (ibv_rereg_mr(3)). The
    /// region is replaced by the returned one. The remote key stays, unless one of the regions has an `iova` of its own.
    ///
    /// # Errors
    /// As [`register`](Self::register), and `EBUSY` while a window is bound to the region: it is unchanged. `EIO` if a peer
    /// on this machine does not end its access, or if there is no key left: the keys of the region name nothing any more,
    /// and it has to be deregistered.
    ///
    /// # Safety
    /// As [`register`](Self::register).
    pub unsafe fn reregister(
        self: &Arc<Self>,
        old: &Region,
        address: u64,
        length: u64,
        iova: u64,
        access: Access,
    ) -> Result<Arc<Region>> {
        let range = Range { address, length, iova: first_address(iova, access) };
        // SAFETY: as in `register`.
        let span = unsafe { checked_span(range, access) }?;
        let used = self.add_use()?;
        old.windows.end("cannot register the region again: a memory window is bound to it")?;
        old.forget();
        let again =
            old.kit.for_verbs().reregister(&*self.kit, span, range.iova, access.privileges());
        let registration = again.map_err(|error| {
            old.windows.undo_end();
            Error::new(libc::EIO, error.to_string())
        })?;
        Ok(Region::new(self, registration, (range, access), used))
    }

    /// The region with that local key.
    fn region(&self, local_key: u32) -> Option<Arc<Region>> {
        self.regions.lock().get(&local_key)?.upgrade()
    }

    /// The address of the memory of a segment.
    #[inline]
    pub(crate) fn address_of(&self, sge: &Sge) -> u64 {
        // Set before the program has a key of such a region.
        if HAS_OTHER_ADDRESSES.load(Ordering::Relaxed) {
            return self.other_address_of(sge);
        }
        sge.address
    }

    #[cold]
    fn other_address_of(&self, sge: &Sge) -> u64 {
        let region = self.region(sge.key);
        region.map_or(sge.address, |region| region.memory_at(sge.address))
    }

    /// Takes advice on segments of regions (ibv_advise_mr(3)), which changes nothing: the system pages the memory.
    ///
    /// # Errors
    /// `EINVAL` if no region of the domain has a key; `EOPNOTSUPP` for a region without
    /// [`ON_DEMAND`](Access::ON_DEMAND); `EFAULT` for a segment outside of its region; `EPERM` if it is to be written, and
    /// the region permits no local writes.
    pub fn advise(&self, segments: &[Sge], is_written: bool) -> Result<()> {
        for sge in segments {
            let why = format!("cannot take advice on the segment {sge:x?}");
            let region = self.region(sge.key).ok_or_else(|| {
                Error::invalid(format!("{why}: no region of the domain has its key"))
            })?;
            if !region.access.contains(Access::ON_DEMAND) {
                return Err(Error::unsupported("advice needs a region with IBV_ACCESS_ON_DEMAND"));
            }
            let end = region.length().checked_sub(sge.length.into());
            let offset = sge.address.wrapping_sub(region.iova());
            if end.is_none_or(|last| offset > last) {
                return Err(Error::new(
                    libc::EFAULT,
                    format!("{why}: it is outside of the region"),
                ));
            }
            if is_written && !region.access.contains(Access::LOCAL_WRITE) {
                return Err(Error::new(libc::EPERM, format!("{why}: its region is read-only")));
            }
        }
        Ok(())
    }
}

/// How posts and peers name the first byte.
fn first_address(iova: u64, access: Access) -> u64 {
    if access.contains(Access::ZERO_BASED) { 0 } else { iova }
}

/// The memory of a registration, if its arguments are right.
///
/// # Safety
/// As [`Domain::register`].
unsafe fn checked_span(range: Range, access: Access) -> Result<Span> {
    let Range { address, length, iova } = range;
    let is_written_remotely = access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
    if is_written_remotely && !access.contains(Access::LOCAL_WRITE) {
        return Err(Error::invalid(
            "cannot register memory that the peer may write and this side may not: add IBV_ACCESS_LOCAL_WRITE",
        ));
    }
    if iova.checked_add(length).is_none() {
        return Err(Error::invalid(format!(
            "cannot register {length} bytes at the iova {iova:#x}: they exceed the address space"
        )));
    }
    let base = NonNull::new(with_exposed_provenance_mut(address as usize)).ok_or_else(|| {
        Error::unsupported("cannot register the whole address space (an implicit region)")
    })?;
    let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= isize::MAX as usize);
    let Some(bytes) = bytes else {
        return Err(Error::invalid(format!("cannot register {length} bytes")));
    };
    // SAFETY: the caller guarantees the memory.
    Ok(unsafe { Span::new(base, bytes) })
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Range { address, length, iova } = self.range;
        write!(f, "Region({address:#x}+{length} at {iova:#x}, key {:#x})", self.local_key)
    }
}

#[cfg(test)]
mod tests {
    use dat_provider::mem::Memory;

    use super::*;
    use crate::device::devices;

    fn domain_with_memory() -> (Arc<Domain>, Memory) {
        let context = devices()[0].open().expect("the device");
        (context.create_domain().expect("a domain"), Memory::zeroed(64).expect("memory"))
    }

    #[test]
    fn a_region_that_could_not_be_registered_again_has_to_be_deregistered() {
        let (domain, memory) = domain_with_memory();
        let (address, access) = (memory.address(), Access::LOCAL_WRITE);
        // SAFETY: the memory outlives the regions.
        let region = unsafe { domain.register(address, 64, address, access) }.expect("memory");
        region.kit.deregister().expect("unused");
        // SAFETY: as above.
        let again = unsafe { domain.reregister(&region, address, 64, address, access) };
        assert_eq!(again.expect_err("the engine has not the region").errno, libc::EIO);
        region.deregister().expect("once");
        assert_eq!(region.deregister().expect_err("twice").errno, libc::EINVAL);
        domain.deallocate().expect("it has no region");
    }

    #[test]
    fn a_domain_forgets_a_region_that_is_dropped_and_not_the_one_with_its_key() {
        let (domain, memory) = domain_with_memory();
        let (address, access) = (memory.address(), Access::LOCAL_WRITE);
        // SAFETY: the memory outlives the regions.
        let first = unsafe { domain.register(address, 64, 0x1000, access) }.expect("memory");
        // SAFETY: as above.
        let again = unsafe { domain.reregister(&first, address, 64, 0x2000, access) };
        let again = again.expect("no window is bound");
        drop(first);
        assert_eq!(domain.region(again.local_key()).expect("it is left").iova(), 0x2000);
        drop(again);
        assert!(domain.regions.lock().is_empty());
    }
}
