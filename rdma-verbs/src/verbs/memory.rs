//! Memory that can be registered.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};

use dat_sync::pages::page_size;

use crate::{Error, Result};

/// Memory of the program that a [`MemoryRegion`](super::MemoryRegion) can own: zeroed pages, or a
/// copy of a slice.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
    layout: Layout,
}

// SAFETY: the type owns plain memory.
unsafe impl Send for Memory {}
// SAFETY: a shared reference gives access to the bytes only through raw pointers.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `length` zero bytes, in pages of their own.
    ///
    /// # Panics
    /// If the length exceeds `isize::MAX`. If no memory is left, the process aborts, as for a
    /// vector; see [`try_zeroed`](Self::try_zeroed).
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let Some(layout) = layout(length) else {
            panic!("capacity overflow: {length} bytes");
        };
        Self::allocate(length, layout).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
    }

    /// As [`zeroed`](Self::zeroed), for a length that does not come from the program itself.
    ///
    /// # Errors
    /// `ENOMEM`: the system has no memory of that length.
    pub fn try_zeroed(length: usize) -> Result<Self> {
        layout(length).and_then(|layout| Self::allocate(length, layout)).ok_or(NO_MEMORY)
    }

    fn allocate(length: usize, layout: Layout) -> Option<Self> {
        // SAFETY: the layout has a size above 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, length, layout })
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

    /// Its first byte. The device may write the memory while it is registered.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// Whole pages of this machine, so that no other allocation lies in the first or the last one: after fork, a child lacks
/// the pages of registered memory. `None` for more than an address space has.
fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), page_size()).ok().map(|layout| layout.pad_to_align())
}

/// The error of a call for which the system has no memory.
pub(crate) const NO_MEMORY: Error = Error::new("allocate", libc::ENOMEM);

/// An empty vector with space for that number of elements.
pub(super) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| NO_MEMORY)?;
    Ok(elements)
}

impl From<&[u8]> for Memory {
    /// Copies the bytes.
    fn from(bytes: &[u8]) -> Self {
        let memory = Self::zeroed(bytes.len());
        // SAFETY: the new memory has the same length, and does not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        memory
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with that layout and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_the_system_does_not_have_is_an_error() {
        for length in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 2 * page_size()] {
            let error = Memory::try_zeroed(length).expect_err("longer than the address space");
            assert_eq!(error.errno, libc::ENOMEM);
            assert!(error.to_string().contains("free memory"), "{error}");
        }
        assert_eq!(Memory::try_zeroed(page_size() + 1).expect("memory").len(), page_size() + 1);
        assert_eq!(reserved::<u64>(usize::MAX / 16).expect_err("too many").errno, libc::ENOMEM);
        assert!(reserved::<u64>(3).expect("memory").capacity() >= 3);
    }

    #[test]
    fn memory_consists_of_whole_pages_of_its_own() {
        for length in [0, 1, page_size(), page_size() + 1] {
            let memory = Memory::zeroed(length);
            assert_eq!(memory.len(), length);
            assert_eq!(memory.as_ptr().addr() % page_size(), 0);
            assert_eq!(memory.layout.size(), length.max(1).next_multiple_of(page_size()));
        }
    }
}
