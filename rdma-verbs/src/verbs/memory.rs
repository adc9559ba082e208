//! Memory that can be registered.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};

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

/// Alignment of zeroed memory: a page, so that no registration shares a page with other data.
const PAGE: usize = 4096;

impl Memory {
    /// Allocates `length` zero bytes, in pages of their own.
    ///
    /// # Panics
    /// If the length exceeds `isize::MAX`. If no memory is left, the process aborts, as for a
    /// vector.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let Ok(layout) = Layout::from_size_align(length.max(1), PAGE) else {
            panic!("capacity overflow: {length} bytes");
        };
        // Whole pages, so that no other allocation lies in the last one.
        let layout = layout.pad_to_align();
        // SAFETY: the layout has a size above 0.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { std::alloc::handle_alloc_error(layout) };
        Self { start, length, layout }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether its length is 0.
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
    fn memory_consists_of_whole_pages_of_its_own() {
        for length in [0, 1, PAGE, PAGE + 1] {
            let memory = Memory::zeroed(length);
            assert_eq!(memory.len(), length);
            assert_eq!(memory.as_ptr().addr() % PAGE, 0);
            assert_eq!(memory.layout.size(), length.max(1).next_multiple_of(PAGE));
        }
    }
}
