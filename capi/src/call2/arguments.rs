//! The variable arguments of an extended operation, read from C's `va_list`.
//!
//! Rust can't read one, but its layout belongs to the ABI of the platform: System V for x86-64,
//! and AAPCS64. Every argument of the extensions is a number, an address or a union of eight
//! bytes: one general register, or one slot of the stack.

use crate::abi::va_list;

/// The arguments, in their order.
pub(crate) struct Arguments(*mut List);

/// `va_list` of x86-64 (System V ABI, 3.5.7).
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct List {
    /// Where the next general register was saved, from `saved` on.
    general: u32,
    vector: u32,
    stack: *mut u64,
    saved: *mut u8,
}

/// `va_list` of 64-bit Arm (AAPCS64, appendix B).
#[cfg(target_arch = "aarch64")]
#[repr(C)]
struct List {
    stack: *mut u64,
    general_end: *mut u8,
    vector_end: *mut u8,
    /// Where the next general register was saved, below `general_end`.
    general: i32,
    vector: i32,
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the va_list of this platform has to be described here");

impl Arguments {
    /// The arguments of a list.
    ///
    /// # Safety
    /// The list is one of C's, with all the arguments that are taken.
    pub(crate) unsafe fn of(list: va_list) -> Self {
        Self(list.cast())
    }

    /// Takes the next argument.
    pub(crate) fn next<T: Argument>(&mut self) -> T {
        // SAFETY: the list has the argument, as the maker of this promised.
        T::of(unsafe { self.place().read() })
    }

    #[cfg(target_arch = "x86_64")]
    fn place(&mut self) -> *const u64 {
        /// The six general registers that arguments go in.
        const REGISTERS: u32 = 6 * 8;
        // SAFETY: the list is there and nobody else's, as the maker of this promised.
        let list = unsafe { &mut *self.0 };
        if list.general < REGISTERS {
            let place = list.saved.wrapping_add(list.general as usize);
            list.general += 8;
            return place.cast();
        }
        let place = list.stack;
        list.stack = place.wrapping_add(1);
        place
    }

    #[cfg(target_arch = "aarch64")]
    fn place(&mut self) -> *const u64 {
        // SAFETY: the list is there and nobody else's, as the maker of this promised.
        let list = unsafe { &mut *self.0 };
        if list.general < 0 {
            let place = list.general_end.wrapping_offset(list.general as isize);
            list.general += 8;
            return place.cast();
        }
        let place = list.stack;
        list.stack = place.wrapping_add(1);
        place
    }
}

/// A type that an argument can have.
pub(crate) trait Argument {
    /// The argument out of its slot.
    fn of(slot: u64) -> Self;
}

impl Argument for u64 {
    fn of(slot: u64) -> Self {
        slot
    }
}

impl Argument for u32 {
    fn of(slot: u64) -> Self {
        slot as Self
    }
}

impl Argument for i32 {
    fn of(slot: u64) -> Self {
        slot as Self
    }
}

impl<T> Argument for *mut T {
    fn of(slot: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(slot as usize)
    }
}
