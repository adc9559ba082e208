//! What the tests share.

use dat_conformance::Node;
use dat_core::Registry;

/// An open adapter at the loopback interface, with parameters.
pub(crate) fn node(parameters: &str) -> Node {
    node_on("tcp-lo", parameters)
}

/// An open adapter with parameters.
pub(crate) fn node_on(adapter: &str, parameters: &str) -> Node {
    let registry = Registry::new();
    registry.add_provider(dat_provider_tcp::provider()).expect("the only provider");
    let name =
        if parameters.is_empty() { adapter.to_owned() } else { format!("{adapter}?{parameters}") };
    Node::on(registry.open(&name).expect("the interface exists"))
}
