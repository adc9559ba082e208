//! Memory regions.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};

use super::{
    Access, Error, Memory, ProtectionDomain, RemoteAddress, Result, Segment, Subject, library,
};
use crate::sys::verbs::{IBV_ACCESS_ON_DEMAND, ibv_mr};

/// Registered memory (ibv_reg_mr(3)).
///
/// A region made by [`new`](Self::new) owns its memory. Peers and the device may write it at any
/// time, so the program copies: [`read`](Self::read) and [`write`](Self::write). Copies of several
/// threads exclude each other; a copy that overlaps a transfer of the device may see it in part.
pub struct MemoryRegion {
    /// The object of the library until it is deregistered.
    raw: Mutex<Option<RegionPointer>>,
    local_key: u32,
    remote_key: u32,
    /// The address that posts and peers use for the first byte.
    address: u64,
    length: usize,
    /// Posts in flight and bound windows that refer to it.
    uses: AtomicU32,
    memory: RwLock<Option<Memory>>,
    domain: Arc<ProtectionDomain>,
}

#[derive(Clone, Copy)]
struct RegionPointer(NonNull<ibv_mr>);

// SAFETY: the library's calls on it are thread safe.
unsafe impl Send for RegionPointer {}

/// Flags that a kernel may ignore, and that only the newer call takes.
const OPTIONAL: u32 = 0x3ff << 20;

impl MemoryRegion {
    /// Registers memory, which the region owns from then on.
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

    /// Registers memory under an address of the program's choice, 0 for example: posts and peers
    /// name its bytes by that address (ibv_reg_mr_iova(3)).
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
        // SAFETY: the region owns the memory and frees it only once it is deregistered; the
        // program reaches it by copies only.
        let mut region = unsafe { Self::register(domain, start, length, address, access.bits())? };
        region.memory = RwLock::new(Some(memory));
        Ok(Arc::new(region))
    }

    /// Registers memory that the caller keeps; `access` is a set of `IBV_ACCESS_…`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Safety
    /// The memory must stay mapped until the region is deregistered, and no reference may exist
    /// to bytes that the device may write, as far as `access` lets it.
    pub unsafe fn from_raw(
        domain: &Arc<ProtectionDomain>,
        address: u64,
        length: usize,
        access: u32,
    ) -> Result<Self> {
        // SAFETY: the caller answers for the memory.
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
        let raw = if start == address
            && access & (OPTIONAL | IBV_ACCESS_ON_DEMAND) == access & IBV_ACCESS_ON_DEMAND
        {
            // SAFETY: the domain is alive; the kernel checks the address itself.
            unsafe { (verbs.ibv_reg_mr)(domain.raw(), pointer, length, access as i32) }
        } else {
            let Some(call) = verbs.ibv_reg_mr_iova2 else {
                return Err(Error::new("ibv_reg_mr_iova2", libc::EOPNOTSUPP));
            };
            // SAFETY: as above.
            unsafe { call(domain.raw(), pointer, length, address, access) }
        };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_reg_mr"))?;
        Ok(Self::wrap(raw, domain, address, length))
    }

    /// Registers a part of a DMA buffer of another device, such as memory of a GPU
    /// (ibv_reg_dmabuf_mr(3)). Posts and peers name its first byte by `address`. It has no memory
    /// that the program could copy from or to.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, the kernel or libibverbs has no such registrations; `EBADF`,
    /// `EINVAL`: the descriptor is not of a DMA buffer, or the range lies outside.
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
        // SAFETY: the domain is alive and the descriptor open; the kernel takes a reference of
        // its own to the buffer.
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
        // SAFETY: it was just made, and its keys never change.
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

    /// The key that posts of this side name it by.
    #[inline]
    #[must_use]
    pub fn local_key(&self) -> u32 {
        self.local_key
    }

    /// The key that peers name it by.
    #[inline]
    #[must_use]
    pub fn remote_key(&self) -> u32 {
        self.remote_key
    }

    /// The domain that it is registered in.
    #[inline]
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The address by which posts and peers name its first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no byte.
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

    /// What a peer needs to reach its bytes from that offset on.
    #[must_use]
    pub fn remote(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: self.address.wrapping_add(offset), key: self.remote_key }
    }

    /// Copies bytes out, from that offset on.
    ///
    /// # Errors
    /// `EFAULT`: the bytes are not inside the region, or it does not own its memory.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let memory = self.memory.read();
        let from = self.pointer(memory.as_ref(), offset, into.len())?;
        // SAFETY: the bytes lie in the memory, which lives under the lock; no reference to them
        // exists. The device may write them meanwhile, as another processor would.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies bytes in, from that offset on.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<()> {
        let memory = self.memory.write();
        let to = self.pointer(memory.as_ref(), offset, from.len())?;
        // SAFETY: as for reading; the lock excludes other copies.
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
        let mut bytes = vec![0; length];
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
        Error::new("copy", libc::EFAULT).on(self.subject())
    }

    pub(super) fn subject(&self) -> Subject {
        Subject::MemoryRegion(self.local_key)
    }

    /// Calls the function with the object of the library, unless it is deregistered; a
    /// deregistration waits meanwhile.
    pub(super) fn with<R>(&self, call: impl FnOnce(*mut ibv_mr) -> R) -> Option<R> {
        let raw = self.raw.lock();
        raw.map(|raw| call(raw.0.as_ptr()))
    }

    /// Deregisters the memory: once this has returned without an error the device does not touch
    /// it any more (ibv_dereg_mr(3)). A second call does nothing. Dropping the last handle does
    /// the same.
    ///
    /// # Errors
    /// `EBUSY`: a post in flight or a bound window uses the region.
    pub fn deregister(&self) -> Result<()> {
        let mut raw = self.raw.lock();
        let Some(pointer) = *raw else { return Ok(()) };
        if self.uses.load(Ordering::Acquire) != 0 {
            return Err(Error::new("ibv_dereg_mr", libc::EBUSY).on(self.subject()));
        }
        // SAFETY: it is alive, since it was not deregistered, and is gone after a success.
        let code = unsafe { (library!(verbs).ibv_dereg_mr)(pointer.0.as_ptr()) };
        Error::check("ibv_dereg_mr", code).map_err(|error| error.on(self.subject()))?;
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

/// A use of a region by a post in flight or a bound window: the region stays registered.
#[derive(Debug)]
pub(crate) struct RegionUse(Arc<MemoryRegion>);

impl RegionUse {
    /// # Errors
    /// `EINVAL`: the region is deregistered.
    pub(super) fn new(region: &Arc<MemoryRegion>, call: &'static str) -> Result<Self> {
        // Under the lock, so that no deregistration is between its check and its end.
        region
            .with(|_| {
                region.uses.fetch_add(1, Ordering::AcqRel);
                Self(Arc::clone(region))
            })
            .ok_or(Error::new(call, libc::EINVAL).on(region.subject()))
    }
}

impl Drop for RegionUse {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::AcqRel);
    }
}
