//! The providers of the command.

pub(crate) use dat_builtin_providers::{AUTO, LOOPBACK, SHM, TCP, all};
use dat_core::Registry;
use dat_core::provider::Reach;
use dat_core::registry::Configuration;

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

/// Returns true if the connections of an adapter do not leave this process.
pub(crate) fn stays_in_process(registry: &Registry, name: &str) -> bool {
    let name = name.split('?').next().unwrap_or(name);
    let entries = registry.list();
    let entry = entries.iter().find(|entry| entry.name == name);
    entry.is_some_and(|entry| entry.reach == Some(Reach::Process))
}
