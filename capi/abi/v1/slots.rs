//! The function types of the slots of `DAT_PROVIDER` that only DAT 1.2 has, or has with other arguments.

use super::*;

#[path = "../../exports/v1/cr.rs"]
mod cr;
#[path = "../../exports/v1/lmr.rs"]
mod lmr;
#[path = "../../exports/v1/rmr.rs"]
mod rmr;

pub use cr::*;
pub use lmr::*;
pub use rmr::*;
