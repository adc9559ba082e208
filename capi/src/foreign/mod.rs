//! C providers: shared objects with their own function table.
//!
//! They own their objects: a handle is passed on unchanged, with all other arguments, to a function
//! of the table to which its first word points. [`handles`] distinguishes their handles from other
//! values, [`registered`] keeps their registrations, [`line`](mod@line) loads what the
//! configuration names, and [`adapter`](mod@adapter) opens and closes.

/// Passes a call on to the provider of a C handle.
macro_rules! foreign {
    ($handle:expr, $slot:ident($($argument:expr),* $(,)?)) => {
        if let Some(table) = $crate::foreign::table_of($handle) {
            const ENDS: bool = $crate::foreign::ends_object(stringify!($slot));
            // SAFETY: the function belongs to the table of a loaded provider; the caller passes the
            // arguments of the call.
            let returned = table.$slot.map(|it| unsafe { it($($argument),*) });
            let result = $crate::foreign::result_of(returned);
            if ENDS {
                $crate::foreign::ended($handle, &result);
            }
            return $crate::result::ReturnValue::new(result);
        }
    };
}

/// Passes a call on to the provider of a C adapter, with the provider's own address of it.
macro_rules! foreign_adapter {
    ($handle:expr, |$ia:ident| $slot:ident($($argument:expr),* $(,)?)) => {
        if let Some((table, $ia)) = $crate::foreign::adapter($handle) {
            // SAFETY: the function belongs to the table of a loaded provider; the caller passes the
            // arguments of the call.
            return $crate::foreign::result_of(table.$slot.map(|it| unsafe { it($($argument),*) }));
        }
    };
}

pub(crate) mod adapter;
mod handles;
mod library;
mod line;
pub(crate) mod peek;
mod registered;
mod tables;

pub(crate) use adapter::{OpenRequest, Opened, Server, close, open};
pub(crate) use handles::{adapter, ended, ends_object, table_of};

use std::ffi::CStr;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::registry::{ConsumerSpace, LineVersion, Registration};

use crate::abi::*;
use crate::argument::invalid;
use crate::result::CallResult;

/// The result of a slot in a C provider's table, which may be empty.
pub(crate) fn result_of(returned: Option<DAT_RETURN>) -> CallResult {
    returned.ok_or_else(|| {
        Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("the C provider does not implement the call")
    })
}

/// Adds a provider that registers itself.
///
/// # Safety
/// The table stays valid until the provider is removed.
pub(crate) unsafe fn add(table: *const DAT_PROVIDER, info: &DAT_PROVIDER_INFO) -> Result<()> {
    let registration = registration(info)?;
    // SAFETY: the caller guarantees that the table stays valid until the provider is removed.
    unsafe { registered::add(table.expose_provenance(), registration) }
}

/// Removes a provider that unregisters itself.
pub(crate) fn remove(info: &DAT_PROVIDER_INFO) -> Result<()> {
    registered::remove(&registration(info)?)
}

fn registration(info: &DAT_PROVIDER_INFO) -> Result<Registration> {
    let bytes = info.ia_name.map(|byte| byte as u8);
    let name = CStr::from_bytes_until_nul(&bytes)
        .map_err(|_| invalid(2, "the name in argument 2 is not terminated"))?;
    Ok(Registration {
        name: name.to_string_lossy().into_owned(),
        version: LineVersion {
            space: ConsumerSpace::User,
            major: info.dapl_version_major,
            minor: info.dapl_version_minor,
        },
        thread_safe: info.is_thread_safe != DAT_FALSE,
    })
}
