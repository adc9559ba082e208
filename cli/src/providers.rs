//! Which providers the command has.

use std::sync::Arc;

use dat_core::provider::Provider;
use dat_core::registry::Configuration;
use dat_core::{InterfaceAdapter, Registry, Result};

use crate::output;

/// The provider that needs nothing of the machine, and the adapter that it has.
pub(crate) const BUILT_IN: &str = "loopback";

/// Every provider that is built in.
pub(crate) fn all() -> [Arc<dyn Provider>; 2] {
    [provider_loopback::provider(), provider_verbs::provider()]
}

/// The configuration files of this machine and every provider.
pub(crate) fn registry() -> Registry {
    registry_of(Configuration::from_environment())
}

/// A configuration and every provider.
pub(crate) fn registry_of(configuration: Configuration) -> Registry {
    let registry = Registry::with_configuration(configuration);
    for provider in all() {
        if let Err(error) = registry.add_provider(provider) {
            // The others serve their names all the same.
            output::complain(&error.to_string());
        }
    }
    registry
}

/// Opens an adapter by its name.
pub(crate) fn open(name: &str) -> Result<InterfaceAdapter> {
    registry().open(name)
}
