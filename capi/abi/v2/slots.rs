//! The function types of the slots of `DAT_PROVIDER` that only DAT 2.0 has, or has with other arguments.

use super::*;

#[path = "../../exports/v2/cno.rs"]
mod cno;
#[path = "../../exports/v2/cr.rs"]
mod cr;
#[path = "../../exports/v2/csp.rs"]
mod csp;
#[path = "../../exports/v2/ep.rs"]
mod ep;
#[path = "../../exports/v2/extension.rs"]
mod extension;
#[path = "../../exports/v2/lmr.rs"]
mod lmr;
#[path = "../../exports/v2/post.rs"]
mod post;
#[path = "../../exports/v2/rmr.rs"]
mod rmr;

pub use cno::*;
pub use cr::*;
pub use csp::*;
pub use ep::*;
pub use extension::*;
pub use lmr::*;
pub use post::*;
pub use rmr::*;
