//! The bell by itself.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use loom::thread;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::model;
use crate::signal::{Bell, Slept};
use crate::sync::Mutex;

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

fn is_rung(bell: &Bell) -> bool {
    bell.sleep(Some(Instant::now())) == Slept::Woken
}

/// A queue of which only the length counts, with the bell that its pusher rings.
#[derive(Default)]
struct Queue {
    length: Mutex<u32>,
    bell: Bell,
}

impl Queue {
    fn push(&self) {
        *self.length.lock() += 1;
        self.bell.ring();
    }

    /// Takes one, asleep while there is none: silence, look, sleep.
    fn take(&self) {
        loop {
            self.bell.silence();
            {
                let mut length = self.length.lock();
                if *length > 0 {
                    *length -= 1;
                    return;
                }
            }
            assert_eq!(self.bell.sleep(None), Slept::Woken, "only a ring ends it");
        }
    }
}

#[test]
fn a_ring_before_the_sleep_is_heard() {
    model(|| {
        let bell = Arc::new(Bell::default());
        let ringer = {
            let bell = Arc::clone(&bell);
            thread::spawn(move || bell.ring())
        };
        // Before, while or after this falls asleep.
        assert_eq!(bell.sleep(None), Slept::Woken);
        ringer.join().expect("no panic");
        assert_eq!(bell.sleep(None), Slept::Woken, "it stays rung until it is silenced");
    });
}

#[test]
fn silence_then_look_then_sleep_misses_nothing() {
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
fn of_two_pushers_neither_is_missed() {
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
fn one_ring_wakes_two_sleepers() {
    model(|| {
        let bell = Arc::new(Bell::default());
        let sleepers = [(); 2].map(|()| {
            let bell = Arc::clone(&bell);
            thread::spawn(move || bell.sleep(None))
        });
        bell.ring();
        for sleeper in sleepers {
            assert_eq!(sleeper.join().expect("no panic"), Slept::Woken);
        }
    });
}

#[test]
fn a_ring_at_the_deadline_is_heard_or_stays() {
    model(|| {
        let bell = Arc::new(Bell::default());
        let ringer = {
            let bell = Arc::clone(&bell);
            thread::spawn(move || bell.ring())
        };
        let _heard = is_rung(&bell);
        ringer.join().expect("no panic");
        assert!(is_rung(&bell));
    });
}

#[test]
fn the_descriptor_shows_a_ring_that_comes_while_it_is_made() {
    model(|| {
        let bell = Arc::new(Bell::default());
        let ringer = {
            let bell = Arc::clone(&bell);
            thread::spawn(move || bell.ring())
        };
        let fd = bell.fd().expect("a descriptor");
        assert!(bell.has_fd());
        ringer.join().expect("no panic");
        assert!(is_readable(fd));
        bell.silence();
        assert!(!is_readable(fd));
    });
}

#[test]
fn the_descriptor_and_the_bell_say_the_same() {
    model(|| {
        let bell = Arc::new(Bell::default());
        let threads: [fn(&Bell); 2] = [Bell::ring, Bell::silence];
        let threads = threads.map(|act| {
            let bell = Arc::clone(&bell);
            thread::spawn(move || act(&bell))
        });
        let fd = bell.fd().expect("a descriptor");
        bell.ring();
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(is_readable(fd), is_rung(&bell));
        bell.silence();
        assert!(!is_readable(fd), "at most one ring is shown");
    });
}
