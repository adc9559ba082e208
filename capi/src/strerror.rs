//! Descriptions of return values.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};

use dat_core::error::{ReturnType, Subtype};
use dat_sync::Lazy;

use crate::abi::{DAT_NOT_IMPLEMENTED, DAT_RETURN};
use crate::codes;

/// C strings, keyed by the names of the core.
static NAMES: Lazy<BTreeMap<&str, CString>> = Lazy::new(|| {
    let types = ReturnType::ALL.iter().map(|it| it.name());
    let subtypes = Subtype::ALL.iter().map(|it| it.name());
    types.chain(subtypes).map(|name| (name, CString::new(name).unwrap_or_default())).collect()
});

/// The names of a value's return type and subtype.
pub(crate) fn names(value: DAT_RETURN) -> Option<(&'static CStr, &'static CStr)> {
    let name = |name| NAMES.get(name).map(CString::as_c_str);
    if value == DAT_NOT_IMPLEMENTED {
        return Some((c"DAT_NOT_IMPLEMENTED", name(Subtype::NoSubtype.name())?));
    }
    let (return_type, subtype) = codes::decode(value)?;
    Some((name(return_type.name())?, name(subtype.name())?))
}
