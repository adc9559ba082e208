//! The root of the provider.

use crate::discovery::{interface_of, is_there};

/// The name of the provider, for the library field of dat.conf.
pub const NAME: &str = "tcp";

/// The vendor that the attributes of its adapters name.
pub const VENDOR: &str = "DAT TCP";

/// Whether a name denotes an adapter of this machine; nothing is opened.
#[must_use]
pub fn is_adapter(name: &str) -> bool {
    interface_of(name).is_some_and(is_there)
}
