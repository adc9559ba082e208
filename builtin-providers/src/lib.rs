//! The providers that are built into the `dat` command and the C libraries: one list for both.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dat_provider::Provider;

/// The name of the provider over shared memory and TCP, and of its adapter.
pub const AUTO: &str = dat_provider_auto::AutoProvider::NAME;

/// The name of the loopback provider, and of its adapter.
pub const LOOPBACK: &str = dat_provider_loopback::LoopbackProvider::NAME;

/// The name of the provider over shared memory, and of its adapter.
pub const SHM: &str = dat_provider_shm::ShmProvider::NAME;

/// The name of the provider over TCP.
pub const TCP: &str = dat_provider_tcp::TcpProvider::NAME;

/// All built-in providers. The order has no meaning: programs see discovered adapters in the order of
/// their reach, the widest first.
#[must_use]
pub fn all() -> Vec<Arc<dyn Provider>> {
    vec![
        dat_provider_auto::provider(),
        dat_provider_loopback::provider(),
        dat_provider_shm::provider(),
        dat_provider_tcp::provider(),
        dat_provider_verbs::provider(),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: BTreeSet<_> = all().iter().map(|provider| provider.describe().name).collect();
        assert_eq!(names.len(), all().len());
        assert!(names.contains(LOOPBACK) && names.contains(TCP));
    }
}
