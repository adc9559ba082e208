//! Memory regions.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_sync::{Mutex, RwLock};

use super::memory::reserved;
use super::{
    Access, Error, ErrorObject, Memory, ProtectionDomain, RemoteAddress, Result, Segment, library,
};
use crate::sys::verbs::ibv_mr;

/// Registered memory (ibv_reg_mr(3)).
///
/// A region created by [`new`](Self::new) owns its memory. Peers and the device may write it at any
/// time, so the program copies data with [`read`](Self::read) and [`write`](Self::write). A write
/// excludes other copies; a copy during a transfer of the device may see a part of it.
///
/// ```
/// use std::sync::Arc;
///
/// use rdma_verbs::verbs::{Access, Memory, MemoryRegion, ProtectionDomain, Segment};
///
/// fn message(domain: &Arc<ProtectionDomain>) -> rdma_verbs::Result<Segment> {
///     let region = MemoryRegion::new(domain, Memory::zeroed(4096), Access::LOCAL_WRITE)?;
///     region.write(0, b"hello")?;
///     region.segment(0..5) // for a post; it keeps the region registered
/// }
/// ```
pub struct MemoryRegion {
    /// The object of the library, until it is deregistered.
    raw: Mutex<Option<RegionPointer>>,
    local_key: u32,
    remote_key: u32,
    /// The address of the first byte, as posts and peers use it.
    address: u64,
    length: usize,
    /// Number of posts in flight and bound windows that use it.
    uses: AtomicU32,
    memory: RwLock<Option<Memory>>,
    domain: Arc<ProtectionDomain>,
}

#[derive(Clone, Copy)]
struct RegionPointer(NonNull<ibv_mr>);

// SAFETY: the library's calls on it are thread safe.
unsafe impl Send for RegionPointer {}

/// Flags that a kernel may ignore, and that only the newer call accepts
/// (`IBV_ACCESS_OPTIONAL_RANGE`).
const OPTIONAL: u32 = 0x3ff << 20;

impl MemoryRegion {
    /// Registers memory, which the region then owns.
    ///
    /// # Errors
    /// `EINVAL`: the access flags contradict each other; `ENOMEM`: the limit of locked memory is
    /// reached; `EOPNOTSUPP`: the device has no on-demand paging.
    pub fn new(
        domain: &Arc<ProtectionDomain>,
        memory: impl Into<Memory>,
        access: Access,
    ) -> Result<Arc<Self>> {
        let memory = memory.into();
        let address = memory.as_ptr().expose_provenance() as u64;
        Self::with_address(domain, memory, address, access)
    }

    /// Registers memory with an address that the program chooses, for example 0: posts and peers
    /// use that address for its first byte (ibv_reg_mr_iova(3)).
    ///
    /// # Errors
    /// As [`new`](Self::new); `EOPNOTSUPP`: libibverbs is too old.
    pub fn with_address(
        domain: &Arc<ProtectionDomain>,
        memory: impl Into<Memory>,
        address: u64,
        access: Access,
    ) -> Result<Arc<Self>> {
        let memory = memory.into();
        let (start, length) = (memory.as_ptr().expose_provenance() as u64, memory.len());
        // SAFETY: the region owns the memory and frees it only once it is deregistered; the program
        // accesses it only by copies.
        let mut region = unsafe { Self::register(domain, start, length, address, access.bits())? };
        region.memory = RwLock::new(Some(memory));
        Ok(Arc::new(region))
    }

    /// Registers memory that the caller owns; `access` is a set of `IBV_ACCESS_…`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Safety
    /// The memory must stay mapped until the region is deregistered. As far as `access` permits the
    /// device to write, no reference to the bytes may exist.
    pub unsafe fn from_raw(
        domain: &Arc<ProtectionDomain>,
        address: u64,
        length: usize,
        access: u32,
    ) -> Result<Self> {
        // SAFETY: the caller guarantees the memory.
        unsafe { Self::register(domain, address, length, address, access) }
    }

    /// # Safety
    /// As [`from_raw`](Self::from_raw).
    unsafe fn register(
        domain: &Arc<ProtectionDomain>,
        start: u64,
        length: usize,
        address: u64,
        access: u32,
    ) -> Result<Self> {
        let pointer = ptr::with_exposed_provenance_mut(start as usize);
        let verbs = library!(verbs);
        let raw = if start == address && access & OPTIONAL == 0 {
            // SAFETY: the domain is alive; the kernel checks the address itself.
            unsafe { (verbs.ibv_reg_mr)(domain.raw(), pointer, length, access as i32) }
        } else {
            let Some(call) = verbs.ibv_reg_mr_iova2 else {
                return Err(Error::new("ibv_reg_mr_iova2", libc::EOPNOTSUPP));
            };
            // SAFETY: the domain is alive; the kernel checks the address itself.
            unsafe { call(domain.raw(), pointer, length, address, access) }
        };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_reg_mr"))?;
        Ok(Self::wrap(raw, domain, address, length))
    }

    /// Registers a part of a DMA buffer of another device, such as memory of a GPU
    /// (ibv_reg_dmabuf_mr(3)). Posts and peers use `address` for its first byte. The program cannot
    /// copy from or to it.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, the kernel or libibverbs does not support such registrations;
    /// `EBADF`, `EINVAL`: the descriptor is not that of a DMA buffer, or the range lies outside.
    pub fn from_dmabuf(
        domain: &Arc<ProtectionDomain>,
        buffer: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        address: u64,
        access: Access,
    ) -> Result<Arc<Self>> {
        const CALL: &str = "ibv_reg_dmabuf_mr";
        let Some(call) = library!(verbs).ibv_reg_dmabuf_mr else {
            return Err(Error::new(CALL, libc::EOPNOTSUPP));
        };
        let fd = buffer.as_raw_fd();
        // SAFETY: the domain is alive and the descriptor open; the kernel takes its own reference
        // to the buffer.
        let raw = unsafe { call(domain.raw(), offset, length, address, fd, access.bits() as i32) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last(CALL))?;
        Ok(Arc::new(Self::wrap(raw, domain, address, length)))
    }

    fn wrap(
        raw: NonNull<ibv_mr>,
        domain: &Arc<ProtectionDomain>,
        address: u64,
        length: usize,
    ) -> Self {
        // SAFETY: it was just created, and its keys never change.
        let mr = unsafe { raw.as_ref() };
        Self {
            raw: Mutex::new(Some(RegionPointer(raw))),
            local_key: mr.lkey,
            remote_key: mr.rkey,
            address,
            length,
            uses: AtomicU32::new(0),
            memory: RwLock::new(None),
            domain: Arc::clone(domain),
        }
    }

    /// The key that names it in posts of this side.
    #[inline]
    #[must_use]
    pub fn local_key(&self) -> u32 {
        self.local_key
    }

    /// The key with which peers name it.
    #[inline]
    #[must_use]
    pub fn remote_key(&self) -> u32 {
        self.remote_key
    }

    /// The domain in which it is registered.
    #[inline]
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The address of its first byte, as posts and peers use it.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if its length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A range of its bytes, for a post.
    ///
    /// # Errors
    /// `EFAULT`: the range is not inside the region, or longer than 4 GiB.
    pub fn segment(self: &Arc<Self>, range: Range<usize>) -> Result<Segment> {
        Segment::new(self, range)
    }

    /// The address and key with which a peer accesses its bytes, starting at that offset.
    #[must_use]
    pub fn remote(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: self.address.wrapping_add(offset), key: self.remote_key }
    }

    /// Copies bytes out, starting at that offset.
    ///
    /// # Errors
    /// `EFAULT`: the bytes are not inside the region, or it does not own its memory.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let memory = self.memory.read();
        let from = self.pointer(memory.as_ref(), offset, into.len())?;
        // SAFETY: the bytes lie in the memory, which lives while the lock is held; no reference to
        // them exists. The device may write them concurrently, as another processor would.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies bytes in, starting at that offset.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<()> {
        let memory = self.memory.write();
        let to = self.pointer(memory.as_ref(), offset, from.len())?;
        // SAFETY: the bytes lie in the memory, which lives while the lock is held; the lock
        // excludes other copies.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// A copy of a range of its bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn to_vec(&self, range: Range<usize>) -> Result<Vec<u8>> {
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.length);
        let length = length.ok_or_else(|| self.out_of_range())?;
        let mut bytes = reserved(length).map_err(|error| error.on(self.error_object()))?;
        bytes.resize(length, 0);
        self.read(range.start, &mut bytes)?;
        Ok(bytes)
    }

    fn pointer(&self, memory: Option<&Memory>, offset: usize, length: usize) -> Result<*mut u8> {
        let memory = memory.ok_or_else(|| self.out_of_range())?;
        match offset.checked_add(length) {
            Some(end) if end <= memory.len() => Ok(memory.as_ptr().wrapping_add(offset)),
            _ => Err(self.out_of_range()),
        }
    }

    fn out_of_range(&self) -> Error {
        Error::new("copy", libc::EFAULT).on(self.error_object())
    }

    pub(super) fn error_object(&self) -> ErrorObject {
        ErrorObject::MemoryRegion(self.local_key)
    }

    /// Calls the function with the object of the library, unless it is deregistered; a
    /// deregistration waits until the function returns.
    pub(super) fn with<R>(&self, call: impl FnOnce(*mut ibv_mr) -> R) -> Option<R> {
        let raw = self.raw.lock();
        raw.map(|raw| call(raw.0.as_ptr()))
    }

    /// Deregisters the memory: after a success the device no longer accesses it (ibv_dereg_mr(3)).
    /// A second call does nothing. Dropping the last handle deregisters it too.
    ///
    /// # Errors
    /// `EBUSY`: a post in flight or a bound window uses the region.
    pub fn deregister(&self) -> Result<()> {
        let mut raw = self.raw.lock();
        let Some(pointer) = *raw else { return Ok(()) };
        if self.uses.load(Ordering::Acquire) != 0 {
            return Err(Error::new("ibv_dereg_mr", libc::EBUSY).on(self.error_object()));
        }
        // SAFETY: the object is alive, since it has not been deregistered; after a success it is
        // gone.
        let code = unsafe { (library!(verbs).ibv_dereg_mr)(pointer.0.as_ptr()) };
        Error::check("ibv_dereg_mr", code).map_err(|error| error.on(self.error_object()))?;
        *raw = None;
        Ok(())
    }
}

impl fmt::Debug for MemoryRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRegion")
            .field("address", &self.address)
            .field("length", &self.length)
            .field("local_key", &self.local_key)
            .field("remote_key", &self.remote_key)
            .finish_non_exhaustive()
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if self.deregister().is_err() {
            // The device may still write the memory, so it is never freed.
            let _ = ManuallyDrop::new(self.memory.get_mut().take());
        }
    }
}

/// A use of a region by a post in flight or a bound window, which keeps the region registered.
#[derive(Debug)]
pub(crate) struct RegionUse(Arc<MemoryRegion>);

impl RegionUse {
    /// # Errors
    /// `EINVAL`: the region is deregistered.
    pub(super) fn new(region: &Arc<MemoryRegion>, call: &'static str) -> Result<Self> {
        // Counted under the lock, so that a deregistration that found no use has ended.
        region
            .with(|_| {
                region.uses.fetch_add(1, Ordering::AcqRel);
                Self(Arc::clone(region))
            })
            .ok_or(Error::new(call, libc::EINVAL).on(region.error_object()))
    }
}

impl Drop for RegionUse {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::AcqRel);
    }
}
