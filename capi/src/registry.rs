//! The one registry of the process: names, and what opens them.

use std::path::Path;

use dat_core::error::Terms;
use dat_core::registry::{Configuration, ListedAdapter};
use dat_core::{ApiVersion, Compat, Registry};
use dat_sync::Lazy;

use crate::abi::DAT_PROVIDER_INFO;
use crate::convert::{boolean, name};
use crate::{codes, debug, handle, known, self_map};

/// The registry, with the configuration at its first use.
pub(crate) fn shared() -> &'static Registry {
    static REGISTRY: Lazy<Registry> = Lazy::new(|| {
        debug::take_panics();
        Terms::C.make_current();
        let registry = Registry::with_id_allocator(configuration(), handle::id_allocator());
        let registry = registry.allow_c_providers().with_known_programs(known::is_present);
        let registry = match std::env::var_os(Compat::VARIABLE) {
            Some(word) if !self_map::is_privileged() => {
                registry.with_compat(word.to_string_lossy())
            }
            _ => registry,
        };
        for provider in dat_builtin_providers::all() {
            // Adding the first provider of a name never fails.
            let _ = registry.add_provider(provider);
        }
        registry
    });
    &REGISTRY
}

/// Follows the environment, except in a privileged process: the configuration names code to load.
fn configuration() -> Configuration {
    if self_map::is_privileged() {
        return Configuration::from_paths(None, Path::new("/etc"));
    }
    Configuration::from_environment()
}

/// The entries that programs get. A program may request exactly the version and the thread safety
/// that an entry shows.
pub(crate) fn providers() -> Vec<DAT_PROVIDER_INFO> {
    let (dapl_version_major, dapl_version_minor) = codes::VERSION;
    let version = ApiVersion::new(dapl_version_major, dapl_version_minor);
    let info = |listed: ListedAdapter| DAT_PROVIDER_INFO {
        ia_name: name(&listed.name),
        dapl_version_major,
        dapl_version_minor,
        is_thread_safe: boolean(listed.thread_safe),
    };
    shared().listed_adapters(version).into_iter().map(info).collect()
}
