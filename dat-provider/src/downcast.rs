//! How the owner of an object finds its own type behind a trait object.

use std::any::Any;

/// An object that its owner can downcast to its own type. Every type that can be shared between
/// threads is one; there is nothing to implement.
pub trait Downcast: Any + Send + Sync {
    /// The object as `Any`. Call it on the trait object: a `Box` or an `Arc` of one has another type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any + Send + Sync> Downcast for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
