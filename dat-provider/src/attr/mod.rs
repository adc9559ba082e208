//! Attributes: what an adapter and a provider can do, and how an endpoint is configured.

mod endpoint;
mod interface;
mod provider;

pub use endpoint::EpAttributes;
pub use interface::IaAttributes;
pub use provider::{EpCreator, IovOwnership, ProviderAttributes, PzSupport, StreamMerging};

/// An attribute specific to a transport, a vendor or a provider (`DAT_NAMED_ATTR`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedAttr {
    /// Its name.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

impl NamedAttr {
    /// Creates an attribute from its name and value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}
