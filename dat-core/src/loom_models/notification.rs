//! Notification objects and the dispatchers that trigger them.

use loom::thread;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::provider::{open, open_with_progress};
use super::{large_model, model};
use crate::{Close, Cno, Evd, EvdFlags, EvdOptions, Ia, Timeout};

fn setting() -> (Ia, Cno, Evd) {
    setting_of(open().0)
}

/// As [`setting`], but a waiter claims the progress of the adapter.
fn claiming_setting() -> (Ia, Cno, Evd) {
    setting_of(open_with_progress().0)
}

fn setting_of(ia: Ia) -> (Ia, Cno, Evd) {
    let cno = ia.cno_create(None).expect("a notification object");
    let options = EvdOptions::new(4, EvdFlags::SOFTWARE).with_cno(&cno);
    let evd = ia.evd_create(&options).expect("a dispatcher");
    (ia, cno, evd)
}

fn is_readable(cno: &Cno) -> bool {
    let fd = cno.fd().expect("a descriptor");
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

type Make = fn() -> (Ia, Cno, Evd);

fn wakes_on_a_trigger(make: Make) {
    model(move || {
        let (_ia, cno, evd) = make();
        let poster = {
            let evd = evd.clone();
            thread::spawn(move || evd.post_software_event(1).expect("room"))
        };
        assert_eq!(cno.wait(Timeout::Infinite), Ok(Some(evd)));
        poster.join().expect("no panic");
    });
}

#[test]
fn a_wait_wakes_on_a_trigger() {
    wakes_on_a_trigger(setting);
}

#[test]
fn a_wait_with_the_claim_wakes_on_a_trigger() {
    wakes_on_a_trigger(claiming_setting);
}

/// Two triggers, of which the second comes when a waiter has returned, wake two waiters, of which one has
/// the claim.
#[test]
fn two_triggers_wake_the_waiter_with_the_claim_and_the_one_without() {
    large_model(|| {
        let (_ia, cno, evd) = claiming_setting();
        let other = {
            let (cno, evd) = (cno.clone(), evd.clone());
            thread::spawn(move || {
                cno.wait(Timeout::Infinite).expect("live");
                // For the other one.
                evd.post_software_event(2).expect("room");
            })
        };
        evd.post_software_event(1).expect("room");
        if cno.wait(Timeout::Infinite).is_ok() {
            evd.post_software_event(3).expect("room");
        }
        other.join().expect("no panic");
    });
}

#[test]
fn a_trigger_is_taken_or_makes_the_descriptor_readable() {
    model(|| {
        let (_ia, cno, evd) = setting();
        cno.fd().expect("a descriptor");
        let poster = {
            let evd = evd.clone();
            thread::spawn(move || evd.post_software_event(1).expect("room"))
        };
        let taken = cno.trigger().is_ok();
        poster.join().expect("no panic");
        assert_ne!(taken, is_readable(&cno));
        assert_ne!(taken, cno.trigger().is_ok());
        assert!(!is_readable(&cno));
    });
}

fn two_waiters_wake(make: Make) {
    large_model(move || {
        let (ia, cno, evd) = make();
        let waiters = [(); 2].map(|()| {
            let cno = cno.clone();
            thread::spawn(move || drop(cno.wait(Timeout::Infinite)))
        });
        evd.post_software_event(1).expect("room");
        ia.close(Close::Abrupt).expect("open");
        for waiter in waiters {
            waiter.join().expect("no panic");
        }
    });
}

#[test]
fn two_waiters_wake_on_a_trigger_and_on_the_end() {
    two_waiters_wake(setting);
}

#[test]
fn two_waiters_of_which_one_has_the_claim_wake_on_a_trigger_and_on_the_end() {
    two_waiters_wake(claiming_setting);
}

#[test]
fn a_trigger_that_arrives_while_another_is_taken_makes_the_descriptor_readable() {
    model(|| {
        let (_ia, cno, evd) = setting();
        cno.fd().expect("a descriptor");
        evd.post_software_event(1).expect("room");
        let poster = thread::spawn(move || evd.post_software_event(2).expect("room"));
        cno.trigger().expect("the first at least");
        poster.join().expect("no panic");
        assert_eq!(is_readable(&cno), cno.trigger().is_ok());
        assert!(!is_readable(&cno));
    });
}

#[test]
fn the_end_wakes_two_waiters() {
    large_model(|| {
        let (ia, cno, _evd) = setting();
        let waiters = [(); 2].map(|()| {
            let cno = cno.clone();
            thread::spawn(move || drop(cno.wait(Timeout::Infinite)))
        });
        ia.close(Close::Abrupt).expect("open");
        for waiter in waiters {
            waiter.join().expect("no panic");
        }
    });
}
