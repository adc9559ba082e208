//! The table of calls, one file per noun. An entry is a prototype, the function that implements it, and its slot in
//! the table of a provider, with the type of the slot:
//!
//! ```text
//! guard fn dat_pz_free(pz_handle: DAT_PZ_HANDLE)
//!     = call::pz::free, pz_free_func: DAT_PZ_FREE_FUNC of object;
//! ```
//!
//! Each file is a macro (`table!`) that passes its entries to another one: `slots` makes the types of the slots from
//! them, and `capi/src/exports` the exported functions; capi/headers reads the prototypes for C, with comments from
//! docs/pages/calls, where the calls are described.
//!
//! `of object` and `of adapter` say what the first argument is: if it belongs to a C provider, the call goes to the
//! same slot of its table. Without `of`, the implementation does that by itself. A `plain` call is only a call of its
//! implementation: its frame has no destructors.
//!
//! A `grow` call needs memory that stays in use; it is refused until the reserve of the allocator is full. If it creates
//! an object, `undo dat_pz_free(pz_handle)` names the call that frees it again.

/// Makes a macro of the entries of both versions and those of this one, which passes them to the macro that it is given.
/// A macro cannot write the first argument itself.
macro_rules! table {
    (($dollar:tt) $name:ident { $($both:tt)* } $(v1 { $($first:tt)* })? $(v2 { $($second:tt)* })?) => {
        by_version! {
            { table! { @ ($dollar) $name $($both)* $($($first)*)? } }
            { table! { @ ($dollar) $name $($both)* $($($second)*)? } }
        }
    };
    (@ ($dollar:tt) $name:ident $($entry:tt)*) => {
        #[macro_export]
        macro_rules! $name {
            ($dollar table:ident) => { $dollar table! { $($entry)* } };
        }
    };
}

mod cno;
mod cr;
mod ep;
mod evd;
mod generic;
mod ia;
mod lmr;
mod post;
mod pz;
mod rmr;
mod service_point;
mod srq;
#[cfg(dat2)]
mod v2 {
    mod extension;
}
