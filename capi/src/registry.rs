//! The one registry of the process: names, and what opens them.

use std::sync::LazyLock;

use dat_core::error::Result;
use dat_core::registry::Configuration;
use dat_core::{ApiVersion, Registry};

use crate::abi::DAT_PROVIDER_INFO;
use crate::call::ia::Opened;
use crate::convert::{boolean, name};
use crate::{dialect, handle};

/// What a name can be opened with.
pub(crate) enum Choice<'a> {
    /// A provider of ours.
    Own,
    /// A shared object in C.
    #[expect(dead_code, reason = "until the loader is there")]
    Foreign(&'a str),
}

/// The registry, with the configuration as it was at its first use.
pub(crate) fn shared() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let registry =
            Registry::numbered_by(Configuration::from_environment(), handle::numbering());
        // The first provider of the name is always taken.
        let _ = registry.add_provider(provider_loopback::provider());
        registry
    });
    &REGISTRY
}

/// Opens a name with the first of its choices that does not fail.
pub(crate) fn open(
    _name: &str,
    _version: ApiVersion,
    mut attempt: impl FnMut(Choice<'_>) -> Result<Opened>,
) -> Result<Opened> {
    attempt(Choice::Own)
}

/// Everything that can be opened, as the API lists it.
pub(crate) fn providers() -> Vec<DAT_PROVIDER_INFO> {
    let (dapl_version_major, dapl_version_minor) = dialect::VERSION;
    let usable = shared().list().into_iter().filter(|entry| entry.fate.is_usable());
    usable
        .map(|entry| DAT_PROVIDER_INFO {
            ia_name: name(&entry.name),
            dapl_version_major,
            dapl_version_minor,
            is_thread_safe: boolean(entry.thread_safe),
        })
        .collect()
}
