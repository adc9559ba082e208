//! Containers: the peer is in namespaces of its own (docs/provider-shm.md, "Addresses").

use dat_conformance::Node;
use dat_two_processes::{containers, lost};

use crate::common::node;

const FOLDER: &str = "DAT_TEST_FOLDER";

/// An adapter as its environment says.
fn of_environment(_: &str) -> Node {
    let folder = std::env::var(FOLDER).ok();
    node(&folder.map(|folder| format!("dir={folder}")).unwrap_or_default())
}

#[test]
#[ignore = "the other process of the tests below"]
fn peer() {
    lost::peer(of_environment);
}

#[test]
fn processes_reach_each_other_in_one_network_namespace() {
    containers::each_namespace(&node(""), "containers::peer", &[], false);
}

#[test]
fn with_a_folder_they_reach_each_other_everywhere() {
    let folder = std::env::temp_dir().join(format!("dat-shm-pods-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.to_str().expect("UTF-8");
    let node = node(&format!("dir={path}"));
    containers::each_namespace(&node, "containers::peer", &[(FOLDER, path)], true);
    // Killed listeners leave their files.
    std::fs::remove_dir_all(&folder).expect("a folder");
}
