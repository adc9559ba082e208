//! What the thread does with the requests that posts have left to polls.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::*;
use crate::progress::driven::{Driven, LinkStatus};
use crate::progress::event_order::EventOrder;
use crate::progress::shared::tests::{NoLinks, NoSink};
use crate::progress_mode::ProgressMode;

/// A queue pair whose posts leave requests to polls.
#[derive(Default)]
struct Leaving {
    /// Number of times that they were sent.
    sent: AtomicU32,
}

impl Driven for Leaving {
    fn break_off(&self, _: &mut EventOrder) {}

    fn progress(&self, _: &mut EventOrder) -> LinkStatus {
        LinkStatus::Idle
    }

    fn check_lease(&self, _: &mut EventOrder) -> bool {
        false
    }

    fn send_held(&self, _: &mut EventOrder) -> bool {
        self.sent.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl Leaving {
    fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// An adapter whose posts leave requests to polls, and a queue pair that has left one.
fn lent() -> (Arc<Core>, Arc<ProgressThread>, Arc<Leaving>) {
    let transport = Box::new(NoLinks { mode: ProgressMode::Sleep });
    let (core, thread) = create(transport, Arc::new(NoSink)).expect("descriptors");
    {
        let mut driver = thread.driver.lock();
        driver.post_lease.begin(&thread.shared.left, (thread.shared.owner.polls(), 0), true);
    }
    let queue_pair = Arc::new(Leaving::default());
    let driven: Arc<dyn Driven> = Arc::clone(&queue_pair) as _;
    core.leave_to_polls(Arc::downgrade(&driven));
    (core, thread, queue_pair)
}

fn turn(thread: &ProgressThread, why: WakeUp) {
    assert!(matches!(thread.turn(&mut ReadyList::new(), why), Turn::Sleep(_)));
}

/// Longer than the time to a check.
fn await_check() {
    std::thread::sleep(Duration::from_millis(1));
}

#[test]
fn the_next_poll_sends_what_was_left() {
    let (_core, thread, queue_pair) = lent();
    assert_eq!(queue_pair.sent(), 0);
    thread.poll();
    thread.poll();
    assert_eq!(queue_pair.sent(), 1);
}

#[test]
fn the_thread_sends_what_was_left_if_no_poll_follows() {
    let (core, thread, queue_pair) = lent();
    core.owner.note_poll();
    await_check();
    turn(&thread, WakeUp::Deadline);
    assert_eq!(queue_pair.sent(), 0, "there was a poll since the last check");
    assert!(core.polls_send());
    await_check();
    turn(&thread, WakeUp::Deadline);
    assert_eq!(queue_pair.sent(), 1);
    assert!(!core.polls_send(), "the polls were late");
}

#[test]
fn the_thread_sends_what_was_left_when_a_waiter_claims_the_work() {
    let (core, thread, queue_pair) = lent();
    assert!(core.owner.pass(&[Owner::Thread], Owner::Waiter, &core));
    turn(&thread, WakeUp::Called);
    assert_eq!(queue_pair.sent(), 1);
    assert!(core.owner.pass(&[Owner::Waiter], Owner::Thread, &core));
    assert!(core.polls_send(), "the polls were not late");
}
