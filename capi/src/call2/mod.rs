//! The calls that only DAT 2.0 has.

pub(crate) mod cno;
pub(crate) mod csp;
pub(crate) mod ep;
pub(crate) mod extension;
pub(crate) mod extension_event;
pub(crate) mod post;
pub(crate) mod registry;
pub(crate) mod rmr;
