//! The function types of the slots of `DAT_PROVIDER`, from the table of calls in `capi/exports`.

use super::*;

/// The table of calls, of which only the prototypes and the names of the slots' types matter here;
/// `capi/exports/mod.rs` describes it.
macro_rules! calls {
    ($(
        $guard:ident fn $name:ident($($argument:ident: $type:ty),* $(,)?)
            = $($implementation:ident)::+, $slot:ident: $pointer:ident $(of $kind:ident)?;
    )+) => {
        $(
            pub type $pointer =
                Option<unsafe extern "C-unwind" fn($($argument: $type),*) -> DAT_RETURN>;
        )+
    };
}

#[path = "../../exports/cno.rs"]
mod cno;
#[path = "../../exports/cr.rs"]
mod cr;
#[path = "../../exports/ep.rs"]
mod ep;
#[path = "../../exports/evd.rs"]
mod evd;
#[path = "../../exports/generic.rs"]
mod generic;
#[path = "../../exports/ia.rs"]
mod ia;
#[path = "../../exports/lmr.rs"]
mod lmr;
#[path = "../../exports/post.rs"]
mod post;
#[path = "../../exports/psp.rs"]
mod psp;
#[path = "../../exports/pz.rs"]
mod pz;
#[path = "../../exports/rmr.rs"]
mod rmr;
#[path = "../../exports/rsp.rs"]
mod rsp;
#[path = "../../exports/srq.rs"]
mod srq;

pub use cno::*;
pub use cr::*;
pub use ep::*;
pub use evd::*;
pub use generic::*;
pub use ia::*;
pub use lmr::*;
pub use post::*;
pub use psp::*;
pub use pz::*;
pub use rmr::*;
pub use rsp::*;
pub use srq::*;
