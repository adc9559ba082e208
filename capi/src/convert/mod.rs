//! Conversion between the C structs and the types of the core. Each struct is converted once for
//! both versions of the API: fields with the same name are converted alike, whatever their width
//! and position, and those of one version are marked; `structs` has what remains.

/// A value of a struct some of whose members only one version of the API has, marked as in `abi`:
/// `value! { DAT_EP_PARAM { ia_handle, v2 { comm: comm, } pz_handle, } }`.
macro_rules! value {
    ($name:ident { $($members:tt)* }) => { value! { @ $name [] $($members)* } };
    (@ $name:ident [$($done:tt)*]) => { $name { $($done)* } };
    (@ $name:ident [$($done:tt)*] v1 { $($own:tt)* } $($rest:tt)*) => {
        by_version! {
            { value! { @ $name [$($done)* $($own)*] $($rest)* } }
            { value! { @ $name [$($done)*] $($rest)* } }
        }
    };
    (@ $name:ident [$($done:tt)*] v2 { $($own:tt)* } $($rest:tt)*) => {
        by_version! {
            { value! { @ $name [$($done)*] $($rest)* } }
            { value! { @ $name [$($done)* $($own)*] $($rest)* } }
        }
    };
    (@ $name:ident [$($done:tt)*] $member:ident, $($rest:tt)*) => {
        value! { @ $name [$($done)* $member,] $($rest)* }
    };
    (@ $name:ident [$($done:tt)*] $member:ident: $value:expr, $($rest:tt)*) => {
        value! { @ $name [$($done)* $member: $value,] $($rest)* }
    };
}

pub(crate) mod address;
pub(crate) mod attributes;
pub(crate) mod endpoint;
pub(crate) mod event;
pub(crate) mod interface;
pub(crate) mod memory;

use std::ffi::c_char;

use crate::abi::{DAT_BOOLEAN, DAT_COUNT, DAT_FALSE, DAT_TRUE};

/// An unsigned number of the API, with the width of the API version.
pub(crate) trait Narrow {
    /// The value, or the largest one if it does not fit.
    fn narrow(value: u64) -> Self;

    /// The value in the type of the core.
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

/// A count for C: the largest one if it does not fit.
pub(crate) fn count(value: impl TryInto<DAT_COUNT>) -> DAT_COUNT {
    value.try_into().unwrap_or(DAT_COUNT::MAX)
}

pub(crate) fn boolean(value: bool) -> DAT_BOOLEAN {
    if value { DAT_TRUE } else { DAT_FALSE }
}

/// A name in a C array: truncated to fit, and terminated with a zero.
pub(crate) fn name<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (place, byte) in array.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    array
}
