//! The registry: which names can be opened, through which provider, and why others can't.

mod failure;
mod line;
mod scan;
mod source;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod version;

pub use line::Line;
pub use source::{Configuration, Record};
pub use suggest::nearest;
pub use syntax::SyntaxError;
pub use version::{ApiVersion, LineVersion, ProviderVersion, Space};

/// The longest name of an interface adapter, in bytes.
pub const MAX_NAME: usize = 255;

/// The manual page that errors of reading name.
const LISTING: &str = "dat_registry_list_providers";
