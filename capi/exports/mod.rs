//! The exported functions whose prototypes are identical in DAT 1.2 and 2.0, one family per file.

/// The table of calls. An entry is a prototype, the function that implements it, and its slot in the
/// table of a provider:
///
/// ```text
/// guard fn dat_pz_free(pz_handle: DAT_PZ_HANDLE) = call::pz::free, pz_free_func of object;
/// ```
///
/// It becomes the exported function, which lets no panic through, and a line of `fill`, which fills
/// in the slots. `of object` and `of adapter` say what the first argument is: if it belongs to a C
/// provider, the call goes to the same slot of its table. Without `of`, the implementation does that
/// by itself. capi/headers makes the prototypes for C from the same entries, with comments from
/// pages/calls, where the calls are described.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $guard:ident fn $name:ident($first:ident: $of:ty $(, $argument:ident: $type:ty)* $(,)?)
            = $implementation:path, $slot:ident $(of $kind:ident)?;
    )+) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name(
                $first: $of,
                $($argument: $type,)*
            ) -> $crate::abi::DAT_RETURN {
                let code = $crate::$guard(|| {
                    forward!([$($kind)?] $slot($first $(, $argument)*));
                    // SAFETY: the caller keeps the contract of the page; each pointer is checked
                    // before use.
                    unsafe { $implementation($first $(, $argument)*) }
                });
                if code & $crate::abi::DAT_CLASS_ERROR != 0 {
                    $crate::last_error::name_call(stringify!($name));
                }
                code
            }
        )+

        /// Fills in the slots of these calls.
        pub(crate) fn fill(table: &mut $crate::abi::DAT_PROVIDER) {
            $(table.$slot = Some($name);)+
        }
    };
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
mod lmr;
mod post;
mod psp;
mod pz;
mod registry;
mod rmr;
mod rsp;
mod srq;

/// Fills in the slots of all these calls.
pub(crate) fn fill(table: &mut crate::abi::DAT_PROVIDER) {
    cno::fill(table);
    cr::fill(table);
    ep::fill(table);
    evd::fill(table);
    generic::fill(table);
    ia::fill(table);
    lmr::fill(table);
    post::fill(table);
    psp::fill(table);
    pz::fill(table);
    rmr::fill(table);
    rsp::fill(table);
    srq::fill(table);
    table.cno_wait_func = Some(cno::dat_cno_wait);
    table.evd_wait_func = Some(evd::dat_evd_wait);
}
