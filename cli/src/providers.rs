//! The providers of the command.

use dat_core::registry::Configuration;
use dat_core::{InterfaceAdapter, Registry, Result};
pub(crate) use dat_providers::{LOOPBACK, all};

use crate::output;

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
