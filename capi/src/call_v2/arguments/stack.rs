//! A `va_list` of platforms where it is the address of the next argument in memory: RISC-V, i386 (System V) and 32-bit
//! Arm (AAPCS32). The caller passes that address itself.

use crate::abi::va_list;

#[cfg(not(any(target_arch = "riscv64", target_arch = "x86", target_arch = "arm")))]
compile_error!("the va_list of this platform has to be described here");

/// The arguments, in their order.
pub(crate) struct Arguments(*const u8);

/// A copy of the arguments not yet read, to be passed on.
#[derive(Clone)]
pub(crate) struct Rest(*const u8);

impl Rest {
    /// The list in the form of C.
    #[allow(clippy::needless_pass_by_ref_mut, reason = "on other platforms the list is changed")]
    pub(crate) fn as_list(&mut self) -> va_list {
        self.0.cast_mut().cast()
    }
}

impl Arguments {
    /// The arguments of a list.
    ///
    /// # Safety
    /// The list is a valid `va_list` with all the arguments that are read.
    pub(crate) unsafe fn of(list: va_list) -> Self {
        Self(list.cast_const().cast())
    }

    /// A copy of the arguments not yet read; reading continues here independently.
    pub(crate) fn rest(&self) -> Rest {
        Rest(self.0)
    }

    /// Reads the next argument, of 4 or 8 bytes, in the low bytes of the value.
    pub(super) fn next_value(&mut self, size: usize) -> u64 {
        /// Only 32-bit Arm aligns arguments of 8 bytes to 8 bytes.
        const IS_ALIGNED: bool = cfg!(target_arch = "arm");
        let address = self.0.addr();
        let padding = if IS_ALIGNED { address.next_multiple_of(size) - address } else { 0 };
        let place = self.0.wrapping_add(padding);
        self.0 = place.wrapping_add(size.next_multiple_of(size_of::<usize>()));
        match size {
            // SAFETY: the creator of this guaranteed that the list has this argument, which has this size.
            8 => unsafe { place.cast::<u64>().read_unaligned() },
            // SAFETY: as above.
            _ => unsafe { place.cast::<u32>().read() }.into(),
        }
    }
}
