//! Everything that the library exports, from the table of calls (`capi/abi/src/calls`), except the variadic
//! dat_extension_op, which is written in C.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

use crate::abi::*;

/// An entry of the table becomes the exported function, which lets no panic through, and a line of `fill`, which fills
/// in the slots.
macro_rules! calls {
    ($(
        $guard:ident fn $name:ident($($argument:ident: $type:ty),* $(,)?)
            = $($implementation:ident)::+, $slot:ident: $pointer:ident $(of $kind:ident)?
            $(undo $undo:ident($created:ident))?;
    )+) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> DAT_RETURN {
                undoable!([$($undo($created))?] $name body!(
                    $guard $name, $crate::$($implementation)::+,
                    [$($kind)?] $slot($($argument),*)
                ))
            }
        )+

        /// Fills in the slots of these calls.
        pub(crate) fn fill(table: &mut DAT_PROVIDER) {
            $(
                let function: $pointer = Some($name);
                table.$slot = function;
            )+
        }
    };
}

/// A call, undone if it used the reserve of the allocator.
macro_rules! undoable {
    ([] $name:ident $call:expr) => {
        $call
    };
    ([$undo:ident($created:ident)] $name:ident $call:expr) => {{
        let undo = || {
            // SAFETY: the call has succeeded, so it has written a handle there.
            let created = unsafe { $created.read_unaligned() };
            // SAFETY: as above.
            unsafe { $created.write_unaligned(DAT_HANDLE_NULL) };
            // SAFETY: any value may be passed as a handle.
            unsafe { $crate::exports::$undo(created) }
        };
        $crate::memory::shortage::or_undo(stringify!($name), || $call, undo)
    }};
}

/// The body of an exported function.
macro_rules! body {
    (plain $name:ident, $implementation:path, [] $slot:ident($($argument:ident),*)) => {
        // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
        unsafe { $implementation($($argument),*) }
    };
    (
        $guard:ident $name:ident, $implementation:path,
        [$($kind:ident)?] $slot:ident($($argument:ident),*)
    ) => {{
        let code = $crate::$guard(|| {
            forward!([$($kind)?] $slot($($argument),*));
            // SAFETY: the caller keeps the contract of the page; each pointer is checked before
            // use.
            unsafe { $implementation($($argument),*) }
        });
        if code & DAT_CLASS_ERROR != 0 {
            $crate::last_error::name_call(stringify!($name));
        }
        code
    }};
}

/// Passes a call on if its first argument belongs to a C provider.
macro_rules! forward {
    ([] $slot:ident($($argument:ident),*)) => {};
    ([object] $slot:ident($first:ident $(, $argument:ident)*)) => {
        foreign!($first, $slot($first $(, $argument)*));
    };
    ([adapter] $slot:ident($first:ident $(, $argument:ident)*)) => {
        foreign_adapter!($first, |ia| $slot(ia $(, $argument)*));
    };
}

/// A module for each noun of the table, and a function that fills in the slots of all of them.
macro_rules! nouns {
    ($($(#[$when:meta])? $noun:ident from $table:ident;)+) => {
        $(
            $(#[$when])?
            mod $noun {
                use super::*;

                $crate::abi::$table!(calls);
            }
        )+

        /// Fills in the slots of all calls.
        pub(crate) fn fill(table: &mut DAT_PROVIDER) {
            $(
                $(#[$when])?
                $noun::fill(table);
            )+
        }
    };
}

nouns! {
    cno from cno_calls;
    cr from cr_calls;
    ep from ep_calls;
    evd from evd_calls;
    generic from generic_calls;
    ia from ia_calls;
    lmr from lmr_calls;
    post from post_calls;
    pz from pz_calls;
    rmr from rmr_calls;
    service_point from service_point_calls;
    srq from srq_calls;
    #[cfg(dat2)]
    extension from extension_calls;
}

mod error;
mod ia_handle;
mod ia_open;
mod registry;

// The calls that undo others.
pub(crate) use cno::dat_cno_free;
pub(crate) use ep::dat_ep_free;
pub(crate) use evd::dat_evd_free;
pub(crate) use lmr::dat_lmr_free;
pub(crate) use pz::dat_pz_free;
pub(crate) use rmr::dat_rmr_free;
#[cfg(dat2)]
pub(crate) use service_point::dat_csp_free;
pub(crate) use service_point::{dat_psp_free, dat_rsp_free};
pub(crate) use srq::dat_srq_free;
