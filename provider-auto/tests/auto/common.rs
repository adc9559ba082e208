//! What the tests share.

use dat_conformance::Node;
use dat_core::Registry;

/// An open adapter at the loopback interface, with parameters.
pub(crate) fn node(parameters: &str) -> Node {
    on(&format!("auto?lo {parameters}"))
}

/// An open adapter of this provider or of TCP.
pub(crate) fn on(name: &str) -> Node {
    let registry = Registry::new();
    for provider in [dat_provider_auto::provider(), dat_provider_tcp::provider()] {
        registry.add_provider(provider).expect("each has a name of its own");
    }
    Node::on(registry.open(name.trim()).expect("every machine has it"))
}
