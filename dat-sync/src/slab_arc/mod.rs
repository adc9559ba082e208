//! Shared objects on the data path.
//!
//! [`SlabArc`] and [`SlabWeak`] correspond to `Arc` and `Weak`, but differ in the memory of the
//! object: it starts at a cache line, together with others of its size, on huge pages if the system
//! has them, and even a reference to a trait object points directly at the object. So a post needs
//! the smallest possible number of cache lines and address translations, even if it uses thousands
//! of endpoints in turn.
#![allow(unsafe_code, reason = "objects are created in shared memory blocks, and counted")]

mod counts;
#[cfg(all(test, not(loom)))]
mod tests;

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, drop_in_place};

use counts::Counts;

/// A strong reference, which keeps the object alive.
pub struct SlabArc<T: ?Sized> {
    object: NonNull<T>,
}

/// A weak reference, which keeps only the memory of the object.
pub struct SlabWeak<T> {
    /// `None` for a reference to no object.
    object: Option<NonNull<T>>,
}

// SAFETY: as `Arc`: the holder of a reference may use the object from any thread and may drop it,
// so the object must be `Send` and `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Send for SlabArc<T> {}
// SAFETY: a shared reference can be cloned, which has the same requirements as `Send`.
unsafe impl<T: ?Sized + Send + Sync> Sync for SlabArc<T> {}
// SAFETY: a weak reference can become a strong one, so the requirements are those of `SlabArc`.
unsafe impl<T: Send + Sync> Send for SlabWeak<T> {}
// SAFETY: a shared weak reference can be cloned and upgraded, so the requirements are those of
// `SlabArc`.
unsafe impl<T: Send + Sync> Sync for SlabWeak<T> {}

impl<T> SlabArc<T> {
    /// Creates an object with one reference to it.
    pub fn new(object: T) -> Self {
        Self::new_cyclic(|_| object)
    }

    /// Creates an object that holds a weak reference to itself, which cannot be upgraded before
    /// this returns.
    pub fn new_cyclic(make: impl FnOnce(&SlabWeak<T>) -> T) -> Self {
        match Self::try_new_cyclic(|weak| Ok(make(weak)), || Layout::new::<T>()) {
            Ok(made) => made,
            Err(layout) => handle_alloc_error(layout),
        }
    }

    /// As [`new_cyclic`](Self::new_cyclic), for an object whose allocation or construction may fail.
    ///
    /// # Errors
    /// `no_memory` if the system has no memory, or the error of `make`.
    pub fn try_new_cyclic<E>(
        make: impl FnOnce(&SlabWeak<T>) -> Result<T, E>,
        no_memory: impl FnOnce() -> E,
    ) -> Result<Self, E> {
        let place = counts::allocate(Layout::new::<T>()).ok_or_else(no_memory)?.cast::<T>();
        // The first weak reference; if `make` fails or panics, dropping it frees the memory.
        let weak = SlabWeak { object: Some(place) };
        let object = make(&weak)?;
        // SAFETY: the memory is allocated for an object of this type and holds none yet.
        unsafe { place.write(object) };
        let made = Self { object: place };
        made.counts().begin();
        let _ = ManuallyDrop::new(weak);
        Ok(made)
    }

    /// Creates a weak reference to the object.
    #[must_use]
    pub fn downgrade(this: &Self) -> SlabWeak<T> {
        this.counts().add_weak();
        SlabWeak { object: Some(this.object) }
    }
}

impl<T: ?Sized> SlabArc<T> {
    /// Returns true if both refer to the same object.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::ptr::addr_eq(this.object.as_ptr(), other.object.as_ptr())
    }

    /// Number of strong references.
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        this.counts().strong()
    }

    fn layout(&self) -> Layout {
        Layout::for_value(&**self)
    }

    fn counts(&self) -> &Counts {
        // SAFETY: the object was created in memory from `allocate`, which this reference keeps.
        unsafe { counts::of(self.object.cast(), self.layout()) }
    }
}

impl<T: ?Sized> Clone for SlabArc<T> {
    fn clone(&self) -> Self {
        self.counts().add_strong();
        Self { object: self.object }
    }
}

impl<T: ?Sized> Deref for SlabArc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this reference keeps the object alive, and no exclusive reference to it exists.
        unsafe { self.object.as_ref() }
    }
}

impl<T: ?Sized> Drop for SlabArc<T> {
    fn drop(&mut self) {
        let layout = self.layout();
        if self.counts().end_strong() {
            // SAFETY: this was the last strong reference, so no other code can reach the object.
            unsafe { drop_in_place(self.object.as_ptr()) };
            // SAFETY: this removes the weak reference of all strong ones, which are gone.
            unsafe { counts::end_weak(self.object.cast(), layout) };
        }
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for SlabArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> SlabWeak<T> {
    /// Creates a reference to no object.
    #[must_use]
    pub const fn new() -> Self {
        Self { object: None }
    }

    /// A strong reference, if the object still exists.
    #[must_use]
    pub fn upgrade(&self) -> Option<SlabArc<T>> {
        let object = self.object?;
        self.counts()?.upgrade().then(|| SlabArc { object })
    }

    fn counts(&self) -> Option<&Counts> {
        // SAFETY: the memory was allocated for such an object, and this reference keeps it.
        self.object.map(|object| unsafe { counts::of(object.cast(), Layout::new::<T>()) })
    }
}

impl<T> Clone for SlabWeak<T> {
    fn clone(&self) -> Self {
        if let Some(counts) = self.counts() {
            counts.add_weak();
        }
        Self { object: self.object }
    }
}

impl<T> Default for SlabWeak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for SlabWeak<T> {
    fn drop(&mut self) {
        if let Some(object) = self.object {
            // SAFETY: this reference has kept the memory until now and is not used afterwards.
            unsafe { counts::end_weak(object.cast(), Layout::new::<T>()) };
        }
    }
}

impl<T> fmt::Debug for SlabWeak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(SlabWeak)")
    }
}
