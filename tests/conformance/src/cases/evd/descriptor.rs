//! The descriptor of a dispatcher.

use super::{owner, produce, software};
use crate::prelude::*;

pub(super) fn the_next_event_makes_the_armed_descriptor_readable() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false), "nothing is queued: sleep");
    assert!(!is_readable(&evd));
    evd.post_software_event(1).expect("within the limit");
    assert!(is_readable(&evd));
    assert_eq!(evd.arm(), Ok(true), "something is queued: do not sleep");
    drain(&evd);
    assert_eq!(evd.arm(), Ok(false));
    assert!(!is_readable(&evd), "arming forgets what was taken");
    evd.disarm();
}

pub(super) fn completions_and_connection_events_make_the_armed_descriptor_readable() {
    let (node, client, server) = linked_pair();
    for evd in [&node.recv, &node.request, &node.connect] {
        assert_eq!(evd.arm(), Ok(false));
        assert!(!is_readable(evd));
    }
    post_message((&client, 2), (&server, 1));
    assert!(becomes_readable(&node.recv));
    assert!(becomes_readable(&node.request));
    assert!(!is_readable(&node.connect));
    client.disconnect(Close::Abrupt).expect("connected");
    assert!(becomes_readable(&node.connect));
}

pub(super) fn a_free_makes_the_armed_descriptor_readable() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false));
    let free = Background::with(&evd, |evd| evd.free());
    assert!(becomes_readable(&evd), "the free must wake a thread that polls it");
    assert_eq!(free.join(), Ok(()));
    fails_with(evd.arm(), ReturnType::InvalidHandle);
}

pub(super) fn a_dispatcher_with_a_waiter_cannot_be_armed() {
    let evd = software(8);
    let thread = owner(&evd, 1);
    refused(evd.arm(), Subtype::InvalidStateEvdWaiter);
    evd.post_software_event(1).expect("within the limit");
    thread.join().expect("woken");
}

/// Counts events by the loop of the documentation of `arm`, and fails if a queued event does not
/// end a sleep. Calls `taken` after each event.
fn count_by_poll(evd: &Evd, expected: u64, taken: impl Fn()) {
    let mut event = Event::default();
    let mut seen = 0;
    while seen < expected {
        while evd.dequeue(&mut event).expect("live") {
            seen += 1;
            taken();
        }
        if seen < expected && !evd.arm().expect("live") {
            assert!(becomes_readable(evd), "a wake-up was lost after {seen} events");
        }
    }
    assert_eq!(seen, expected);
}

pub(super) fn no_wake_up_is_lost_to_a_producer_of_software_events() {
    const EVENTS: u64 = 20_000;
    let evd = software(64);
    let producer = produce(&evd, EVENTS);
    count_by_poll(&evd, EVENTS, || ());
    producer.join();
}

pub(super) fn no_wake_up_is_lost_to_a_producer_of_completions() {
    const MESSAGES: u64 = 10_000;
    let (node, client, server) = linked_pair();
    let request = node.request.clone();
    post_receives(&server, 0..32);
    let producer = Background::with(&client, move |client| {
        for cookie in 0..MESSAGES {
            while client.post_send(&[], cookie, NONE).is_err() {
                drain(&request);
            }
            if cookie % 5 == 0 {
                std::thread::yield_now();
            }
        }
    });
    count_by_poll(&node.recv, MESSAGES, || post_receives(&server, [0]));
    producer.join();
}
