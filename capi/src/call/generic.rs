//! Calls for objects of all kinds.

use dat_core::ObjectKind;

use super::*;
use crate::handle::AnyObject;

const HANDLE: Subtype = Subtype::InvalidHandle1;

/// The live object of a handle of any kind.
pub(crate) fn any(handle: DAT_HANDLE) -> Result<AnyObject> {
    let cell = adapters::to_cell(handle);
    AnyObject::get(cell).ok_or_else(|| invalid_handle(cell, HANDLE))
}

pub(crate) unsafe fn set_consumer_context(handle: DAT_HANDLE, context: DAT_CONTEXT) -> CallResult {
    foreign!(handle, set_consumer_context_func(handle, context));
    // SAFETY: every member of the union has eight bytes, and any bit pattern is valid.
    any(handle)?.set_consumer_context(unsafe { context.as_64 });
    OK
}

pub(crate) unsafe fn get_consumer_context(
    handle: DAT_HANDLE,
    context: *mut DAT_CONTEXT,
) -> CallResult {
    foreign!(handle, get_consumer_context_func(handle, context));
    let object = any(handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(context, 2) }?;
    output.write(DAT_CONTEXT { as_64: object.consumer_context() });
    OK
}

pub(crate) unsafe fn get_handle_type(
    handle: DAT_HANDLE,
    handle_type: *mut DAT_HANDLE_TYPE,
) -> CallResult {
    foreign!(handle, get_handle_type_func(handle, handle_type));
    let kind = handle::kind_of(handle).or_else(|| kind_of_adapter(handle));
    let kind = kind.ok_or_else(|| invalid_handle(adapters::to_cell(handle), HANDLE))?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(handle_type, 2) }?;
    // The kinds of the core have the same numbers as those of the API.
    output.write(kind as DAT_HANDLE_TYPE);
    OK
}

/// The kind of an object whose handle is a number.
#[cold]
fn kind_of_adapter(handle: DAT_HANDLE) -> Option<ObjectKind> {
    handle::kind_of(adapters::to_cell(handle))
}
