//! Which providers the command has.

use dat_core::{IaOptions, InterfaceAdapter, Registry, Result};

use crate::output;

/// The configuration files of this machine and every provider that is built in.
pub(crate) fn registry() -> Registry {
    let registry = Registry::from_environment();
    for provider in [provider_loopback::provider()] {
        if let Err(error) = registry.add_provider(provider) {
            // The others serve their names all the same.
            output::complain(&error.to_string());
        }
    }
    registry
}

/// Opens an adapter by its name, with the shortest queue of asynchronous errors: there are
/// adapters that have no longer ones.
pub(crate) fn open(name: &str) -> Result<InterfaceAdapter> {
    registry().open_with(name, &IaOptions { async_evd_min_qlen: 1, ..IaOptions::default() })
}
