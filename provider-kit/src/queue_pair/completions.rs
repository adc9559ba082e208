//! Completion queues whose polls read the links of the attached queue pairs.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::plain_success::{PlainSuccess, TakeResult};
use dat_provider::{
    Completion, CompletionPoller, CompletionQueueParts, CompletionSink, Notify, SleepTarget,
};

use crate::completion_queue::{self, Cq, CqHandle, CqPoller};

/// A poller that reads links when the completion queue is empty.
struct LinkPoller {
    poller: CqPoller,
    queue: Arc<Cq>,
    /// True if a waiter was announced, so that the thread must read the links.
    is_awaited: bool,
    /// True if a waiter sleeps on the link of the only queue pair, or is about to.
    sleeps_on_link: bool,
}

/// Creates a completion queue.
///
/// # Errors
/// As [`completion_queue::create`].
pub(super) fn create(depth: usize, sink: Arc<dyn CompletionSink>) -> Result<CompletionQueueParts> {
    let (queue, poller) = completion_queue::create_with_poller(depth, sink)?;
    let poller =
        LinkPoller { poller, queue: Arc::clone(&queue), is_awaited: false, sleeps_on_link: false };
    Ok(CompletionQueueParts { queue: Arc::new(CqHandle(queue)), poller: Box::new(poller) })
}

impl CompletionPoller for LinkPoller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let count = self.poller.poll(into);
        if count == 0 && !into.is_empty() && self.queue.links.poll() {
            return self.poller.poll(into);
        }
        count
    }

    fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        match self.poller.take_success(into) {
            TakeResult::Nothing if self.queue.links.poll() => self.poller.take_success(into),
            taken => taken,
        }
    }

    // Does not read the links: a read that finds nothing before the consumer can reply would acknowledge the peer's
    // request in a separate frame.
    fn queued(&mut self) -> Option<usize> {
        self.poller.queued()
    }

    fn notify(&mut self, mode: Notify) -> bool {
        // The thread must read the links for a waiter.
        let is_awaited = mode != Notify::Off;
        if is_awaited != self.is_awaited {
            self.is_awaited = is_awaited;
            self.queue.links.await_completions(is_awaited);
        }
        self.poller.notify(mode)
    }

    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        let target = self.queue.links.begin_sleep(self.sleeps_on_link);
        if target.is_none() {
            // The queue may have got another link since the last sleep.
            self.end_sleep();
        } else {
            self.sleeps_on_link = true;
        }
        target
    }

    fn end_sleep(&mut self) {
        if std::mem::take(&mut self.sleeps_on_link) {
            self.queue.links.end_sleep();
        }
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        self.queue.links.poll();
        self.poller.resize(depth)
    }
}

impl Drop for LinkPoller {
    fn drop(&mut self) {
        self.end_sleep();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use dat_provider::CompletionFeatures;
    use dat_provider::error::Subtype;
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::completion_queue::IgnoringSink;
    use crate::completion_target::CompletionTarget;
    use crate::polled_links::quiet_link::QuietLink;
    use crate::polled_links::{PollInfo, PollOutcome, PolledLink, Signal};
    use crate::upcalls::Upcalls;

    /// A link on which a waiter can sleep.
    struct Sleepable {
        descriptor: Arc<OwnedFd>,
        is_slept_on: AtomicBool,
        /// Where each poll completes an operation.
        target: Option<CompletionTarget>,
    }

    impl Sleepable {
        fn new(target: Option<CompletionTarget>) -> Self {
            let descriptor = eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor");
            Self { descriptor: Arc::new(descriptor), is_slept_on: AtomicBool::new(false), target }
        }

        fn is_slept_on(&self) -> bool {
            self.is_slept_on.load(Ordering::Relaxed)
        }
    }

    impl PolledLink for Sleepable {
        fn poll(&self, _: PollInfo) -> PollOutcome {
            let mut upcalls = Upcalls::default();
            let features =
                CompletionFeatures { unsignalled: false, solicited: false, failed: false };
            if let Some(target) = &self.target {
                target.complete(Completion::default(), features, &mut upcalls);
            }
            upcalls.deliver();
            PollOutcome { is_active: self.target.is_some(), ..PollOutcome::default() }
        }

        fn give_back(&self) {}

        fn begin_sleep(&self, is_again: bool) -> Option<SleepTarget> {
            let was_slept_on = self.is_slept_on.swap(true, Ordering::Relaxed);
            assert_eq!(was_slept_on, is_again);
            Some(SleepTarget::Descriptor(Arc::clone(&self.descriptor) as _))
        }

        fn end_sleep(&self) {
            self.is_slept_on.store(false, Ordering::Relaxed);
        }

        fn signal(&self) -> Option<Signal> {
            None
        }

        fn join(&self, _: BorrowedFd<'_>, _: u64) -> bool {
            true
        }
    }

    #[test]
    fn a_waiter_sleeps_on_the_only_link_until_there_is_another_or_it_leaves() {
        let CompletionQueueParts { queue, mut poller } =
            create(32, Arc::new(IgnoringSink)).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype).expect("its own");
        let link = Arc::new(Sleepable::new(None));
        assert!(poller.begin_sleep().is_none(), "there is no link");
        let own = queue.links.add(Arc::clone(&link) as _);
        for _ in 0..2 {
            assert!(poller.begin_sleep().is_some() && link.is_slept_on());
        }
        let other = queue.links.add(Arc::new(QuietLink));
        assert!(poller.begin_sleep().is_none() && !link.is_slept_on());
        queue.links.remove(other);
        assert!(poller.begin_sleep().is_some());
        poller.end_sleep();
        assert!(!link.is_slept_on());
        assert!(poller.begin_sleep().is_some());
        queue.links.remove(own);
        assert!(!link.is_slept_on(), "the queue pair has left the completion queue");
        poller.end_sleep();
        queue.links.add(Arc::clone(&link) as _);
        assert!(poller.begin_sleep().is_some());
        drop(poller);
        assert!(!link.is_slept_on());
    }

    #[derive(Default)]
    struct CountingSink(AtomicU32);

    impl CompletionSink for CountingSink {
        fn completion_ready(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn completion_overflow(&self) {}
    }

    #[test]
    fn what_another_thread_reads_wakes_the_waiter_that_sleeps_on_the_link() {
        let sink = Arc::new(CountingSink::default());
        let CompletionQueueParts { queue, mut poller } =
            create(32, Arc::clone(&sink) as _).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype).expect("its own");
        let attachment = queue.attach();
        let target = CompletionTarget::new(0, Arc::clone(&queue), attachment.index());
        queue.links.add(Arc::new(Sleepable::new(Some(target))));
        assert!(poller.begin_sleep().is_some());
        poller.notify(Notify::Signalled);
        assert_eq!(poller.poll(&mut [Completion::default(); 2]), 1);
        assert_eq!(sink.0.load(Ordering::Relaxed), 1);
        poller.notify(Notify::Off);
        assert_eq!(poller.poll(&mut [Completion::default(); 2]), 1);
        assert_eq!(sink.0.load(Ordering::Relaxed), 1, "the waiter is awake");
    }

    #[test]
    fn completions_are_counted_without_reading_the_links() {
        let CompletionQueueParts { queue, mut poller } =
            create(32, Arc::new(IgnoringSink)).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype).expect("its own");
        queue.links.add(Arc::new(QuietLink));
        let attachment = queue.attach();
        let target = CompletionTarget::new(0, Arc::clone(&queue), attachment.index());
        let features = CompletionFeatures { unsignalled: false, solicited: false, failed: false };
        for count in 0..=20 {
            let expected = (count <= 8).then_some(count);
            assert_eq!(poller.queued(), expected, "more than eight are not counted");
            target.complete(Completion::default(), features, &mut Upcalls::default());
        }
        assert_eq!(queue.links.polls(), 0);
        assert_eq!(poller.poll(&mut [Completion::default(); 32]), 21);
        assert_eq!(poller.queued(), Some(0));
        assert_eq!(poller.poll(&mut [Completion::default()]), 0);
        assert_eq!(queue.links.polls(), 1, "an empty queue is polled");
    }
}
