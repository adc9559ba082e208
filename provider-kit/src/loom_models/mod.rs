//! Models of the data that threads share without a lock; `.ci/loom` tries every interleaving.

mod arming;
mod memory_behind;

use std::sync::Arc;

use dat_provider::error::Subtype;
use dat_provider::{Completion, CompletionFeatures, CompletionQueueParts, Segment};
use loom::thread;

use crate::completion_queue::{self, Cq, IgnoringSink};
use crate::completion_ring::{CompletionRing, Entry};
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::polled_links::leases::Leases;
use crate::receive_ring::{PostedReceive, ReceiveRing};
use crate::receive_wakeup::{PostAction, ReceiveWakeup};
use crate::sync::BiasedLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::upcalls::Upcalls;

/// A model with many steps: only interleavings with at most three preemptions are tried.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn entry(cookie: u64) -> Entry {
    let completion = Completion { cookie, length: cookie * 3, ..Completion::default() };
    Entry { completion, work_queue: 1 }
}

#[test]
fn the_poller_gets_complete_completions_in_order_and_none_twice() {
    large_model(|| {
        const COUNT: u64 = 3;
        // Two slots, so that one of them is reused.
        let (slots, taken) = (CompletionRing::new(2).expect("memory"), Arc::new(AtomicU64::new(0)));
        let producer = {
            let (slots, taken) = (slots.clone(), Arc::clone(&taken));
            thread::spawn(move || {
                for position in 0..COUNT {
                    while position >= taken.load(Ordering::Acquire) + 2 {
                        thread::yield_now();
                    }
                    assert!(slots.fill(position, &entry(position)));
                }
            })
        };
        for position in 0..COUNT {
            let found = loop {
                match slots.get(position) {
                    Some(found) => break found,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(found, entry(position));
            taken.store(position + 1, Ordering::Release);
        }
        producer.join().expect("no panic");
        assert_eq!(slots.get(COUNT), None);
    });
}

/// A sender that finds no receive, and the poster of one: the direction with its waiting request.
struct Direction {
    ring: ReceiveRing,
    wakeup: ReceiveWakeup,
    /// The next receive to take, and whether a request waits for it.
    state: BiasedLock<(u64, u32)>,
    matched: AtomicU64,
}

impl Direction {
    fn new() -> Self {
        Self {
            ring: ReceiveRing::new(2, 1).expect("memory"),
            wakeup: ReceiveWakeup::new(),
            state: BiasedLock::new((0, 0)),
            matched: AtomicU64::new(0),
        }
    }

    /// As a send does.
    fn send(&self) {
        let mut state = self.state.lock();
        if state.1 > 0 {
            state.1 += 1;
        } else if self.ring.is_filled(state.0) || self.stall(state.0) {
            self.take(&mut state.0);
        } else {
            state.1 += 1;
        }
    }

    fn stall(&self, head: u64) -> bool {
        self.wakeup.request();
        let is_filled = self.ring.is_filled(head);
        if is_filled {
            self.wakeup.settle();
        }
        is_filled
    }

    fn take(&self, head: &mut u64) {
        let (posted, count, first) = self.ring.get(*head).expect("it was seen filled");
        assert_eq!((posted.cookie, count, first.length), (*head, 1, *head + 64));
        *head += 1;
        self.matched.fetch_add(1, Ordering::Relaxed);
    }

    /// As the post of a receive does.
    fn post(&self, position: u64) {
        let posted = PostedReceive {
            cookie: position,
            length: position + 64,
            unsignalled: false,
            checked: 9,
        };
        let segment = Segment { address: 1, length: position + 64, key: 2 };
        assert!(self.ring.fill(position, posted, &[segment]));
        if !self.wakeup.is_requested() {
            return;
        }
        let action = self.wakeup.action();
        if action == PostAction::Nothing {
            return;
        }
        let mut state = self.state.lock();
        while state.1 > 0 && self.ring.is_filled(state.0) {
            state.1 -= 1;
            self.take(&mut state.0);
        }
        if state.1 == 0 {
            self.wakeup.settle();
        }
        if action == PostAction::Rest {
            self.wakeup.rest();
        }
    }
}

#[test]
fn a_waiting_request_gets_the_next_receive() {
    large_model(|| {
        let direction = Arc::new(Direction::new());
        let sender = {
            let direction = Arc::clone(&direction);
            thread::spawn(move || (0..2).for_each(|_| direction.send()))
        };
        (0..2).for_each(|position| direction.post(position));
        sender.join().expect("no panic");
        assert_eq!(direction.matched.load(Ordering::Relaxed), 2, "a request or a receive is lost");
    });
}

/// The credits of a work queue with one operation, which has completed.
fn used_credits(queue: &Arc<Cq>) -> QueueCredits {
    let attachment = queue.attach();
    let target = CompletionTarget::new(7, Arc::clone(queue), attachment.index());
    let mut credits = QueueCredits::new(1);
    assert!(credits.attach(attachment, 0).is_empty());
    assert!(credits.try_take());
    let features = CompletionFeatures { unsignalled: false, solicited: false, failed: false };
    target.complete(Completion::default(), features, &mut Upcalls::default());
    credits
}

#[test]
fn an_index_is_reused_only_after_its_credits_were_counted() {
    large_model(|| {
        let CompletionQueueParts { queue, mut poller } =
            completion_queue::create(2, Arc::new(IgnoringSink)).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype)
            .expect("of this provider");
        let first = used_credits(&queue);
        let taker = thread::spawn(move || {
            for _ in 0..2 {
                while poller.poll(&mut [Completion::default()]) == 0 {
                    thread::yield_now();
                }
            }
            poller
        });
        // The second work queue may reuse the index of the first one, or get another.
        drop(first);
        let second = used_credits(&queue);
        let poller = taker.join().expect("no panic");
        assert_eq!(second.in_use(), 0, "its own operation was counted, and no other");
        drop(poller);
    });
}

/// A link that completes through two completion queues, and what the engine knows about their leases.
struct LentLink {
    queues: [Leases; 2],
    /// True if the link is lent.
    state: BiasedLock<bool>,
}

impl LentLink {
    fn new() -> Self {
        Self { queues: [Leases::new(), Leases::new()], state: BiasedLock::new(false) }
    }

    /// As the thread of the engine does: it lends the link to both pollers, or to neither.
    fn lend(&self) -> bool {
        let mut is_lent = self.state.lock();
        if !*is_lent {
            let [first, second] = &self.queues;
            *is_lent = first.lend() && {
                let is_lent = second.lend();
                if !is_lent {
                    first.take_back();
                }
                is_lent
            };
        }
        *is_lent
    }

    fn give_back(&self) {
        if std::mem::take(&mut *self.state.lock()) {
            self.queues.iter().for_each(Leases::take_back);
        }
    }

    /// As a waiter does before it sleeps.
    fn begin_sleep(&self, queue: usize) {
        if self.queues[queue].begin_sleep() {
            self.give_back();
        }
    }
}

#[test]
fn no_link_is_lent_to_a_poller_that_sleeps() {
    large_model(|| {
        let link = Arc::new(LentLink::new());
        let engine = {
            let link = Arc::clone(&link);
            thread::spawn(move || {
                for _ in 0..2 {
                    link.lend();
                }
            })
        };
        let other = {
            let link = Arc::clone(&link);
            thread::spawn(move || {
                link.begin_sleep(1);
                link.queues[1].end_sleep();
            })
        };
        link.begin_sleep(0);
        assert!(!*link.state.lock(), "the waiter sleeps, and the thread does not read the link");
        engine.join().expect("no panic");
        other.join().expect("no panic");
        assert!(!*link.state.lock(), "lent during the sleep");
        let is_left = link.queues.iter().any(Leases::begin_sleep);
        assert!(!is_left, "a lease was not taken back");
        link.queues.iter().for_each(Leases::end_sleep);
        assert!(link.lend());
    });
}
