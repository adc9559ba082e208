//! Allocations whose size a consumer or a peer determines, and which may fail.

/// A slice of this length; `None` if there is no memory for it.
pub(crate) fn slice<T: Default>(length: usize) -> Option<Box<[T]>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(length).ok()?;
    elements.resize_with(length, T::default);
    Some(elements.into_boxed_slice())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slice_for_which_there_is_no_memory_is_refused() {
        assert_eq!(slice::<u64>(3).as_deref(), Some(&[0; 3][..]));
        assert!(slice::<u64>(usize::MAX / 16).is_none());
    }
}
