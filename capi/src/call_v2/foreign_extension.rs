//! Extended operations of C providers.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::foreign;

/// True if any adapter has ever reported an extension. Providers without extensions may have
/// garbage in the slot of the function, or a table that ends before it.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Checks whether an adapter that was just opened has extensions. The query is that of every DAT
/// 2.0 library: all attributes of the adapter, and none of the provider.
pub(crate) fn note_extensions(table: &DAT_PROVIDER, ia: DAT_IA_HANDLE) {
    let Some(query) = table.ia_query_func else { return };
    // SAFETY: the struct has only numbers, addresses and arrays of them, for which zero is valid.
    let mut attributes: DAT_IA_ATTR = unsafe { std::mem::zeroed() };
    let output = &raw mut attributes;
    // SAFETY: the adapter is open, and the masks request only the results that have a destination.
    let code = unsafe { query(ia, null_mut(), DAT_IA_FIELD_ALL, output, 0, null_mut()) };
    if code == DAT_SUCCESS && attributes.extension_supported != DAT_EXTENSION_NONE {
        FOUND.store(true, Ordering::Relaxed);
    }
}

/// Makes the provider of a C handle do an operation; `None` if the handle does not belong to a C
/// provider.
///
/// # Safety
/// The arguments are those of the operation.
pub(crate) unsafe fn op(
    handle: DAT_HANDLE,
    ext_op: DAT_EXTENDED_OP,
    args: va_list,
) -> Option<CallResult> {
    let adapter = foreign::adapter(handle);
    let (table, own) = adapter.or_else(|| Some((foreign::table_of(handle)?, handle)))?;
    if !FOUND.load(Ordering::Relaxed) {
        return Some(Ok(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED));
    }
    let slot = table.handle_extendedop_func;
    // SAFETY: the function belongs to the table of a loaded provider; the caller passes the
    // arguments of the operation.
    Some(foreign::result_of(slot.map(|it| unsafe { it(own, ext_op, args) })))
}
