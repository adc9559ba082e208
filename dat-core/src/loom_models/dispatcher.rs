//! Event dispatchers: the real queue, notifier and wakeup over a modelled completion queue.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use loom::thread;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::provider::{
    Completions, claiming_dispatcher, dispatcher, linked_dispatcher, open, showing_dispatcher,
    word_dispatcher,
};
use super::{large_model, model};
use crate::{Close, Evd, EvdFlags, EvdOptions, Event, ReturnType, Timeout, WaitResult};

/// A time-out that expires at once in a model, but only after the waiter has fallen asleep.
const SHORT: Timeout = Timeout::After(Duration::from_secs(3600));

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

fn wait(evd: &Evd, timeout: Timeout, threshold: u32) -> crate::Result<WaitResult> {
    evd.wait(timeout, threshold, &mut Event::default())
}

fn left(evd: &Evd) -> u32 {
    let mut count = 0;
    while evd.dequeue(&mut Event::default()).expect("no thread waits") {
        count += 1;
    }
    count
}

/// Creates a dispatcher whose waiters sleep on its wakeup, or also on a descriptor.
type Make = fn() -> (Evd, Completions);

/// Posts a software event in another thread.
fn post(evd: &Evd) -> thread::JoinHandle<()> {
    let evd = evd.clone();
    thread::spawn(move || evd.post_software_event(1).expect("room"))
}

fn wakes_on_an_event(make: Make) {
    model(move || {
        let (evd, _) = make();
        let poster = post(&evd);
        assert_eq!(wait(&evd, Timeout::Infinite, 1), Ok(WaitResult::Event { more: 0 }));
        poster.join().expect("no panic");
    });
}

fn wakes_on_a_completion(make: Make) {
    model(move || {
        let (evd, completions) = make();
        let device = thread::spawn(move || completions.arrive(1));
        assert_eq!(wait(&evd, Timeout::Infinite, 1), Ok(WaitResult::Event { more: 0 }));
        device.join().expect("no panic");
    });
}

fn counts_both_kinds(make: Make) {
    large_model(move || {
        let (evd, completions) = make();
        let poster = post(&evd);
        let device = thread::spawn(move || completions.arrive(1));
        assert_eq!(wait(&evd, Timeout::Infinite, 2), Ok(WaitResult::Event { more: 1 }));
        assert_eq!(left(&evd), 1);
        poster.join().expect("no panic");
        device.join().expect("no panic");
    });
}

#[test]
fn a_wait_wakes_on_an_event() {
    wakes_on_an_event(dispatcher);
}

#[test]
fn a_wait_wakes_on_a_completion() {
    wakes_on_a_completion(dispatcher);
}

#[test]
fn a_wait_with_the_claim_wakes_on_an_event() {
    wakes_on_an_event(claiming_dispatcher);
}

#[test]
fn a_wait_with_the_claim_wakes_on_a_completion() {
    wakes_on_a_completion(claiming_dispatcher);
}

#[test]
fn a_wait_with_the_claim_counts_events_of_both_kinds() {
    counts_both_kinds(claiming_dispatcher);
}

#[test]
fn a_wait_on_the_connection_wakes_on_an_event() {
    wakes_on_an_event(linked_dispatcher);
}

#[test]
fn a_wait_on_the_connection_wakes_on_a_completion() {
    wakes_on_a_completion(linked_dispatcher);
}

#[test]
fn a_wait_on_the_connection_counts_events_of_both_kinds() {
    counts_both_kinds(linked_dispatcher);
}

#[test]
fn a_change_of_notification_during_a_wait_on_the_connection_loses_nothing() {
    change_notification_during_a_wait(linked_dispatcher);
}

#[test]
fn a_wait_on_a_word_of_the_connection_wakes_on_an_event() {
    wakes_on_an_event(word_dispatcher);
}

#[test]
fn a_wait_on_a_word_of_the_connection_wakes_on_a_completion() {
    wakes_on_a_completion(word_dispatcher);
}

#[test]
fn a_wait_on_a_word_of_the_connection_counts_events_of_both_kinds() {
    counts_both_kinds(word_dispatcher);
}

#[test]
fn a_change_of_notification_during_a_wait_on_a_word_loses_nothing() {
    change_notification_during_a_wait(word_dispatcher);
}

#[test]
fn a_threshold_counts_events_of_both_kinds() {
    counts_both_kinds(dispatcher);
}

#[test]
fn a_wait_that_ends_at_the_deadline_leaves_the_event() {
    model(|| {
        let (evd, completions) = dispatcher();
        let device = thread::spawn(move || completions.arrive(1));
        let waited = wait(&evd, SHORT, 1).expect("an event or the time-out");
        device.join().expect("no panic");
        assert_eq!(left(&evd), u32::from(!waited.is_event()));
    });
}

/// Arms while something arrives: the arrival is either found at once or shown by the descriptor.
fn armed(arrive: fn(&Evd, &Completions), descriptor_first: bool) {
    let (evd, completions) = dispatcher();
    if descriptor_first {
        evd.fd().expect("a descriptor");
    }
    let arrival = {
        let evd = evd.clone();
        thread::spawn(move || arrive(&evd, &completions))
    };
    let ready = evd.arm().expect("no thread waits");
    let fd = evd.fd().expect("a descriptor");
    arrival.join().expect("no panic");
    assert!(ready || is_readable(fd), "the event is lost");
    assert_eq!(left(&evd), 1);
}

#[test]
fn an_armed_descriptor_shows_an_event() {
    for descriptor_first in [false, true] {
        model(move || armed(|evd, _| evd.post_software_event(1).expect("room"), descriptor_first));
    }
}

#[test]
fn an_armed_descriptor_shows_a_completion() {
    for descriptor_first in [false, true] {
        model(move || armed(|_, completions| completions.arrive(1), descriptor_first));
    }
}

#[test]
fn an_event_goes_to_the_waiter_or_triggers() {
    model(|| {
        let (ia, _) = open();
        let cno = ia.cno_create(None).expect("a notification object");
        let options = EvdOptions::new(4, EvdFlags::SOFTWARE).with_cno(&cno);
        let evd = ia.evd_create(&options).expect("a dispatcher");
        let poster = post(&evd);
        let waited = wait(&evd, SHORT, 1).expect("an event or the time-out");
        poster.join().expect("no panic");
        if !waited.is_event() {
            assert_eq!(cno.wait(Timeout::ZERO), Ok(Some(evd.clone())), "the event is lost");
            assert_eq!(left(&evd), 1);
        }
    });
}

#[test]
fn set_unwaitable_ends_a_wait() {
    model(|| {
        let (evd, _) = dispatcher();
        let other = {
            let evd = evd.clone();
            thread::spawn(move || evd.set_unwaitable().expect("live"))
        };
        let error = wait(&evd, Timeout::Infinite, 1).expect_err("no event comes");
        assert!(error.is(ReturnType::InvalidState), "{error}");
        other.join().expect("no panic");
    });
}

#[test]
fn the_close_of_the_adapter_wakes_the_waiter() {
    model(|| {
        let (evd, _) = dispatcher();
        let ia = evd.adapter();
        let closer = thread::spawn(move || ia.close(Close::Abrupt).expect("open"));
        let error = wait(&evd, Timeout::Infinite, 1).expect_err("no event comes");
        assert!(error.is(ReturnType::Abort) || error.is(ReturnType::InvalidHandle), "{error}");
        closer.join().expect("no panic");
    });
}

#[test]
fn a_wait_on_the_descriptor_wakes_on_a_completion() {
    wakes_on_a_completion(showing_dispatcher);
}

#[test]
fn a_wait_on_the_descriptor_wakes_on_other_events() {
    wakes_on_an_event(showing_dispatcher);
}

#[test]
fn a_threshold_counts_arrivals_on_the_descriptor_and_by_upcall() {
    counts_both_kinds(showing_dispatcher);
}

#[test]
fn each_of_several_completions_makes_the_descriptor_readable() {
    large_model(|| {
        let (evd, completions) = showing_dispatcher();
        let device = thread::spawn(move || {
            completions.arrive(1);
            completions.arrive(2);
        });
        assert!(wait(&evd, Timeout::Infinite, 2).is_ok_and(WaitResult::is_event));
        device.join().expect("no panic");
    });
}

/// Another change makes the dispatcher set again which arrivals notify, during a wait.
fn change_notification_during_a_wait(make: Make) {
    large_model(move || {
        let (evd, completions) = make();
        let other = {
            let evd = evd.clone();
            thread::spawn(move || evd.disable().expect("live"))
        };
        let device = thread::spawn(move || completions.arrive(1));
        assert_eq!(wait(&evd, Timeout::Infinite, 1), Ok(WaitResult::Event { more: 0 }));
        other.join().expect("no panic");
        device.join().expect("no panic");
    });
}

#[test]
fn a_change_of_notification_during_a_wait_loses_nothing() {
    change_notification_during_a_wait(dispatcher);
}

#[test]
fn a_change_of_notification_during_a_wait_on_the_descriptor_loses_nothing() {
    change_notification_during_a_wait(showing_dispatcher);
}

#[test]
fn the_close_of_the_adapter_wakes_the_waiter_on_the_descriptor() {
    model(|| {
        let (evd, _) = showing_dispatcher();
        let ia = evd.adapter();
        let closer = thread::spawn(move || ia.close(Close::Abrupt).expect("open"));
        let error = wait(&evd, Timeout::Infinite, 1).expect_err("no event comes");
        assert!(error.is(ReturnType::Abort) || error.is(ReturnType::InvalidHandle), "{error}");
        closer.join().expect("no panic");
    });
}
