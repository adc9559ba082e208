//! A shared object that is pointed at directly.
//!
//! An `Arc` of a trait object points at its counts, and where behind them the object begins is
//! worked out from its alignment at every use. A post should not have to.
#![allow(unsafe_code, reason = "a reference is kept as the pointer that it is used by")]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// As an `Arc`, one reference of which it is.
pub(crate) struct Near<T: ?Sized>(NonNull<T>);

// SAFETY: it is an `Arc`, which may be sent with such a value.
unsafe impl<T: ?Sized + Send + Sync> Send for Near<T> {}
// SAFETY: it gives references only, as an `Arc` does.
unsafe impl<T: ?Sized + Send + Sync> Sync for Near<T> {}

impl<T: ?Sized> From<Arc<T>> for Near<T> {
    fn from(object: Arc<T>) -> Self {
        let object = Arc::into_raw(object).cast_mut();
        // SAFETY: the object of an `Arc` has an address.
        Self(unsafe { NonNull::new_unchecked(object) })
    }
}

impl<T: ?Sized> Deref for Near<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the reference that this is keeps the object alive, and nobody has it exclusively.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> Drop for Near<T> {
    fn drop(&mut self) {
        // SAFETY: it came of `Arc::into_raw`, and is given back once.
        drop(unsafe { Arc::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned(u8);

    trait Number {
        fn number(&self) -> u8;
    }

    impl Number for Aligned {
        fn number(&self) -> u8 {
            self.0
        }
    }

    #[test]
    fn it_is_one_reference_and_finds_the_object() {
        let object = Arc::new(Aligned(7));
        let near = Near::from(Arc::clone(&object) as Arc<dyn Number>);
        assert_eq!((near.number(), Arc::strong_count(&object)), (7, 2));
        drop(near);
        assert_eq!(Arc::strong_count(&object), 1);
    }
}
