//! From the structs of C to the core's types and back. Each struct is converted once for both
//! versions of the API: fields of the same name convert the same way, whatever their width and
//! place; what only one version has is in its `dialect`.

pub(crate) mod address;
pub(crate) mod attributes;
pub(crate) mod endpoint;
pub(crate) mod event;
pub(crate) mod interface;
pub(crate) mod memory;

use std::ffi::c_char;

use crate::abi::{DAT_BOOLEAN, DAT_COUNT, DAT_FALSE, DAT_TRUE};

/// An unsigned number of the API, as wide as the version at hand has it.
pub(crate) trait Narrow {
    /// The value, or the largest where it does not fit.
    fn narrow(value: u64) -> Self;

    /// The value as the core has it.
    fn widen(self) -> u64;
}

impl Narrow for u32 {
    fn narrow(value: u64) -> Self {
        value.min(Self::MAX.into()) as Self
    }

    fn widen(self) -> u64 {
        self.into()
    }
}

impl Narrow for u64 {
    fn narrow(value: u64) -> Self {
        value
    }

    fn widen(self) -> u64 {
        self
    }
}

/// A count as C has it: the largest where it does not fit.
pub(crate) fn count(value: impl TryInto<DAT_COUNT>) -> DAT_COUNT {
    value.try_into().unwrap_or(DAT_COUNT::MAX)
}

pub(crate) fn boolean(value: bool) -> DAT_BOOLEAN {
    if value { DAT_TRUE } else { DAT_FALSE }
}

/// A name in an array of C's: cut to fit, and ended with a zero.
pub(crate) fn name<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (place, byte) in array.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    array
}
