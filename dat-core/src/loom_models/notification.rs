//! Notification objects and the dispatchers that trigger them.

use loom::thread;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::provider::open;
use super::{large_model, model};
use crate::{Close, Cno, EvdFlags, EvdOptions, EventDispatcher, InterfaceAdapter, Timeout};

fn setting() -> (InterfaceAdapter, Cno, EventDispatcher) {
    let (ia, _) = open();
    let cno = ia.cno_create(None).expect("a notification object");
    let options = EvdOptions::new(4, EvdFlags::SOFTWARE).with_cno(&cno);
    let evd = ia.evd_create(&options).expect("a dispatcher");
    (ia, cno, evd)
}

fn is_readable(cno: &Cno) -> bool {
    let fd = cno.fd().expect("a descriptor");
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

#[test]
fn a_wait_wakes_on_a_trigger() {
    model(|| {
        let (_ia, cno, evd) = setting();
        let poster = {
            let evd = evd.clone();
            thread::spawn(move || evd.post_se(1).expect("room"))
        };
        assert_eq!(cno.wait(Timeout::Infinite), Ok(Some(evd)));
        poster.join().expect("no panic");
    });
}

#[test]
fn a_trigger_is_taken_or_makes_the_descriptor_readable() {
    model(|| {
        let (_ia, cno, evd) = setting();
        cno.fd().expect("a descriptor");
        let poster = {
            let evd = evd.clone();
            thread::spawn(move || evd.post_se(1).expect("room"))
        };
        let taken = cno.trigger().is_ok();
        poster.join().expect("no panic");
        assert_ne!(taken, is_readable(&cno));
        assert_ne!(taken, cno.trigger().is_ok());
        assert!(!is_readable(&cno));
    });
}

#[test]
fn two_waiters_wake_on_a_trigger_and_on_the_end() {
    large_model(|| {
        let (ia, cno, evd) = setting();
        let waiters = [(); 2].map(|()| {
            let cno = cno.clone();
            thread::spawn(move || drop(cno.wait(Timeout::Infinite)))
        });
        evd.post_se(1).expect("room");
        ia.close(Close::Abrupt).expect("open");
        for waiter in waiters {
            waiter.join().expect("no panic");
        }
    });
}

#[test]
fn a_trigger_that_arrives_while_another_is_taken_makes_the_descriptor_readable() {
    model(|| {
        let (_ia, cno, evd) = setting();
        cno.fd().expect("a descriptor");
        evd.post_se(1).expect("room");
        let poster = thread::spawn(move || evd.post_se(2).expect("room"));
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
