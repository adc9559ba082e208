//! Two processes: the test starts itself again as the active side.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use dat_soft_verbs::cm::{ConnectParameters, EventKind, PortSpace};

use crate::sides::*;

/// The address of the listener, for the process that is the active side.
const PEER: &str = "SOFT_VERBS_TEST_PEER";

/// What the other process does: it connects, and stays until it is killed.
#[test]
fn the_active_side() {
    let Ok(peer) = std::env::var(PEER) else { return };
    let (channel, id) = identifier(PortSpace::Tcp);
    resolve(&channel, &id, peer.parse().expect("an address"));
    let wanted = ConnectParameters { private_data: b"child", ..ConnectParameters::default() };
    id.connect(&wanted).expect("it begins");
    expect(&channel, EventKind::ConnectResponse);
    id.establish().expect("an answer waits");
    loop {
        std::thread::park();
    }
}

fn start(peer: std::net::SocketAddr) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "process::the_active_side", "--nocapture"])
        .env(PEER, peer.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
fn the_death_of_a_process_disconnects_its_peer() {
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(at(0)).expect("free");
    listener.listen(1).expect("bound");
    let mut child = start(listener.local_address().expect("bound"));
    let event = expect(&there, EventKind::ConnectRequest);
    let passive = Arc::clone(event.identifier());
    drop(event);
    passive.accept(None).expect("a request waits");
    expect(&there, EventKind::Established);
    child.kill().expect("it lives");
    child.wait().expect("its end");
    expect(&there, EventKind::Disconnected);
    passive.disconnect().expect("it was connected");
    expect(&there, EventKind::TimewaitExit);
    passive.destroy().expect("alive");
}

#[test]
fn the_death_of_a_process_ends_its_request() {
    let (there, listener) = identifier(PortSpace::Tcp);
    listener.bind(at(0)).expect("free");
    listener.listen(1).expect("bound");
    let mut child = start(listener.local_address().expect("bound"));
    let event = expect(&there, EventKind::ConnectRequest);
    let passive = Arc::clone(event.identifier());
    drop(event);
    child.kill().expect("it lives");
    child.wait().expect("its end");
    assert_eq!(expect(&there, EventKind::Rejected).status(), 4);
    assert_eq!(passive.accept(None).expect_err("given up").errno, libc::EINVAL);
}
