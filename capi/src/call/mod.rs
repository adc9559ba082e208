//! The calls of the API, one file per kind of object. They check and convert arguments, call the
//! core, and convert the results back. They decide no rule of DAT.
//!
//! A handle of a C provider is passed unchanged to that provider's function table.

pub(crate) mod cno;
pub(crate) mod cr;
pub(crate) mod ep;
pub(crate) mod ep_create;
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
