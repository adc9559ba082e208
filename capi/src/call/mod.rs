//! The calls of the API, one file per kind of object. They check and convert arguments, call the
//! core, and convert the results back. They decide no rule of DAT.
//!
//! A handle of a C provider is passed unchanged to that provider's function table.

/// Calls on an object that only make the call of the core with the same name.
macro_rules! simple_calls {
    ($type:ident: $($name:ident),+) => {$(
        pub(crate) unsafe fn $name(handle: DAT_HANDLE) -> CallResult {
            object::<$type>(handle)?.$name()?;
            OK
        }
    )+};
}

/// The call that queries an object: its parameters in C, and the mask of all of them.
macro_rules! query_call {
    ($type:ident as $param:ident, $fields:ident: |$object:ident, $handle:ident| $parameters:block) => {
        pub(crate) unsafe fn query(
            $handle: DAT_HANDLE,
            fields: impl Into<u64>,
            output: *mut $param,
        ) -> CallResult {
            let $object: $type = object($handle)?;
            mask(fields, $fields, 2)?;
            // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
            let output = unsafe { out(output, 3) }?;
            output.write($parameters);
            OK
        }
    };
}

/// The call that frees an object.
macro_rules! end_call {
    ($type:ident) => {
        pub(crate) unsafe fn free(handle: DAT_HANDLE) -> CallResult {
            end(handle, $type::free)
        }
    };
}

pub(crate) mod cno;
pub(crate) mod cr;
pub(crate) mod ep;
pub(crate) mod ep_create;
pub(crate) mod error;
pub(crate) mod evd;
pub(crate) mod generic;
pub(crate) mod ia;
pub(crate) mod lmr;
pub(crate) mod post;
pub(crate) mod psp;
pub(crate) mod pz;
pub(crate) mod registry;
pub(crate) mod rmr;
pub(crate) mod rsp;
pub(crate) mod srq;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::{Ep, Evd, Ia, Pz, Timeout};

use crate::abi::*;
use crate::argument::{self, count, given, invalid, mask, optional_out, out};
use crate::handle::{self, Object, invalid_handle, object, object_as, optional_object};
use crate::result::{CallResult, OK};
use crate::{adapters, convert};

/// Ends an object by a call of the core, and reclaims objects that were freed.
pub(crate) fn end<T: Object>(
    handle: DAT_HANDLE,
    call: impl FnOnce(&T) -> Result<()>,
) -> CallResult {
    call(&object(handle)?)?;
    handle::reclaim();
    OK
}
