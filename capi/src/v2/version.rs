//! The calls of DAT 2.0 that differ from those of DAT 1.2.

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::*;
use crate::argument::invalid;
pub(crate) use crate::call_v2::adapter_closed;
pub(crate) use crate::call_v2::foreign_extension::note_extensions as foreign_opened;

/// Checks the type of the addresses of a region.
pub(crate) fn check_va_type(va_type: DAT_VA_TYPE, argument: u32) -> Result<()> {
    match va_type {
        DAT_VA_TYPE_VA => Ok(()),
        DAT_VA_TYPE_ZB => Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("no provider supports zero-based addresses")
            .advise("use DAT_VA_TYPE_VA; zb_supported of the adapter says so")),
        other => Err(invalid(argument, format!("invalid DAT_VA_TYPE value {other:#x}"))),
    }
}
