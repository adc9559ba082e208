//! Providers in C: shared objects that bring their own function table.

/// Lets the provider of a foreign handle answer.
macro_rules! foreign {
    ($handle:expr, $slot:ident($($argument:expr),* $(,)?)) => {
        if let Some(table) = $crate::foreign::table_of($handle) {
            // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
            return $crate::foreign::answer(table.$slot.map(|it| unsafe { it($($argument),*) }));
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

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::*;
use crate::adapters::{self, Adapter};
use crate::answer::Answer;
use crate::call::ia::Opened;

/// Whether any provider in C is loaded; while none is, no handle is foreign.
static ANY: AtomicBool = AtomicBool::new(false);

/// The table of the provider that a foreign handle belongs to.
#[inline]
pub(crate) fn table_of(handle: DAT_HANDLE) -> Option<&'static DAT_PROVIDER> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    find_table(handle)
}

fn find_table(_handle: DAT_HANDLE) -> Option<&'static DAT_PROVIDER> {
    None
}

/// The table of a foreign adapter, and what its provider knows it by.
#[inline]
pub(crate) fn adapter(handle: DAT_IA_HANDLE) -> Option<(&'static DAT_PROVIDER, DAT_IA_HANDLE)> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    let (_, Adapter::Foreign(address)) = adapters::find(handle)? else { return None };
    let own = crate::handle::of_number(address as u64);
    Some((find_table(own)?, own))
}

/// What a slot of a foreign table answered; a slot may be empty.
pub(crate) fn answer(answered: Option<DAT_RETURN>) -> Answer {
    answered.ok_or_else(|| {
        Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("the provider in C leaves the call out of its function table")
    })
}

/// How a program asks for an adapter.
pub(crate) struct Asked {
    pub(crate) name: DAT_NAME_PTR,
    pub(crate) async_evd_min_qlen: DAT_COUNT,
    pub(crate) version: (u32, u32),
    pub(crate) thread_safe: bool,
}

/// Opens an adapter of a provider in C.
pub(crate) fn open(
    library: &str,
    asked: &Asked,
    _async_evd: &mut DAT_EVD_HANDLE,
) -> Result<Opened> {
    let _ = (asked.name, asked.async_evd_min_qlen, asked.version, asked.thread_safe);
    Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
        .because(format!("{library} is not loaded")))
}

/// Closes an adapter of a provider in C.
pub(crate) fn close(_number: DAT_IA_HANDLE, _adapter: Adapter, _how: DAT_CLOSE_FLAGS) -> Answer {
    Err(crate::answer::invalid_handle(Subtype::InvalidHandleIa))
}

/// Takes up a provider that registers itself.
pub(crate) fn add(_table: *const DAT_PROVIDER, _info: &DAT_PROVIDER_INFO) -> Result<()> {
    let _: *mut c_void;
    Err(Error::new(ReturnType::InternalError, Subtype::NoSubtype))
}

/// Lets go of a provider that leaves.
pub(crate) fn remove(_table: *const DAT_PROVIDER, _info: &DAT_PROVIDER_INFO) -> Result<()> {
    Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered))
}
