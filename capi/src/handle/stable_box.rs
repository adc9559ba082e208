//! Memory at an address that C may keep.

use std::ptr::{null_mut, slice_from_raw_parts_mut};

/// Memory of the library whose address C knows.
pub(crate) struct StableBox<T: ?Sized>(*mut T);

// SAFETY: it owns the memory like a box; only this library frees it.
unsafe impl<T: ?Sized + Send> Send for StableBox<T> {}

impl<T> Default for StableBox<T> {
    fn default() -> Self {
        Self(null_mut())
    }
}

impl<T> StableBox<T> {
    /// Writes a value, at the same address as before.
    pub(crate) fn set(&mut self, value: T) -> *mut T {
        if self.0.is_null() {
            self.0 = Box::into_raw(Box::new(value));
        } else {
            // SAFETY: allocated by this type; C may read or write it, and no Rust reference to it
            // exists.
            unsafe { self.0.write(value) };
        }
        self.0
    }
}

impl<T> Default for StableBox<[T]> {
    fn default() -> Self {
        Self(slice_from_raw_parts_mut(null_mut(), 0))
    }
}

impl<T: Copy> StableBox<[T]> {
    /// Writes values, at the same address as before if their number is unchanged; returns NULL for
    /// none.
    pub(crate) fn write(&mut self, values: &[T]) -> *mut T {
        if values.is_empty() {
            return null_mut();
        }
        if self.0.len() == values.len() {
            // SAFETY: the allocation has this many elements, and no Rust reference to it exists.
            unsafe { self.0.cast::<T>().copy_from(values.as_ptr(), values.len()) };
        } else {
            *self = Self(Box::into_raw(Box::from(values)));
        }
        self.0.cast()
    }
}

impl<T: ?Sized> Drop for StableBox<T> {
    fn drop(&mut self) {
        if !self.0.cast::<u8>().is_null() {
            // SAFETY: allocated as a box, and freed once.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}
