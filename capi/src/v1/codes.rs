//! The version of the API, and its return codes.

use dat_core::error::{ReturnType, Subtype};

use crate::abi::*;

/// The version of the API.
pub(crate) const VERSION: (u32, u32) = (DAT_VERSION_MAJOR, DAT_VERSION_MINOR);

/// Subtypes that DAT 2.0 inserted, which shifted the numbers of those after them.
const INSERTED: [Subtype; 2] = [Subtype::InvalidHandleCsp, Subtype::InvalidStateSrqShutdown];

/// The value of a failure. A code that DAT 1.2 does not have becomes the most similar one.
pub(crate) fn code(return_type: ReturnType, subtype: Subtype) -> DAT_RETURN {
    let return_type = match return_type {
        ReturnType::ReservedLmr => ReturnType::InvalidParameter,
        ReturnType::PortInUse => ReturnType::ConnQualInUse,
        ReturnType::CommNotSupported => ReturnType::ModelNotSupported,
        known => known,
    };
    return_type.class() | return_type.value() | subtype_value(subtype).unwrap_or(0)
}

fn subtype_value(subtype: Subtype) -> Option<u32> {
    if INSERTED.contains(&subtype) {
        return None;
    }
    let before = INSERTED.iter().filter(|inserted| inserted.value() < subtype.value()).count();
    Some(subtype.value() - before as u32)
}

/// The return type and subtype that a value denotes.
pub(crate) fn decode(value: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = ReturnType::from_value(value & DAT_TYPE_MASK)?;
    if return_type.value() > DAT_CONN_QUAL_UNAVAILABLE {
        return None;
    }
    let mut subtypes = Subtype::ALL.iter();
    let subtype = subtypes.find(|it| subtype_value(**it) == Some(value & 0xffff))?;
    Some((return_type, *subtype))
}
