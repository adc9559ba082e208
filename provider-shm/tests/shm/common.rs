//! What the tests share.

use dat_conformance::Node;
use dat_core::Registry;

/// An open adapter with parameters.
pub(crate) fn node(parameters: &str) -> Node {
    let registry = Registry::new();
    registry.add_provider(dat_provider_shm::provider()).expect("the only provider");
    let name = if parameters.is_empty() { "shm".to_owned() } else { format!("shm?{parameters}") };
    Node::on(registry.open(&name).expect("every machine has it"))
}
