//! What an adapter reports of its port and its device: that the port went down, that the device was
//! removed.
//!
//! The test creates and removes a second soft-RoCE device. It does so only in the guest
//! (`GUEST_NODE` is set there), so that no other machine loses a device.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use dat_core::{AsyncErrorKind, Close, ConnectionEventKind, DtoStatus, EpState, Event};
use verbs_side::{NONE, Side, connection, device, next};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
const RECEIVES: u64 = 5;

#[track_caller]
fn run(command: &str) {
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().unwrap_or_default());
    let status = program.args(words).status().expect("a command of the guest's");
    assert!(status.success(), "{command}: {status}");
}

/// Takes the next asynchronous error.
#[track_caller]
fn told(side: &Side) -> AsyncErrorKind {
    let evd = side.ia.async_evd().expect("made with the adapter");
    match next(&evd) {
        Event::Async(error) => error.kind,
        other => panic!("no asynchronous error: {other:?}"),
    }
}

#[test]
fn port_down_and_device_removal_are_reported() {
    if device("the loss of a device").is_none() {
        return;
    }
    if std::env::var_os("GUEST_NODE").is_none() {
        // Printed even if the test runner captures output.
        let _ = writeln!(std::io::stderr(), "the loss of a device is tried in the guest only");
        return;
    }
    run("ip link add w0 type veth peer name w1");
    run("ip link set w1 up");
    run("ip address add 10.78.0.1/24 dev w0");
    run("ip link set w0 up");
    run("rdma link add rxe9 type rxe netdev w0");
    let gids = "/sys/class/infiniband/rxe9/ports/1/gids/1";
    while !std::fs::read_to_string(gids).is_ok_and(|gid| gid.contains("ffff:0a4e:0001")) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let side = Side::open(ADDRESS);
    let (one, other) = (side.ep(), side.ep());
    side.link(&one, &other);
    for ep in [&one, &other] {
        for cookie in 0..RECEIVES {
            ep.post_recv(&[], cookie, NONE).expect("connected");
        }
    }

    run("ip link set w0 down");
    assert_eq!(told(&side), AsyncErrorKind::ProviderInternal);
    run("ip link set w0 up");
    assert_eq!(one.status().expect("live").state, EpState::Connected, "it may come back");

    // The command returns when the last user of the device is gone.
    let mut removal = Command::new("rdma").args(["link", "delete", "rxe9"]).spawn().expect("rdma");
    assert_eq!(told(&side), AsyncErrorKind::IaCatastrophic);
    for _ in 0..2 {
        assert_eq!(connection(&side.connect), ConnectionEventKind::Broken);
    }
    for ep in [&one, &other] {
        assert_eq!(ep.status().expect("live").state, EpState::Disconnected);
    }
    for _ in 0..2 * RECEIVES {
        let Event::Dto(done) = next(&side.done) else { panic!("no completion") };
        assert_eq!(done.status, DtoStatus::Flushed);
    }
    one.post_recv(&[], 9, NONE).expect("it is flushed");
    let Event::Dto(done) = next(&side.done) else { panic!("no completion") };
    assert_eq!((done.cookie, done.status), (9, DtoStatus::Flushed));
    side.ia.close(Close::Abrupt).expect("it takes no device to close");
    // What the connection manager's library keeps open is closed when this process ends.
    let _ = removal.try_wait();
}
