//! The version of the API, and its return codes.

use dat_core::error::{ReturnType, Subtype};

use crate::abi::*;

/// The version of the API.
pub(crate) const VERSION: (u32, u32) = (DAT_VERSION_MAJOR, DAT_VERSION_MINOR);

/// The value of a failure.
pub(crate) fn code(return_type: ReturnType, subtype: Subtype) -> DAT_RETURN {
    return_type.class() | return_type.value() | subtype.value()
}

/// The return type and subtype that a value denotes.
pub(crate) fn decode(value: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = ReturnType::from_value(value & DAT_TYPE_MASK)?;
    Some((return_type, Subtype::from_value(value & 0xffff)?))
}
