//! Providers in C: shared objects that bring their own function table.
//!
//! Their objects are their own: a handle is passed on untouched, with all other arguments, to the
//! function of the table that its first word points to. [`handles`] tells their handles from
//! anything else, [`registered`] holds what they registered, [`line`](mod@line) loads what the
//! configuration names, and [`adapter`](mod@adapter) opens and closes.

/// Lets the provider of a foreign handle answer.
macro_rules! foreign {
    ($handle:expr, $slot:ident($($argument:expr),* $(,)?)) => {
        if let Some(table) = $crate::foreign::table_of($handle) {
            const ENDS: bool = $crate::foreign::ends_object(stringify!($slot));
            // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
            let answered = table.$slot.map(|it| unsafe { it($($argument),*) });
            let answer = $crate::foreign::answer(answered);
            if ENDS {
                $crate::foreign::ended($handle, &answer);
            }
            return $crate::answer::Answered::new(answer);
        }
    };
}

/// Lets the provider of a foreign adapter answer; it knows the adapter by its own address.
macro_rules! foreign_adapter {
    ($handle:expr, |$ia:ident| $slot:ident($($argument:expr),* $(,)?)) => {
        if let Some((table, $ia)) = $crate::foreign::adapter($handle) {
            // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
            return $crate::foreign::answer(table.$slot.map(|it| unsafe { it($($argument),*) }));
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

pub(crate) use adapter::{Asked, close, open_library, open_registered};
pub(crate) use handles::{adapter, ended, ends_object, table_of};

use std::ffi::CStr;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::registry::{LineVersion, Registration, Space};

use crate::abi::*;
use crate::answer::Answer;
use crate::argument::invalid;

/// What a slot of a foreign table answered; a slot may be empty.
pub(crate) fn answer(answered: Option<DAT_RETURN>) -> Answer {
    answered.ok_or_else(|| {
        Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("the C provider does not implement the call")
    })
}

/// Takes up a provider that registers itself.
///
/// # Safety
/// The table stays until the provider is removed.
pub(crate) unsafe fn add(table: *const DAT_PROVIDER, info: &DAT_PROVIDER_INFO) -> Result<()> {
    let registration = registration(info)?;
    // SAFETY: as the caller promises.
    unsafe { registered::add(table.expose_provenance(), registration) }
}

/// Lets go of a provider that leaves.
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
            space: Space::User,
            major: info.dapl_version_major,
            minor: info.dapl_version_minor,
        },
        thread_safe: info.is_thread_safe != DAT_FALSE,
    })
}
