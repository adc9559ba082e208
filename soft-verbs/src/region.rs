//! Registered memory.
#![allow(unsafe_code, reason = "the program registers its memory by address")]

use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::Arc;

use dat_provider::mem::Span;
use dat_provider::{MemoryRegion, Registration};

use crate::access::Access;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::in_use::{Use, UseCount};

/// Registered memory (ibv_reg_mr(3)).
pub struct Region {
    domain: Arc<Domain>,
    pub(crate) kit: Box<dyn MemoryRegion>,
    address: u64,
    length: u64,
    access: Access,
    local_key: u32,
    remote_key: u32,
    windows: UseCount,
}

impl Region {
    fn new(
        domain: &Arc<Domain>,
        registration: Registration,
        (address, length, access): (u64, u64, Access),
        used: Use,
    ) -> Arc<Self> {
        let Registration { region: kit, local_key, remote_key } = registration;
        Arc::new(Self {
            domain: Arc::clone(domain),
            kit,
            address,
            length,
            access,
            local_key,
            remote_key: if remote_key == 0 { local_key } else { remote_key },
            windows: UseCount::using(vec![used]),
        })
    }

    /// Its domain.
    #[must_use]
    pub const fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The first address.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Number of bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
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
        self.kit.deregister().map_err(|error| Error::new(libc::EBUSY, error.to_string()))?;
        self.windows.end("cannot deregister the region: a memory window was bound to it meanwhile")
    }
}

impl Domain {
    /// Registers memory (ibv_reg_mr(3), ibv_reg_mr_iova(3)).
    ///
    /// # Errors
    /// `EINVAL` if the accesses contradict each other: those of the peer that write need local writes; `EOPNOTSUPP` for
    /// an `iova` that is not the address, and for zero-based regions; `ENOMEM` if there is no key left.
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
        // SAFETY: the caller guarantees that the memory exists until the region is deregistered.
        let span = unsafe { checked_span(address, length, iova, access) }?;
        let used = self.add_use()?;
        let registration = self.kit.register(span, access.privileges())?;
        Ok(Region::new(self, registration, (address, length, access), used))
    }

    /// Registers other memory under the keys of a region, which may be one of another domain (ibv_rereg_mr(3)). The region
    /// is replaced by the returned one.
    ///
    /// # Errors
    /// As [`register`](Self::register), and `EBUSY` while a window is bound to the region: it is unchanged. `EIO` if a peer
    /// on this machine does not end its access: it is deregistered.
    ///
    /// # Safety
    /// As [`register`](Self::register).
    pub unsafe fn reregister(
        self: &Arc<Self>,
        old: &Region,
        address: u64,
        length: u64,
        access: Access,
    ) -> Result<Arc<Region>> {
        // SAFETY: as in `register`.
        let span = unsafe { checked_span(address, length, address, access) }?;
        let used = self.add_use()?;
        old.windows.end("cannot register the region again: a memory window is bound to it")?;
        let again = old.kit.reregister(&*self.kit, span, access.privileges());
        let registration = again.map_err(|error| Error::new(libc::EIO, error.to_string()))?;
        Ok(Region::new(self, registration, (address, length, access), used))
    }
}

/// The memory of a registration, if its arguments are right.
///
/// # Safety
/// As [`Domain::register`].
unsafe fn checked_span(address: u64, length: u64, iova: u64, access: Access) -> Result<Span> {
    let is_written_remotely = access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
    if is_written_remotely && !access.contains(Access::LOCAL_WRITE) {
        return Err(Error::invalid(
            "cannot register memory that the peer may write and this side may not: add IBV_ACCESS_LOCAL_WRITE",
        ));
    }
    if iova != address || access.contains(Access::ZERO_BASED) {
        return Err(Error::unsupported(
            "cannot register memory under other addresses than its own: use an iova equal to the address, and no \
             IBV_ACCESS_ZERO_BASED",
        ));
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
        write!(f, "Region({:#x}+{}, key {:#x})", self.address, self.length, self.local_key)
    }
}
