//! The exported functions whose prototypes are identical in DAT 1.2 and 2.0, one family per file.
//! Each only forwards to `call` and lets no panic through.

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
