//! The calls of the API, a file for each kind of object: arguments are checked and converted,
//! the core does the work, and results are converted back. No rule of DAT is decided here.
//!
//! A handle of a foreign provider goes to that provider's function table, untouched.

pub(crate) mod cno;
pub(crate) mod cr;
pub(crate) mod ep;
pub(crate) mod error;
pub(crate) mod evd;
pub(crate) mod generic;
pub(crate) mod ia;
pub(crate) mod lmr;
pub(crate) mod post;
pub(crate) mod psp;
pub(crate) mod pz;
pub(crate) mod registry;
pub(crate) mod rmr;
pub(crate) mod rsp;
pub(crate) mod srq;
