//! The exported functions whose prototypes are identical in DAT 1.2 and 2.0, one family per file.

use crate::abi::*;

/// The table of calls. An entry is a prototype, the function that implements it, and its slot in
/// the table of a provider, with the type of the slot:
///
/// ```text
/// guard fn dat_pz_free(pz_handle: DAT_PZ_HANDLE)
///     = call::pz::free, pz_free_func: DAT_PZ_FREE_FUNC of object;
/// ```
///
/// It becomes the exported function, which lets no panic through, and a line of `fill`, which fills
/// in the slots. `of object` and `of adapter` say what the first argument is: if it belongs to a C
/// provider, the call goes to the same slot of its table. Without `of`, the implementation does
/// that by itself. A `plain` call is only a call of its implementation: its frame has no destructors.
///
/// A `grow` call needs memory that stays in use; it is refused until the reserve of the allocator is full. If
/// it creates an object, `undo dat_pz_free(pz_handle)` names the call that frees it again.
///
/// `abi` makes the types of the slots from the same entries, and capi/headers the prototypes for C,
/// with comments from docs/pages/calls, where the calls are described.
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

mod cno;
mod cr;
mod ep;
mod error;
mod evd;
mod generic;
mod ia;
mod ia_open;
mod lmr;
mod post;
mod pz;
mod registry;
mod rmr;
mod service_point;
mod srq;

// The calls that undo others.
pub(crate) use cno::dat_cno_free;
pub(crate) use ep::dat_ep_free;
pub(crate) use evd::dat_evd_free;
pub(crate) use lmr::dat_lmr_free;
pub(crate) use pz::dat_pz_free;
pub(crate) use rmr::dat_rmr_free;
pub(crate) use service_point::{dat_psp_free, dat_rsp_free};
pub(crate) use srq::dat_srq_free;

/// A function that fills in the slots of some families of calls.
macro_rules! fill {
    ($($family:ident)+) => {
        /// Fills in the slots of all these calls.
        pub(crate) fn fill(table: &mut DAT_PROVIDER) {
            $($family::fill(table);)+
        }
    };
}

fill! { cno cr ep evd generic ia lmr post pz rmr service_point srq }
