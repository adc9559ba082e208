//! What the thread leaves to polls: the requests that posts have left, and its own work.

use std::time::Duration;

use super::*;
use crate::completion_queue::Cq;
use crate::polled_links::{PollInfo, PollOutcome, PolledLink, Signal};
use crate::progress::driven::Driven;
use crate::progress::shared::tests::{Leaving, NoLinks, NoSink};
use crate::progress_mode::ProgressMode;

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

#[test]
fn polls_that_find_nothing_for_long_do_the_work_of_the_thread_while_they_go_on() {
    let transport = Box::new(NoLinks { mode: ProgressMode::Sleep });
    let (core, thread) = create(transport, Arc::new(NoSink)).expect("descriptors");
    (1..POLLS_PER_REQUEST).for_each(|_| thread.poll());
    turn(&thread, WakeUp::Called);
    assert_eq!(core.owner.get(), Owner::Thread);
    thread.poll();
    turn(&thread, WakeUp::Called);
    assert_eq!(core.owner.get(), Owner::Polls);
    for is_last in [false, false, false, true] {
        await_check();
        turn(&thread, WakeUp::Deadline);
        assert_eq!(core.owner.get() == Owner::Thread, is_last);
    }
}

/// It could lend a link, and no thread would check that lease.
#[test]
fn a_poll_from_which_the_thread_has_taken_the_work_back_does_nothing() {
    let transport = Box::new(NoLinks { mode: ProgressMode::Sleep });
    let (core, thread) = create(transport, Arc::new(NoSink)).expect("descriptors");
    turn(&thread, WakeUp::Called);
    let queue_pair: Arc<dyn Driven> = Arc::new(Leaving::default());
    let due = clock::now() + Duration::from_secs(1);
    core.submit_without_wakeup(Job::Retry(due, Arc::downgrade(&queue_pair)));
    // The poll has read the owner before the thread changed it.
    thread.poll_links(1);
    assert!(!thread.driver.lock().needs_thread(), "the thread sleeps longer");
    assert!(core.owner.pass(&[Owner::Thread], Owner::Polls, &core));
    thread.poll_links(1);
    assert!(thread.driver.lock().needs_thread());
}

/// A link over which something arrives before each poll.
struct Arriving;

impl PolledLink for Arriving {
    fn poll(&self, _: PollInfo) -> PollOutcome {
        PollOutcome { is_active: true, ..PollOutcome::default() }
    }

    fn give_back(&self) {}

    fn signal(&self) -> Option<Signal> {
        None
    }

    fn join(&self, _: BorrowedFd<'_>, _: u64) -> bool {
        true
    }
}

/// They make the lease worthwhile, so that no pause follows when the consumer computes.
#[test]
fn arrivals_over_a_link_that_is_lent_to_polls_count() {
    let transport = Box::new(NoLinks { mode: ProgressMode::Sleep });
    let (core, thread) = create(transport, Arc::new(NoSink)).expect("descriptors");
    let queue = Cq::discarding();
    queue.links.add(Arc::new(Arriving));
    core.submit_without_wakeup(Job::PollQueue(Arc::downgrade(&queue)));
    turn(&thread, WakeUp::Called);
    assert!(core.owner.pass(&[Owner::Thread], Owner::Polls, &core));
    thread.poll();
    assert_eq!(thread.driver.lock().arrivals, 0, "polls of other links may have found nothing");
    assert!(queue.links.lend());
    thread.poll();
    thread.poll();
    assert_eq!(thread.driver.lock().arrivals, 2);
}

#[test]
fn a_thread_that_spins_leaves_nothing_to_polls_that_find_nothing() {
    let transport = Box::new(NoLinks { mode: ProgressMode::Spin });
    let (core, thread) = create(transport, Arc::new(NoSink)).expect("descriptors");
    (0..POLLS_PER_REQUEST).for_each(|_| thread.poll());
    turn(&thread, WakeUp::Called);
    assert_eq!(core.owner.get(), Owner::Thread);
}
