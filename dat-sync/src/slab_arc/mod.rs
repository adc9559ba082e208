//! Shared objects that posts touch.
//!
//! [`SlabArc`] and [`SlabWeak`] are to them what `Arc` and `Weak` are to others, and differ in where
//! the object is: it begins at a cache line, among others of its size on huge pages where the
//! system has them, and a reference points at the object itself, one to a trait object included.
//! So what a post has to load of an endpoint, and how many translations of addresses it needs, is
//! the least there is, even where thousands of endpoints are used in turn.
#![allow(unsafe_code, reason = "objects are made in memory that is shared, and counted")]

mod counts;
#[cfg(all(test, not(loom)))]
mod tests;

use std::alloc::Layout;
use std::convert::Infallible;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, drop_in_place};

use counts::Counts;

/// A reference that keeps an object.
pub struct SlabArc<T: ?Sized> {
    object: NonNull<T>,
}

/// A reference that keeps the memory of an object only.
pub struct SlabWeak<T> {
    /// None leads nowhere.
    object: Option<NonNull<T>>,
}

// SAFETY: as for `Arc`: who has a reference may use the object, and may be the one that drops it.
unsafe impl<T: ?Sized + Send + Sync> Send for SlabArc<T> {}
// SAFETY: as above, since a reference to it can be cloned.
unsafe impl<T: ?Sized + Send + Sync> Sync for SlabArc<T> {}
// SAFETY: as above, since it can become a strong one.
unsafe impl<T: Send + Sync> Send for SlabWeak<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for SlabWeak<T> {}

impl<T> SlabArc<T> {
    /// Shares an object.
    pub fn new(object: T) -> Self {
        Self::new_cyclic(|_| object)
    }

    /// Shares an object that knows itself: the reference it is given leads nowhere before this has
    /// returned.
    pub fn new_cyclic(make: impl FnOnce(&SlabWeak<T>) -> T) -> Self {
        match Self::try_new_cyclic(|weak| Ok::<T, Infallible>(make(weak))) {
            Ok(made) => made,
            Err(never) => match never {},
        }
    }

    /// As [`new_cyclic`](Self::new_cyclic), for an object whose construction may fail.
    ///
    /// # Errors
    /// That of `make`.
    pub fn try_new_cyclic<E>(make: impl FnOnce(&SlabWeak<T>) -> Result<T, E>) -> Result<Self, E> {
        let place = counts::allocate(Layout::new::<T>()).cast::<T>();
        // The first weak reference; it takes the memory with it, should this come to a sudden end.
        let weak = SlabWeak { object: Some(place) };
        let object = make(&weak)?;
        // SAFETY: the place is for such an object, and there is none yet.
        unsafe { place.write(object) };
        let made = Self { object: place };
        made.counts().begin();
        let _ = ManuallyDrop::new(weak);
        Ok(made)
    }

    /// A reference that does not keep the object.
    #[must_use]
    pub fn downgrade(this: &Self) -> SlabWeak<T> {
        this.counts().add_weak();
        SlabWeak { object: Some(this.object) }
    }
}

impl<T: ?Sized> SlabArc<T> {
    /// Whether both are references to one object.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::ptr::addr_eq(this.object.as_ptr(), other.object.as_ptr())
    }

    /// How many there are that keep the object.
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        this.counts().strong()
    }

    fn layout(&self) -> Layout {
        Layout::for_value(&**self)
    }

    fn counts(&self) -> &Counts {
        // SAFETY: the object was made in a place of its own, which this reference keeps.
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
        // SAFETY: this reference keeps the object, and nobody has it exclusively.
        unsafe { self.object.as_ref() }
    }
}

impl<T: ?Sized> Drop for SlabArc<T> {
    fn drop(&mut self) {
        let layout = self.layout();
        if self.counts().end_strong() {
            // SAFETY: that was the last reference that leads to the object.
            unsafe { drop_in_place(self.object.as_ptr()) };
            // SAFETY: the weak reference that all strong ones had, which are gone.
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
    /// One that leads nowhere.
    #[must_use]
    pub const fn new() -> Self {
        Self { object: None }
    }

    /// A reference that keeps the object, if that is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<SlabArc<T>> {
        let object = self.object?;
        self.counts()?.upgrade().then(|| SlabArc { object })
    }

    fn counts(&self) -> Option<&Counts> {
        // SAFETY: it was the place of such an object, and this reference keeps the memory.
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
            // SAFETY: this reference keeps the memory until now.
            unsafe { counts::end_weak(object.cast(), Layout::new::<T>()) };
        }
    }
}

impl<T> fmt::Debug for SlabWeak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(SlabWeak)")
    }
}
