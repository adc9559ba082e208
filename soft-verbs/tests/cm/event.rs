//! Events, and the channels that report them.

use std::os::fd::AsFd;
use std::time::Duration;

use dat_soft_verbs::cm::{EventChannel, EventKind, PortSpace};

use crate::sides::*;

#[test]
fn a_destroyed_identifier_waits_for_its_acknowledgements() {
    let (channel, id) = identifier(PortSpace::Tcp);
    id.resolve_address(None, at(9)).expect("it begins");
    let event = expect(&channel, EventKind::AddressResolved);
    let waiting = std::thread::spawn(move || id.destroy().expect("alive"));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waiting.is_finished(), "the event is not acknowledged");
    drop(event);
    waiting.join().expect("it ends");
}

#[test]
fn the_events_of_a_destroyed_identifier_vanish() {
    let (channel, id) = identifier(PortSpace::Tcp);
    id.resolve_address(None, at(9)).expect("it begins");
    readable(&channel);
    id.destroy().expect("alive");
    assert!(!is_readable(&channel));
    assert!(channel.try_next().is_none());
}

#[test]
fn a_non_blocking_channel_says_that_it_is_empty() {
    let channel = EventChannel::new().expect("a channel");
    rustix::fs::fcntl_setfl(channel.as_fd(), rustix::fs::OFlags::NONBLOCK).expect("a descriptor");
    assert_eq!(channel.next().expect_err("no event").errno, libc::EAGAIN);
}

#[test]
fn events_move_with_their_identifier() {
    let (before, id) = identifier(PortSpace::Tcp);
    let after = EventChannel::new().expect("a channel");
    id.resolve_address(None, at(9)).expect("it begins");
    id.migrate(&after);
    assert!(!is_readable(&before));
    expect(&after, EventKind::AddressResolved);
    id.resolve_route().expect("it begins");
    expect(&after, EventKind::RouteResolved);
}
