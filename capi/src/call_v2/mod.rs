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

use dat_core::Ep;
use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::*;
use crate::adapters;
use crate::argument::{given, invalid, mask, out};
use crate::call::end;
use crate::handle::{self, AnyObject, invalid_handle, object};
use crate::result::{CallResult, OK};
use arguments::Arguments;

/// Forgets what C received about an adapter that closed.
pub(crate) fn adapter_closed(number: u64) {
    address_handle::free_all(number);
}
