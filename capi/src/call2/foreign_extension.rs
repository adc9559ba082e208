//! The extended operations of providers in C.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::*;
use crate::answer::Answer;
use crate::foreign;

/// Whether an adapter has reported an extension, ever. Providers without may have anything in
/// the slot of the operations, or have a table that ends before it.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Finds out whether an adapter that was just opened has extensions. It is asked as by every
/// library of DAT 2.0: for all of the adapter, and for nothing of the provider.
pub(crate) fn look_for(table: &DAT_PROVIDER, ia: DAT_IA_HANDLE) {
    let Some(query) = table.ia_query_func else { return };
    // SAFETY: numbers, addresses and arrays of them, for which zero is a value.
    let mut attributes: DAT_IA_ATTR = unsafe { std::mem::zeroed() };
    let place = &raw mut attributes;
    // SAFETY: the adapter is open, and the masks say which results have a place.
    let code = unsafe { query(ia, null_mut(), DAT_IA_FIELD_ALL, place, 0, null_mut()) };
    if code == DAT_SUCCESS && attributes.extension_supported != DAT_EXTENSION_NONE {
        FOUND.store(true, Ordering::Relaxed);
    }
}

/// Lets the provider of a foreign handle do an operation; nothing where the handle is none.
///
/// # Safety
/// The arguments are those of the operation.
pub(crate) unsafe fn op(
    handle: DAT_HANDLE,
    ext_op: DAT_EXTENDED_OP,
    args: va_list,
) -> Option<Answer> {
    let adapter = foreign::adapter(handle);
    let (table, own) = adapter.or_else(|| Some((foreign::table_of(handle)?, handle)))?;
    if !FOUND.load(Ordering::Relaxed) {
        return Some(Ok(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED));
    }
    let slot = table.handle_extendedop_func;
    // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
    Some(foreign::answer(slot.map(|it| unsafe { it(own, ext_op, args) })))
}
