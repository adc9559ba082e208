//! The descriptor of a dispatcher.

use super::{produce, software, waiter};
use crate::prelude::*;

pub(super) fn the_next_event_makes_the_armed_descriptor_readable() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false), "nothing is queued: sleep");
    assert!(!is_readable(&evd));
    evd.post_se(1).expect("within the limit");
    assert!(is_readable(&evd));
    assert_eq!(evd.arm(), Ok(true), "something is queued: do not sleep");
    drain(&evd);
    assert_eq!(evd.arm(), Ok(false));
    assert!(!is_readable(&evd), "arming forgets what was taken");
    evd.disarm();
}

pub(super) fn completions_and_connection_events_make_the_armed_descriptor_readable() {
    let node = Node::new();
    let (client, server) = node.pair();
    for evd in [&node.recv, &node.request, &node.connect] {
        assert_eq!(evd.arm(), Ok(false));
        assert!(!is_readable(evd));
    }
    server.post_recv(&[], 1, NONE).expect("connected");
    client.post_send(&[], 2, NONE).expect("connected");
    assert!(becomes_readable(&node.recv));
    assert!(becomes_readable(&node.request));
    assert!(!is_readable(&node.connect));
    client.disconnect(Close::Abrupt).expect("connected");
    assert!(becomes_readable(&node.connect));
}

pub(super) fn a_free_makes_the_armed_descriptor_readable() {
    let evd = software(8);
    assert_eq!(evd.arm(), Ok(false));
    let other = evd.clone();
    let free = Background::run(move || other.free());
    assert!(becomes_readable(&evd), "a thread that polls it must learn of the free");
    assert_eq!(free.join(), Ok(()));
    assert_eq!(evd.arm().expect_err("freed").return_type(), ReturnType::InvalidHandle);
}

pub(super) fn a_dispatcher_with_a_waiter_cannot_be_armed() {
    let evd = software(8);
    let thread = waiter(&evd, 1);
    refused(evd.arm(), Subtype::InvalidStateEvdWaiter);
    evd.post_se(1).expect("within the limit");
    thread.join().expect("woken");
}

/// Counts events by the loop of the documentation of `arm`, and fails if a queued event does not
/// end a sleep.
fn count_by_poll(evd: &EventDispatcher, expected: u64) {
    let mut event = Event::default();
    let mut seen = 0;
    while seen < expected {
        while evd.dequeue(&mut event).expect("live") {
            seen += 1;
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
    count_by_poll(&evd, EVENTS);
    producer.join();
}

pub(super) fn no_wake_up_is_lost_to_a_producer_of_completions() {
    const MESSAGES: u64 = 10_000;
    let node = Node::new();
    let (client, server) = node.pair();
    let (recv, request) = (node.recv.clone(), node.request.clone());
    for cookie in 0..32 {
        server.post_recv(&[], cookie, NONE).expect("connected");
    }
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
    let mut event = Event::default();
    let mut seen = 0;
    while seen < MESSAGES {
        while recv.dequeue(&mut event).expect("live") {
            seen += 1;
            server.post_recv(&[], 0, NONE).expect("connected");
        }
        if seen < MESSAGES && !recv.arm().expect("live") {
            assert!(becomes_readable(&recv), "a wake-up was lost after {seen} messages");
        }
    }
    producer.join();
}
