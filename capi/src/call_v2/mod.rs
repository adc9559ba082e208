//! The calls that only DAT 2.0 has.

mod address_handle;
mod arguments;
pub(crate) mod cno;
mod counters;
pub(crate) mod csp;
pub(crate) mod ep;
pub(crate) mod extension;
pub(crate) mod extension_event;
pub(crate) mod foreign_extension;
mod open_query;
pub(crate) mod post;
pub(crate) mod registry;
pub(crate) mod rmr;

/// Forgets what C received about an adapter that closed.
pub(crate) fn adapter_closed(number: u64) {
    address_handle::free_all(number);
}
