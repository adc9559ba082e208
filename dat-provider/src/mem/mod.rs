//! Registered memory: the only module of this crate that accesses bytes by address.
//!
//! A peer may write registered memory at any time, so no reference into it is ever created: data is
//! copied in and out. Concurrent accesses to the same bytes may read or leave torn data, as with
//! any RDMA hardware, but they cannot break the safety of the program.
#![allow(unsafe_code, reason = "memory is reached by address here, and only here")]

mod allocation;
#[doc(hidden)]
pub mod mapping;

use std::alloc::Layout;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{Error, Result, ReturnType, Subtype};
use allocation::Allocation;

/// Copies `len` bytes between ranges that may overlap.
///
/// # Safety
/// Both ranges must be inside live memory: `from` readable, `to` writable.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller guarantees both ranges; overlap is allowed.
    unsafe { std::ptr::copy(from, to, len) };
}

/// A range of memory by address and length: what a provider registers.
///
/// A span implies that the memory exists; [`Span::new`] states what its creator guarantees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Span {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a span is only an address and a length; each access is an unsafe call with its own
// conditions.
unsafe impl Send for Span {}
// SAFETY: a span is only an address and a length; sharing them accesses no memory.
unsafe impl Sync for Span {}

impl Span {
    /// Creates the span of `len` bytes at `base`.
    ///
    /// # Safety
    /// The memory must stay readable and writable until the last registration of the span is
    /// deregistered. Until then the program must create no Rust reference into it whose aliasing
    /// rules a transfer could violate.
    #[must_use]
    pub const unsafe fn new(base: NonNull<u8>, len: usize) -> Self {
        Self { base, len }
    }

    /// The address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as usize as u64
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if its length is 0.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A pointer to the byte at a virtual address, if `len` bytes from there lie inside the span.
    /// The pointer has the provenance of the whole span.
    #[must_use]
    pub fn pointer(&self, address: u64, len: u64) -> Option<*mut u8> {
        let offset = usize::try_from(address.checked_sub(self.address())?).ok()?;
        let end = offset.checked_add(usize::try_from(len).ok()?)?;
        (end <= self.len).then(|| self.base.as_ptr().wrapping_add(offset))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}+{}", self.address(), self.len)
    }
}

/// Owned memory that can be registered, shared by its clones. Memory that [`Memory::zeroed`] allocates
/// is page-aligned; [`Memory::from_owner`] takes a vector, a mapping or other bytes that exist already.
///
/// The bytes are accessed by copies, never by reference, because a peer may write them:
///
/// ```
/// use dat_provider::mem::Memory;
///
/// let memory = Memory::zeroed(4096)?;
/// memory.write(100, b"hello")?;
/// let mut back = [0; 5];
/// memory.read(100, &mut back)?;
/// assert_eq!(&back, b"hello");
/// assert!(memory.write(4095, b"too long").is_err());
/// # Ok::<(), dat_provider::error::Error>(())
/// ```
///
/// It gives out no slice:
///
/// ```compile_fail
/// let memory = dat_provider::mem::Memory::zeroed(64).unwrap();
/// let slice: &mut [u8] = &mut memory[..];
/// ```
#[derive(Clone)]
pub struct Memory {
    allocation: Arc<Allocation>,
}

impl Memory {
    const ALIGN: usize = 4096;

    /// Allocates `len` bytes, all zero.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if `len` is 0 or exceeds the address space.
    pub fn zeroed(len: usize) -> Result<Self> {
        let layout = Layout::from_size_align(len, Self::ALIGN).ok().filter(|_| len > 0);
        let Some(layout) = layout else {
            return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .during("Memory::zeroed")
                .because(format!("cannot allocate a block of {len} bytes"))
                .advise("request at least 1 byte, and less than the address space"));
        };
        Ok(Self { allocation: Arc::new(Allocation::zeroed(layout)) })
    }

    /// Takes bytes that exist already, without copying them: a `Vec<u8>`, a `Box<[u8]>`, or a writable
    /// mapping of a file whose type has `AsMut<[u8]>`. [`Memory::into_owner`] gives the owner back.
    ///
    /// ```
    /// use dat_provider::mem::Memory;
    ///
    /// let memory = Memory::from_owner(vec![1, 2, 3])?;
    /// memory.write(1, &[9])?;
    /// assert_eq!(memory.into_owner::<Vec<u8>>().expect("the only user"), [1, 9, 3]);
    /// # Ok::<(), dat_provider::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if there are no bytes.
    pub fn from_owner<T: AsMut<[u8]> + Send + 'static>(owner: T) -> Result<Self> {
        let allocation = Allocation::of(owner);
        if allocation.span().is_empty() {
            return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .during("Memory::from_owner")
                .because("the owner has no bytes")
                .advise("pass at least 1 byte"));
        }
        Ok(Self { allocation: Arc::new(allocation) })
    }

    /// Gives back what [`Memory::from_owner`] took.
    ///
    /// # Errors
    /// The memory itself, if it has clones, is registered, or has an owner of another type.
    pub fn into_owner<T: 'static>(self) -> std::result::Result<T, Self> {
        let allocation =
            Arc::try_unwrap(self.allocation).map_err(|allocation| Self { allocation })?;
        allocation.into_owner().map_err(|it| Self { allocation: Arc::new(it) })
    }

    /// Allocates memory with a copy of the bytes.
    ///
    /// # Errors
    /// As [`Memory::zeroed`].
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        let memory = Self::zeroed(bytes.len())?;
        memory.write(0, bytes)?;
        Ok(memory)
    }

    /// The address of the first byte, as used in triplets.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.span().address()
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span().len
    }

    /// Returns true if its length is 0; never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The span of the memory.
    #[must_use]
    pub fn span(&self) -> Span {
        self.allocation.span()
    }

    /// The span of a part of the memory, by offsets; `None` if the part is not inside.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Option<Span> {
        let len = range.end.checked_sub(range.start)?;
        let span = self.span();
        let base = span.pointer(span.address().checked_add(range.start as u64)?, len as u64)?;
        // SAFETY: the part lies in the span, which the allocation keeps.
        Some(unsafe { Span::new(NonNull::new(base)?, len) })
    }

    /// Copies bytes out, starting at `offset`.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the range is not inside the memory; nothing is copied.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let from = self.checked("Memory::read", offset, into.len())?;
        // SAFETY: the range was checked, and `into` is a separate, exclusive borrow.
        unsafe { copy(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies bytes in, starting at `offset`.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the range is not inside the memory; nothing is copied.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = self.checked("Memory::write", offset, bytes.len())?;
        // SAFETY: the range was checked; no reference into the memory exists.
        unsafe { copy(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Copies the bytes of a range into a vector.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn to_vec(&self, offset: usize, len: usize) -> Result<Vec<u8>> {
        self.checked("Memory::to_vec", offset, len)?;
        let mut bytes = vec![0; len];
        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn checked(&self, operation: &'static str, offset: usize, len: usize) -> Result<*mut u8> {
        let span = self.span();
        span.pointer(span.address().saturating_add(offset as u64), len as u64).ok_or_else(|| {
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .during(operation)
                .because(format!("{len} bytes at offset {offset} exceed the {} bytes", span.len))
                .advise("keep offset + length within the memory's length")
        })
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({:?})", self.span())
    }
}
