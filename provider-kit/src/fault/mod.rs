//! Copies of registered memory that report a fault instead of ending the program with a signal.
//!
//! A program may unmap, protect or truncate memory that it has registered. RDMA hardware still reaches the pages; a
//! copy by the processor raises SIGSEGV or SIGBUS. The handler of these signals, which [`Faults::apply`] installs,
//! recognizes the instructions of the copies and makes the copy return a [`Fault`]. All other signals go to the
//! previous action. A copy without a fault has no overhead.
//!
//! This works on Linux on x86-64, AArch64 and 64-bit RISC-V. On other platforms, or if another handler replaces this one, a copy of
//! such memory raises the signal.

mod copy;
mod handler;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(miri)
))]
mod machine;
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(miri)
)))]
#[path = "plain.rs"]
mod machine;
mod previous;

use std::num::NonZeroUsize;

use dat_provider::error::Result;

use crate::parameters::invalid;

pub(crate) use copy::{compare_swap, fetch_add};
pub use copy::{copy, copy_in_order};

/// A failed access of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its address, or 1 if unknown.
    address: NonZeroUsize,
}

impl Fault {
    /// Returns true if the access was in this range.
    #[must_use]
    pub const fn is_in(self, address: u64, length: u64) -> bool {
        (self.address.get() as u64).wrapping_sub(address) < length
    }
}

/// The effect of an access to registered memory that is no longer accessible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// A status of the operation; the connection ends.
    #[default]
    Status,
    /// A signal, unless another adapter of the process is open with [`Faults::Status`].
    Signal,
}

impl Faults {
    /// The key of the parameter.
    pub const PARAMETER: &'static str = "memory_faults";

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// It is neither `status` nor `signal`.
    pub fn parse(value: &str) -> Result<Self> {
        match value {
            "status" => Ok(Self::Status),
            "signal" => Ok(Self::Signal),
            _ => Err(invalid(format!(
                "invalid value {value:?} for the IA parameter {}",
                Self::PARAMETER
            ))
            .advise("use status or signal")),
        }
    }

    /// Installs the handler if it is requested and not yet installed.
    pub fn apply(self) {
        if self == Self::Status {
            handler::install();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_in_the_range_that_has_its_address() {
        let fault = Fault { address: NonZeroUsize::new(1000).expect("not 0") };
        for (address, length, is_in) in
            [(1000, 1, true), (999, 2, true), (999, 1, false), (1001, 100, false), (1000, 0, false)]
        {
            assert_eq!(fault.is_in(address, length), is_in, "{address} {length}");
        }
    }

    #[test]
    fn the_parameter_has_two_values() {
        assert_eq!(Faults::parse("status"), Ok(Faults::Status));
        assert_eq!(Faults::parse("signal"), Ok(Faults::Signal));
        assert!(Faults::parse("ignore").is_err());
    }
}
