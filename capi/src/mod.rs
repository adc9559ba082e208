//! What both C libraries share. Their root files import these modules, so that paths begin with `crate`.

#[macro_use]
pub(crate) mod foreign;
pub(crate) mod adapters;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod convert;
pub(crate) mod debug;
pub(crate) mod handle;
pub(crate) mod hint;
pub(crate) mod known;
pub(crate) mod last_error;
pub(crate) mod memory;
pub(crate) mod page_check;
pub(crate) mod registry;
pub(crate) mod result;
pub(crate) mod self_map;
pub(crate) mod strerror;
pub(crate) mod table;
