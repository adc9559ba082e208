//! The owner of the bytes of a [`Memory`](super::Memory).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::Span;

/// Bytes at an address that does not change, and their owner.
pub(super) struct Allocation {
    span: Span,
    owner: Owner,
}

enum Owner {
    /// A block of the allocator.
    Block(Layout),
    /// A value that has the bytes, from `Box::into_raw`. A box would claim that nothing else points
    /// to what it contains.
    Value(*mut (dyn Any + Send)),
}

// SAFETY: the owner is only dropped or moved out, by the one thread that has the allocation for
// itself, and it may be sent to that thread.
unsafe impl Send for Allocation {}
// SAFETY: a shared allocation gives access to its span only, which is an address and a length.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Allocates zeroed bytes; the size of the layout is not 0.
    pub(super) fn zeroed(layout: Layout) -> Self {
        assert!(layout.size() > 0, "a layout with a size");
        // SAFETY: the layout has a size above 0.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        // SAFETY: the block lives as long as the allocation, which every registration of it holds,
        // and no reference into it is ever created.
        let span = unsafe { Span::new(base, layout.size()) };
        Self { span, owner: Owner::Block(layout) }
    }

    /// Takes a value that has bytes.
    pub(super) fn of<T: AsMut<[u8]> + Send + 'static>(owner: T) -> Self {
        let owner = Box::into_raw(Box::new(owner));
        // SAFETY: the box was created above, and nothing else refers to it.
        let bytes = unsafe { &mut *owner }.as_mut();
        let (base, len) = (NonNull::from(&mut *bytes).cast::<u8>(), bytes.len());
        // SAFETY: the value lives at this address as long as the allocation, which every registration
        // of it holds. Until then the value is not accessed, and no reference into it is created.
        let span = unsafe { Span::new(base, len) };
        Self { span, owner: Owner::Value(owner) }
    }

    pub(super) const fn span(&self) -> Span {
        self.span
    }

    /// The value that was taken, if it has this type.
    pub(super) fn into_owner<T: 'static>(self) -> Result<T, Self> {
        let Owner::Value(owner) = self.owner else { return Err(self) };
        // SAFETY: the pointer comes from `Box::into_raw`, and is valid until the allocation ends.
        if !unsafe { &*owner }.is::<T>() {
            return Err(self);
        }
        // The box is taken over here.
        let _ = ManuallyDrop::new(self);
        // SAFETY: the pointer comes from `Box::into_raw` of a value of this type, and the allocation
        // that owned it is forgotten.
        Ok(*unsafe { Box::from_raw(owner.cast::<T>()) })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: the block came from alloc_zeroed with this layout and is freed once, here.
            Owner::Block(layout) => unsafe { dealloc(self.span.base.as_ptr(), layout) },
            // SAFETY: the pointer comes from `Box::into_raw`, and the box is taken back once, here.
            Owner::Value(owner) => drop(unsafe { Box::from_raw(owner) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::mem::Memory;

    /// Bytes inside of the value itself, which counts its drops.
    struct Inline {
        bytes: [u8; 4],
        _counted: Arc<()>,
    }

    impl AsMut<[u8]> for Inline {
        fn as_mut(&mut self) -> &mut [u8] {
            &mut self.bytes
        }
    }

    #[test]
    fn the_owner_is_kept_until_the_last_clone_is_dropped() {
        let live = Arc::new(());
        let owner = Inline { bytes: [1, 2, 3, 4], _counted: Arc::clone(&live) };
        let memory = Memory::from_owner(owner).expect("bytes");
        let clone = memory.clone();
        drop(memory);
        clone.write(2, &[7]).expect("inside");
        assert_eq!(clone.to_vec(0, 4).expect("inside"), [1, 2, 7, 4]);
        assert_eq!(Arc::strong_count(&live), 2);
        drop(clone);
        assert_eq!(Arc::strong_count(&live), 1);
    }

    #[test]
    fn the_owner_comes_back_to_its_only_user() {
        let memory = Memory::from_owner(vec![5; 10]).expect("bytes");
        let clone = memory.clone();
        let memory = memory.into_owner::<Vec<u8>>().expect_err("it has a clone");
        drop(clone);
        let memory = memory.into_owner::<Box<[u8]>>().expect_err("it is a vector");
        memory.write(9, &[6]).expect("inside");
        let vector = memory.into_owner::<Vec<u8>>().expect("its only user");
        assert_eq!((vector.len(), vector[0], vector[9]), (10, 5, 6));
        assert!(Memory::zeroed(8).expect("memory").into_owner::<Vec<u8>>().is_err());
    }

    #[test]
    fn an_owner_without_bytes_is_refused() {
        let error = Memory::from_owner(Vec::new()).expect_err("no bytes");
        assert!(error.to_string().contains("the owner has no bytes"), "{error}");
    }
}
