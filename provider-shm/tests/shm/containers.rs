//! Containers: the peer is in namespaces of its own (docs/provider-shm.md, "Addresses").

use dat_conformance::Node;
use dat_two_processes::{containers, lost};

use crate::common::node;

const PARAMETERS: &str = "DAT_TEST_PARAMETERS";

/// An adapter as its environment says.
fn of_environment(_: &str) -> Node {
    node(&std::env::var(PARAMETERS).expect("the test sets them"))
}

#[test]
#[ignore = "the other process of the tests below"]
fn peer() {
    lost::peer(of_environment);
}

fn each_namespace(parameters: &str, crosses_networks: bool) {
    let variables = [(PARAMETERS, parameters)];
    containers::each_namespace(&node(parameters), "containers::peer", &variables, crosses_networks);
}

#[test]
fn processes_reach_each_other_in_one_network_namespace() {
    // An address without other listeners: one of another test would be reached in place of the peer.
    let [_, _, high, low] = std::process::id().to_be_bytes();
    each_namespace(&format!("address=127.77.{high}.{low}"), false);
}

#[test]
fn with_a_folder_they_reach_each_other_everywhere() {
    let folder = std::env::temp_dir().join(format!("dat-shm-pods-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    each_namespace(&format!("dir={}", folder.display()), true);
    // Killed listeners leave their files.
    std::fs::remove_dir_all(&folder).expect("a folder");
}
