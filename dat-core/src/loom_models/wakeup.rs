//! The wakeup alone.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use loom::thread;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::model;
use crate::blocking::SleepResult;
use crate::sync::{Mutex, await_readable};
use crate::wakeup::Wakeup;
use dat_sync::descriptors::Beacon;

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

fn is_rung(wakeup: &Wakeup) -> bool {
    wakeup.sleep(Some(Instant::now())) == SleepResult::Woken
}

/// A queue reduced to its length, with the wakeup that its pusher signals.
#[derive(Default)]
struct Queue {
    length: Mutex<u32>,
    wakeup: Wakeup,
}

impl Queue {
    fn push(&self) {
        *self.length.lock() += 1;
        self.wakeup.signal();
    }

    /// Takes an item, and sleeps while there is none: clear, check, sleep.
    fn take(&self) {
        loop {
            self.wakeup.clear();
            {
                let mut length = self.length.lock();
                if *length > 0 {
                    *length -= 1;
                    return;
                }
            }
            assert_eq!(self.wakeup.sleep(None), SleepResult::Woken, "only a signal ends it");
        }
    }
}

#[test]
fn a_signal_before_the_sleep_is_not_missed() {
    model(|| {
        let wakeup = Arc::new(Wakeup::default());
        let ringer = {
            let wakeup = Arc::clone(&wakeup);
            thread::spawn(move || wakeup.signal())
        };
        // The signal may come before, during or after this falls asleep.
        assert_eq!(wakeup.sleep(None), SleepResult::Woken);
        ringer.join().expect("no panic");
        assert_eq!(
            wakeup.sleep(None),
            SleepResult::Woken,
            "it stays signalled until it is cleared"
        );
    });
}

#[test]
fn clear_then_check_then_sleep_misses_nothing() {
    model(|| {
        let queue = Arc::new(Queue::default());
        let pusher = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push())
        };
        queue.take();
        pusher.join().expect("no panic");
    });
}

#[test]
fn signals_of_two_pushers_are_not_missed() {
    model(|| {
        let queue = Arc::new(Queue::default());
        let pushers = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push())
        });
        queue.take();
        queue.take();
        for pusher in pushers {
            pusher.join().expect("no panic");
        }
        assert_eq!(*queue.length.lock(), 0);
    });
}

#[test]
fn one_signal_wakes_two_sleepers() {
    model(|| {
        let wakeup = Arc::new(Wakeup::default());
        let sleepers = [(); 2].map(|()| {
            let wakeup = Arc::clone(&wakeup);
            thread::spawn(move || wakeup.sleep(None))
        });
        wakeup.signal();
        for sleeper in sleepers {
            assert_eq!(sleeper.join().expect("no panic"), SleepResult::Woken);
        }
    });
}

/// A waiter that makes progress sleeps on a descriptor of its own and on another one, which never
/// becomes readable here.
#[test]
fn a_signal_wakes_a_sleeper_on_its_own_descriptor() {
    model(|| {
        let queue = Arc::new(Queue::default());
        let pusher = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push())
        };
        let own = Arc::new(Beacon::new().expect("a descriptor"));
        let other = Beacon::new().expect("a descriptor");
        loop {
            queue.wakeup.clear();
            if std::mem::take(&mut *queue.length.lock()) > 0 {
                break;
            }
            if queue.wakeup.begin_sleep_on(&own) {
                assert_eq!(await_readable(own.as_fd(), other.as_fd(), None), SleepResult::Woken);
                queue.wakeup.end_sleep_on();
                assert!(!is_readable(own.as_fd()), "the next sleep lasts until the next signal");
            }
        }
        pusher.join().expect("no panic");
        assert!(!is_readable(own.as_fd()), "a signal after the sleep does not end the next one");
    });
}

#[test]
fn a_signal_at_the_deadline_is_seen_or_kept() {
    model(|| {
        let wakeup = Arc::new(Wakeup::default());
        let ringer = {
            let wakeup = Arc::clone(&wakeup);
            thread::spawn(move || wakeup.signal())
        };
        let _heard = is_rung(&wakeup);
        ringer.join().expect("no panic");
        assert!(is_rung(&wakeup));
    });
}

#[test]
fn a_signal_during_the_creation_of_the_descriptor_makes_it_readable() {
    model(|| {
        let wakeup = Arc::new(Wakeup::default());
        let ringer = {
            let wakeup = Arc::clone(&wakeup);
            thread::spawn(move || wakeup.signal())
        };
        let fd = wakeup.fd().expect("a descriptor");
        assert!(wakeup.has_fd());
        ringer.join().expect("no panic");
        assert!(is_readable(fd));
        wakeup.clear();
        assert!(!is_readable(fd));
    });
}

#[test]
fn the_descriptor_agrees_with_the_wakeup() {
    model(|| {
        let wakeup = Arc::new(Wakeup::default());
        let threads: [fn(&Wakeup); 2] = [Wakeup::signal, Wakeup::clear];
        let threads = threads.map(|act| {
            let wakeup = Arc::clone(&wakeup);
            thread::spawn(move || act(&wakeup))
        });
        let fd = wakeup.fd().expect("a descriptor");
        wakeup.signal();
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(is_readable(fd), is_rung(&wakeup));
        wakeup.clear();
        assert!(!is_readable(fd), "at most one signal is shown");
    });
}
