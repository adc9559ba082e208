//! The function types of the slots of `DAT_PROVIDER`, from the table of calls (`calls`).

use super::*;

/// Makes the types from entries of the table, of which only the prototypes and the names of the types matter here.
macro_rules! slot_types {
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

cno_calls!(slot_types);
cr_calls!(slot_types);
ep_calls!(slot_types);
evd_calls!(slot_types);
generic_calls!(slot_types);
ia_calls!(slot_types);
lmr_calls!(slot_types);
post_calls!(slot_types);
pz_calls!(slot_types);
rmr_calls!(slot_types);
service_point_calls!(slot_types);
srq_calls!(slot_types);
v2! {
    extension_calls!(slot_types);
}
