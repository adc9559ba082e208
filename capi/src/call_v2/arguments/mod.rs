//! The variable arguments of an extended operation, read from a C `va_list`.
//!
//! Stable Rust cannot read a `va_list`, but its layout is part of the platform's ABI. Every argument of the extensions
//! is a number of 4 or 8 bytes, an address or a union of 8 bytes: on a 64-bit platform one general register, or one
//! stack slot.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[path = "registers.rs"]
mod list;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "stack.rs"]
mod list;

pub(crate) use list::{Arguments, Rest};

impl Arguments {
    /// Reads the next argument.
    pub(crate) fn next<T: Argument>(&mut self) -> T {
        T::of(self.next_value(size_of::<T>()))
    }
}

/// A type of an argument.
pub(crate) trait Argument {
    /// Converts the value of an argument, of which only the bytes of this type are defined.
    fn of(value: u64) -> Self;
}

impl Argument for u64 {
    fn of(value: u64) -> Self {
        value
    }
}

impl Argument for u32 {
    fn of(value: u64) -> Self {
        value as Self
    }
}

impl Argument for i32 {
    fn of(value: u64) -> Self {
        value as Self
    }
}

impl<T> Argument for *mut T {
    fn of(value: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(value as usize)
    }
}
