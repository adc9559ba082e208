//! What the tests share.

use dat_conformance::Node;
use dat_core::{Ia, Registry};

/// An open adapter at the loopback interface, with parameters.
pub(crate) fn node(parameters: &str) -> Node {
    on(&format!("auto?lo {parameters}"))
}

/// An open adapter of this provider, or of one in software.
pub(crate) fn on(name: &str) -> Node {
    Node::on(open(name.trim()).expect("every machine has it"))
}

/// As [`on`], or why there is none.
pub(crate) fn open(name: &str) -> dat_core::Result<Ia> {
    let registry = Registry::new();
    for provider in [
        dat_provider_auto::provider(),
        dat_provider_loopback::provider(),
        dat_provider_shm::provider(),
        dat_provider_tcp::provider(),
    ] {
        registry.add_provider(provider).expect("each has a name of its own");
    }
    registry.open(name)
}
