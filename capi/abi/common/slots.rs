//! The function types of the slots of `DAT_PROVIDER`, from the table of calls in `capi/exports`.

use super::*;

/// The table of calls, of which only the prototypes and the names of the slots' types matter here;
/// `capi/exports/mod.rs` describes it.
macro_rules! calls {
    ($(
        $guard:ident fn $name:ident($($argument:ident: $type:ty),* $(,)?)
            = $($implementation:ident)::+, $slot:ident: $pointer:ident $(of $kind:ident)?
            $(undo $undo:ident($created:ident))?;
    )+) => {
        $(
            pub type $pointer =
                Option<unsafe extern "C-unwind" fn($($argument: $type),*) -> DAT_RETURN>;
        )+
    };
}

/// Files of the table of calls, as modules whose types are those of this one.
macro_rules! slots {
    ($($noun:ident in $path:literal;)+) => {$(
        #[path = $path]
        mod $noun;
        pub use $noun::*;
    )+};
}

slots! {
    cno_calls in "../../exports/cno.rs";
    cr_calls in "../../exports/cr.rs";
    ep_calls in "../../exports/ep.rs";
    evd_calls in "../../exports/evd.rs";
    generic_calls in "../../exports/generic.rs";
    ia_calls in "../../exports/ia.rs";
    lmr_calls in "../../exports/lmr.rs";
    post_calls in "../../exports/post.rs";
    pz_calls in "../../exports/pz.rs";
    rmr_calls in "../../exports/rmr.rs";
    service_point_calls in "../../exports/service_point.rs";
    srq_calls in "../../exports/srq.rs";
}
