//! The providers of the command.

use std::sync::Arc;

use dat_core::provider::Provider;
use dat_core::registry::Configuration;
use dat_core::{InterfaceAdapter, Registry, Result};

use crate::output;

/// The name of the loopback provider, and of its adapter.
pub(crate) const BUILT_IN: &str = "loopback";

/// All built-in providers.
pub(crate) fn all() -> [Arc<dyn Provider>; 2] {
    [provider_loopback::provider(), provider_verbs::provider()]
}

/// A registry with the configuration of this machine and all providers.
pub(crate) fn registry() -> Registry {
    registry_of(Configuration::from_environment())
}

/// A registry with a configuration and all providers.
pub(crate) fn registry_of(configuration: Configuration) -> Registry {
    let registry = Registry::with_configuration(configuration);
    for provider in all() {
        if let Err(error) = registry.add_provider(provider) {
            // The other providers still work.
            output::complain(&error.to_string());
        }
    }
    registry
}

/// Opens an adapter by name.
pub(crate) fn open(name: &str) -> Result<InterfaceAdapter> {
    registry().open(name)
}
