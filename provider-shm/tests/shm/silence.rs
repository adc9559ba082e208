//! A stopped peer is slow.

use dat_core::WaitCause;
use dat_two_processes::silence;

use crate::common::node;

#[test]
#[ignore = "the process that is stopped in the test below"]
fn peer() {
    silence::peer(node);
}

#[test]
fn a_stopped_peer_is_slow() {
    // Where the kernel copies between processes, the writes are done without the peer.
    let causes = [WaitCause::PeerStopped, WaitCause::Consumer];
    silence::a_stopped_peer_is_slow(&node(""), &causes);
}
