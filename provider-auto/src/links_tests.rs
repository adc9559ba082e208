//! Which transport a link uses, seen from outside: a link over TCP reports the end of an address without
//! a listener, and a ring has no TCP port.

use std::net::Ipv4Addr;

use dat_provider::error::ReturnType;
use dat_provider_kit::engine::Connected;
use dat_provider_kit::network::is_link_local;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::*;

const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn links() -> Links {
    Links::open("auto", "lo").expect("every Linux has it").0
}

fn sockets() -> Sockets {
    Sockets::open("tcp-lo", "").expect("every Linux has it").0
}

/// Waits for the listener's descriptor, as the engine does, and accepts.
fn accepted(acceptor: &mut dyn Acceptor) -> Connected {
    let wait = Timespec { tv_sec: 5, tv_nsec: 0 };
    let descriptor = acceptor.descriptor();
    let mut fds = [PollFd::new(&descriptor, PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut fds, Some(&wait)), Ok(1), "a link waits");
    acceptor.accept().expect("it has connected")
}

/// Connects to a listener of this machine, if there is one.
fn dial(
    from: &dyn Transport,
    to: IpAddr,
    qualifier: u64,
) -> std::result::Result<Connected, ConnectError> {
    let mut attempt = from.connect(to, qualifier)?;
    loop {
        match attempt {
            Attempt::Connected(link) => return Ok(link),
            Attempt::Pending(dial) => attempt = dial.advance()?,
        }
    }
}

fn connect(to: &dyn Acceptor, from: &dyn Transport) -> Connected {
    dial(from, LO, to.qualifier()).expect("it listens")
}

fn is_socket(link: &Connected) -> bool {
    let descriptor = link.reader.descriptor().expect("it has one");
    let family = rustix::net::getsockname(descriptor).expect("a socket").address_family();
    [rustix::net::AddressFamily::INET, rustix::net::AddressFamily::INET6].contains(&family)
}

#[test]
fn without_shared_memory_peers_on_this_machine_connect_over_tcp() {
    let without = || Links::open("auto", "lo shm=no").expect("every Linux has it").0;
    let mut acceptor = links().listen(None).expect("a free port");
    assert!(is_socket(&connect(&*acceptor, &without())), "the side that connects leaves it out");
    assert!(is_socket(&accepted(&mut *acceptor)));
    let mut acceptor = without().listen(None).expect("a free port");
    assert!(is_socket(&connect(&*acceptor, &links())), "the side that listens leaves it out");
    assert!(is_socket(&accepted(&mut *acceptor)));
}

#[test]
fn at_each_address_of_the_machine_it_is_reached_in_shared_memory_and_over_tcp() {
    let everywhere = || Links::open("auto", "").expect("the machine has an address").0;
    let mut acceptor = everywhere().listen(None).expect("a free port");
    let all = dat_provider_kit::network::interfaces().into_iter().flat_map(|one| one.addresses);
    let mut tried = 0;
    for address in all.map(|one| one.ip()).filter(|one| !is_link_local(*one)) {
        let transports: [(Box<dyn Transport>, bool); 2] =
            [(Box::new(everywhere()), false), (Box::new(sockets()), true)];
        for (from, is_over_tcp) in transports {
            let active = dial(&*from, address, acceptor.qualifier()).expect("it listens");
            let passive = accepted(&mut *acceptor);
            assert_eq!((is_socket(&active), is_socket(&passive)), (is_over_tcp, is_over_tcp));
            assert_eq!(active.address, address);
            assert!(is_over_tcp || passive.address == address, "{} {address}", passive.address);
            tried += 1;
        }
    }
    assert!(tried >= 2, "{tried}");
}

#[test]
fn an_adapter_auto_is_reached_in_shared_memory() {
    let mut acceptor = links().listen(None).expect("a free port");
    let active = connect(&*acceptor, &links());
    let passive = accepted(&mut *acceptor);
    assert!(!is_socket(&active) && !is_socket(&passive));
    assert_eq!((active.address, passive.address), (LO, LO));
}

#[test]
fn adapters_over_tcp_reach_it_and_are_reached() {
    let mut acceptor = links().listen(None).expect("a free port");
    let active = connect(&*acceptor, &sockets());
    assert!(is_socket(&active) && is_socket(&accepted(&mut *acceptor)));
    let mut acceptor = sockets().listen(None).expect("a free port");
    let active = connect(&*acceptor, &links());
    assert!(is_socket(&active) && is_socket(&accepted(&mut *acceptor)));
}

#[test]
fn a_listener_of_shm_is_not_one_of_an_address() {
    let rings = Rings::open("").expect("the defaults").0;
    let acceptor = rings.listen(None).expect("a free qualifier");
    let failure = dial(&links(), LO, acceptor.qualifier()).err();
    assert_eq!(failure, Some(ConnectError::Refused));
}

#[test]
fn a_qualifier_is_listened_on_once_and_is_free_again_afterwards() {
    let first = links().listen(Some(0x12_0000_0002)).expect("free");
    for error in [links().listen(Some(0x12_0000_0002)), sockets().listen(Some(0x12_0000_0002))] {
        let error = error.err().expect("in use");
        assert_eq!(error.return_type(), ReturnType::ConnQualInUse);
    }
    drop(first);
    drop(links().listen(Some(0x12_0000_0002)).expect("free again"));
}

#[test]
fn two_adapters_of_a_machine_listen_on_one_qualifier() {
    let at = |address| Links::open("auto", address).expect("an address of lo").0;
    let (one, other) = (at("address=127.0.0.1"), at("address=127.0.0.2"));
    let first = one.listen(None).expect("a free port");
    let mut second = other.listen(Some(first.qualifier())).expect("another address");
    let active = dial(&one, other.address(), first.qualifier()).expect("it listens");
    assert!(!is_socket(&active));
    assert_eq!(accepted(&mut *second).address, one.address());
}
