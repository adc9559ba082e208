//! A `va_list` of platforms whose variable functions save the registers of their arguments in one place, and find the
//! other arguments in another: System V for x86-64, and AAPCS64. The caller passes the address of the list.

use crate::abi::va_list;

/// The arguments, in their order.
pub(crate) struct Arguments(*mut List);

/// A copy of the arguments not yet read, to be passed on.
#[derive(Clone)]
pub(crate) struct Rest(List);

impl Rest {
    /// The list in the form of C.
    pub(crate) fn as_list(&mut self) -> va_list {
        (&raw mut self.0).cast()
    }
}

/// `va_list` of x86-64 (System V ABI, 3.5.7).
#[cfg(target_arch = "x86_64")]
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    /// Offset of the next saved general register from `saved`, in bytes.
    general: u32,
    vector: u32,
    stack: *mut u64,
    saved: *mut u8,
}

/// `va_list` of 64-bit Arm (AAPCS64, appendix B).
#[cfg(target_arch = "aarch64")]
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    stack: *mut u64,
    general_end: *mut u8,
    vector_end: *mut u8,
    /// Offset of the next saved general register from `general_end`, in bytes; negative.
    general: i32,
    vector: i32,
}

impl Arguments {
    /// The arguments of a list.
    ///
    /// # Safety
    /// The list is a valid `va_list` with all the arguments that are read.
    pub(crate) unsafe fn of(list: va_list) -> Self {
        Self(list.cast())
    }

    /// A copy of the arguments not yet read; reading continues here independently.
    pub(crate) fn rest(&self) -> Rest {
        // SAFETY: the creator of this guaranteed a valid list.
        Rest(unsafe { *self.0 })
    }

    /// Reads the next argument, in the low bytes of the value.
    pub(super) fn next_value(&mut self, _: usize) -> u64 {
        // SAFETY: the creator of this guaranteed that the list has this argument.
        unsafe { self.next_slot().read() }
    }

    fn next_slot(&mut self) -> *const u64 {
        // SAFETY: the creator of this guaranteed a valid list, and no other code uses it during the
        // call.
        let list = unsafe { &mut *self.0 };
        list.next_register().unwrap_or_else(|| {
            let slot = list.stack;
            list.stack = slot.wrapping_add(1);
            slot
        })
    }
}

impl List {
    /// The place of the next argument that a register has carried.
    #[cfg(target_arch = "x86_64")]
    fn next_register(&mut self) -> Option<*mut u64> {
        /// Size in bytes of the six general registers that carry arguments.
        const REGISTERS: u32 = 6 * 8;
        let at = self.general;
        (at < REGISTERS).then(|| {
            self.general += 8;
            self.saved.wrapping_add(at as usize).cast()
        })
    }

    /// The place of the next argument that a register has carried.
    #[cfg(target_arch = "aarch64")]
    fn next_register(&mut self) -> Option<*mut u64> {
        let at = self.general;
        (at < 0).then(|| {
            self.general += 8;
            self.general_end.wrapping_offset(at as isize).cast()
        })
    }
}
