//! Attributes: what an adapter and a provider can do, and what an endpoint is made for.

mod endpoint;
mod interface;
mod provider;

pub use endpoint::EpAttributes;
pub use interface::IaAttributes;
pub use provider::{EpCreator, IovOwnership, ProviderAttributes, PzSupport, StreamMatrix};

/// An attribute that only a transport, a vendor or a provider knows (`DAT_NAMED_ATTR`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedAttr {
    /// What it is called.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

impl NamedAttr {
    /// An attribute from its two texts.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}
