//! Notification objects with a descriptor (DAT 2.0).

use crate::prelude::*;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

cases! {
    "DAT 2.0, dat_cno_fd_create":
        the_descriptor_is_readable_from_the_trigger_until_it_is_consumed,
        the_descriptor_never_changes,
        an_event_of_any_stream_triggers,
        a_disabled_dispatcher_does_not_trigger,
        an_event_that_goes_to_a_waiter_does_not_trigger;
    "DAT 2.0, dat_cno_trigger":
        a_trigger_call_consumes_the_trigger_but_not_the_event,
        without_a_trigger_the_queue_is_empty,
        many_events_make_one_trigger,
        a_wait_consumes_the_trigger,
        a_freed_object_has_no_triggers,
        no_trigger_is_lost_to_a_poller_of_the_descriptor;
    "dat_ia_close(3DAT)":
        a_close_wakes_every_waiter;
}

/// A node, a notification object with a descriptor, and a dispatcher that triggers it.
fn triggering() -> (Node, Cno, Evd) {
    let node = Node::new();
    let cno = node.ia.cno_fd_create().expect("a notification object");
    let evd = watched(&node, &cno, EvdFlags::SOFTWARE);
    (node, cno, evd)
}

/// A dispatcher that triggers a notification object.
fn watched(node: &Node, cno: &Cno, flags: EvdFlags) -> Evd {
    node.ia.evd_create(&EvdOptions::new(16, flags).with_cno(cno)).expect("a dispatcher")
}

fn shows(cno: &Cno) -> bool {
    is_readable(&cno.fd().expect("a descriptor"))
}

/// Checks that an object is not triggered, by its descriptor and by a call.
#[track_caller]
fn nothing(cno: &Cno) {
    assert!(!shows(cno));
    refused(cno.trigger(), ReturnType::QueueEmpty);
}

fn the_descriptor_is_readable_from_the_trigger_until_it_is_consumed() {
    let (node, cno, evd) = triggering();
    assert!(!shows(&cno));
    evd.post_software_event(1).expect("within the limit");
    assert!(shows(&cno));
    assert!(shows(&cno), "a poll takes nothing");
    assert_eq!(cno.trigger(), Ok(Some(evd.clone())));
    assert!(!shows(&cno));
    node.finish_with(&[&evd, &cno]);
}

fn the_descriptor_never_changes() {
    let node = Node::new();
    let cno = node.ia.cno_fd_create().expect("a notification object");
    let number = cno.fd().expect("a descriptor").as_raw_fd();
    let evd = watched(&node, &cno, EvdFlags::SOFTWARE);
    for round in 0..3 {
        evd.post_software_event(round).expect("within the limit");
        assert_eq!(cno.fd().expect("a descriptor").as_raw_fd(), number);
        assert_eq!(cno.clone().as_fd().as_raw_fd(), number);
        cno.trigger().expect("triggered");
    }
}

fn an_event_of_any_stream_triggers() {
    let node = Node::new();
    let cno = node.ia.cno_fd_create().expect("a notification object");
    let completions = watched(&node, &cno, EvdFlags::DTO);
    let connections = watched(&node, &cno, EvdFlags::CONNECTION);
    let (client, server) = (node.ep(), node.ep());
    let change = EpUpdate::new().recv_evd(Some(&completions));
    server.modify(&change.connect_evd(Some(&connections))).expect("unconnected");
    link(&node, &client, &node, &server);
    until("a trigger of the connection", || shows(&cno));
    assert_eq!(cno.trigger(), Ok(Some(connections)));
    nothing(&cno);
    post_message((&client, 2), (&server, 1));
    until("a trigger of the completion", || shows(&cno));
    assert_eq!(cno.trigger(), Ok(Some(completions)));
}

fn a_disabled_dispatcher_does_not_trigger() {
    let (_node, cno, evd) = triggering();
    evd.disable().expect("live");
    evd.post_software_event(1).expect("within the limit");
    nothing(&cno);
    evd.enable().expect("live");
    evd.post_software_event(2).expect("within the limit");
    assert!(shows(&cno));
    evd.modify_cno(None).expect("live");
    cno.trigger().expect("it came before");
    evd.post_software_event(3).expect("within the limit");
    assert!(!shows(&cno), "the dispatcher has no notification object now");
}

fn an_event_that_goes_to_a_waiter_does_not_trigger() {
    let (_node, cno, evd) = triggering();
    let waiter = waiter(&evd, 1);
    until_owned(&evd);
    evd.post_software_event(1).expect("within the limit");
    assert!(waiter.join().expect("woken").0.is_event());
    nothing(&cno);
}

fn a_trigger_call_consumes_the_trigger_but_not_the_event() {
    let (_node, cno, evd) = triggering();
    evd.post_software_event(77).expect("within the limit");
    cno.trigger().expect("triggered");
    nothing(&cno);
    assert_eq!(drain(&evd), [Event::Software(77)]);
}

fn without_a_trigger_the_queue_is_empty() {
    let node = Node::new();
    let cnos = [node.ia.cno_fd_create(), node.ia.cno_create(None)];
    let cnos = cnos.map(|cno| cno.expect("a notification object"));
    assert!(!shows(&cnos[0]));
    for cno in cnos {
        refused(cno.trigger(), ReturnType::QueueEmpty);
        refused(cno.wait(Timeout::After(Duration::from_millis(1))), ReturnType::QueueEmpty);
    }
}

fn many_events_make_one_trigger() {
    let node = Node::new();
    let cno = node.ia.cno_fd_create().expect("a notification object");
    let (first, second) =
        (watched(&node, &cno, EvdFlags::SOFTWARE), watched(&node, &cno, EvdFlags::SOFTWARE));
    post_events(&first, 0..3);
    post_events(&second, 0..3);
    let hint = cno.trigger().expect("triggered").expect("both live");
    assert!(hint == first || hint == second);
    nothing(&cno);
}

fn a_wait_consumes_the_trigger() {
    let (_node, cno, evd) = triggering();
    evd.post_software_event(1).expect("within the limit");
    assert_eq!(cno.wait(LIMIT.into()), Ok(Some(evd.clone())));
    nothing(&cno);
}

fn a_freed_object_has_no_triggers() {
    let (node, cno, evd) = triggering();
    evd.post_software_event(1).expect("within the limit");
    refused(cno.free(), Subtype::InvalidStateCnoInUse);
    evd.free().expect("live");
    cno.free().expect("nothing refers to it");
    refused(cno.trigger(), Subtype::InvalidHandleCno);
    let made = node.ia.cno_create(None).expect("a notification object");
    node.finish_with(&[&made]);
}

fn no_trigger_is_lost_to_a_poller_of_the_descriptor() {
    const EVENTS: u64 = 2_000;
    let (_node, cno, evd) = triggering();
    let poster = Background::with(&evd, move |evd| {
        for value in 0..EVENTS {
            until("the queue has space", || evd.post_software_event(value).is_ok());
        }
    });
    let mut event = Event::default();
    let mut next = 0;
    while next < EVENTS {
        until("the descriptor shows the next event", || shows(&cno));
        // The wait before may have taken this trigger too.
        if let Err(error) = cno.trigger() {
            assert!(error.is(ReturnType::QueueEmpty), "{error}");
        }
        while evd.dequeue(&mut event).expect("no thread waits") {
            assert_eq!(event, Event::Software(next));
            next += 1;
        }
    }
    poster.join();
}

fn a_close_wakes_every_waiter() {
    for _ in 0..rounds(50) {
        let (node, cno, evd) = triggering();
        let waiters = [(); 3].map(|()| {
            Background::with(&cno, move |cno| {
                // Until a wait returns without a trigger; a late thread finds the adapter closed.
                while let Ok(Some(_)) = cno.wait(Timeout::Infinite) {}
            })
        });
        std::thread::sleep(Duration::from_micros(200));
        evd.post_software_event(1).expect("within the limit");
        node.ia.close(Close::Abrupt).expect("open");
        for waiter in waiters {
            waiter.join();
        }
    }
}
