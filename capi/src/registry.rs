//! The one registry of the process: names, and what opens them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use dat_core::registry::{Configuration, Demand};
use dat_core::{ApiVersion, Registry};

use crate::abi::DAT_PROVIDER_INFO;
use crate::convert::{boolean, name};
use crate::{debug, dialect, handle, image};

/// The registry, with the configuration as it was at its first use.
pub(crate) fn shared() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        debug::take_panics();
        let registry = Registry::numbered_by(configuration(), handle::numbering()).hosting();
        for provider in [provider_loopback::provider(), provider_verbs::provider()] {
            // The first provider of a name is always taken.
            let _ = registry.add_provider(provider);
        }
        registry
    });
    &REGISTRY
}

/// What the environment says goes, but not for who would get more rights by it: the
/// configuration names code to load.
fn configuration() -> Configuration {
    if image::is_privileged() {
        return Configuration::from_places(None, Path::new("/etc"));
    }
    Configuration::from_environment()
}

/// Everything that can be opened by this library, as the API lists it. A provider that is safe
/// for threads is listed for who asks for that and for who does not, since either opens it.
pub(crate) fn providers() -> Vec<DAT_PROVIDER_INFO> {
    let (dapl_version_major, dapl_version_minor) = dialect::VERSION;
    let version = ApiVersion::new(dapl_version_major, dapl_version_minor);
    let mut listed = Vec::new();
    // The headers ask for no thread safety: what they open comes first.
    for thread_safe in [false, true] {
        let mut names = HashSet::new();
        for entry in shared().list_for(Demand { version, thread_safe: Some(thread_safe) }) {
            if entry.fate.is_usable() && names.insert(entry.name.clone()) {
                listed.push(DAT_PROVIDER_INFO {
                    ia_name: name(&entry.name),
                    dapl_version_major,
                    dapl_version_minor,
                    is_thread_safe: boolean(thread_safe),
                });
            }
        }
    }
    listed
}
