//! Which providers the command has.

use dat_core::{InterfaceAdapter, Registry, Result};

use crate::output;

/// The configuration files of this machine and every provider that is built in.
pub(crate) fn registry() -> Registry {
    let registry = Registry::from_environment();
    for provider in [provider_loopback::provider(), provider_verbs::provider()] {
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
