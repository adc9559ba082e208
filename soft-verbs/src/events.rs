//! Queues of events with a descriptor that is readable while there are any.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use arrayvec::ArrayVec;
use dat_provider::WaiterProgress;
use dat_sync::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// A queue of events. The descriptor is an eventfd(2) that counts the queued events, so a program can wait for it with
/// poll(2) or epoll(7), and make it non-blocking with fcntl(2).
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    descriptor: OwnedFd,
    queued: Mutex<Queued<T>>,
}

#[derive(Debug)]
struct Queued<T> {
    events: VecDeque<T>,
    /// Number of waiting threads that make progress, and take an event before they sleep again. The descriptor does not
    /// count what they take.
    takers: usize,
    /// Number of events that the descriptor counts.
    counted: usize,
}

impl<T> EventQueue<T> {
    /// An empty queue.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn new() -> Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC)
            .map_err(|error| Error::system("create the descriptor of an event queue", error))?;
        let queued = Queued { events: VecDeque::new(), takers: 0, counted: 0 };
        Ok(Self { descriptor, queued: Mutex::new(queued) })
    }

    /// Appends an event.
    pub(crate) fn push(&self, event: T) {
        let mut queued = self.queued.lock();
        queued.events.push_back(event);
        self.count(&mut queued);
    }

    /// Makes the descriptor count the events again.
    fn count(&self, queued: &mut Queued<T>) {
        let wanted = queued.events.len().saturating_sub(queued.takers);
        // These calls fail only if the program has closed the descriptor; the events are then found without it.
        if let Some(more @ 1..) = wanted.checked_sub(queued.counted) {
            let _ = rustix::io::write(&self.descriptor, &(more as u64).to_ne_bytes());
        }
        for _ in wanted..queued.counted {
            let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
        }
        queued.counted = wanted;
    }

    /// Takes the oldest event, and waits for one if there is none and the descriptor blocks. While it waits, it makes the
    /// progress of the connections, if no other thread does, so that an arrival wakes one thread only. The event is noted before
    /// [`remove`](Self::remove) returns in another thread: what that destroys afterwards knows of it.
    ///
    /// # Errors
    /// `EAGAIN` if there is none and the descriptor is non-blocking, `EINTR` after a signal.
    pub(crate) fn next(
        &self,
        note: impl Fn(&T),
        progress: Option<&dyn WaiterProgress>,
    ) -> Result<T> {
        if let Some(event) = self.take(&note) {
            return Ok(event);
        }
        let flags = fcntl_getfl(&self.descriptor)
            .map_err(|error| Error::system("read the flags of the descriptor", error))?;
        if flags.contains(OFlags::NONBLOCK) {
            return Err(Error::NO_EVENT);
        }
        let mut claim = progress.filter(|progress| progress.claim());
        let found = self.wait(note, &mut claim);
        if let Some(claim) = claim {
            claim.release();
        }
        found
    }

    /// Waits for an event.
    fn wait(&self, note: impl Fn(&T), claim: &mut Option<&dyn WaiterProgress>) -> Result<T> {
        loop {
            let of_claim = claim.map(WaiterProgress::descriptor);
            let mut descriptors: ArrayVec<_, 2> = ArrayVec::new();
            descriptors.push(PollFd::new(&self.descriptor, PollFlags::IN));
            descriptors.extend(of_claim.iter().map(|it| PollFd::new(it, PollFlags::IN)));
            poll(&mut descriptors, None)
                .map_err(|error| Error::system("wait for an event", error))?;
            if descriptors[0].revents().contains(PollFlags::NVAL) {
                return Err(Error::system("wait for an event", Errno::BADF));
            }
            let is_readable = !descriptors[0].revents().is_empty();
            self.queued.lock().takers += 1;
            // If another thread makes the progress, it may be in an upcall for long.
            if let Some(lost) = claim.take_if(|claim| !is_readable && !claim.advance()) {
                lost.release();
            }
            let mut queued = self.queued.lock();
            queued.takers -= 1;
            if let Some(event) = self.take_from(&mut queued, &note) {
                return Ok(event);
            }
        }
    }

    /// Takes the oldest event, if there is one.
    pub(crate) fn take(&self, note: impl Fn(&T)) -> Option<T> {
        self.take_from(&mut self.queued.lock(), note)
    }

    fn take_from(&self, queued: &mut Queued<T>, note: impl Fn(&T)) -> Option<T> {
        let event = queued.events.pop_front();
        event.iter().for_each(note);
        self.count(queued);
        event
    }

    /// Takes the events for which that is true, and keeps the order of all.
    pub(crate) fn extract(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut queued = self.queued.lock();
        let (wanted, others): (VecDeque<T>, _) =
            std::mem::take(&mut queued.events).into_iter().partition(is_wanted);
        queued.events = others;
        self.count(&mut queued);
        wanted.into()
    }

    /// Drops the events that belong to an object which is destroyed.
    pub(crate) fn remove(&self, belongs: impl Fn(&T) -> bool) {
        let mut queued = self.queued.lock();
        queued.events.retain(|event| !belongs(event));
        self.count(&mut queued);
    }
}

impl<T> AsFd for EventQueue<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::event::Timespec;

    use super::*;

    /// Progress whose link always has something.
    struct Progress {
        link: OwnedFd,
        /// The events of each pass; another thread makes the progress if there are none.
        found: Vec<u32>,
        events: Arc<EventQueue<u32>>,
        claims: AtomicU32,
        passes: AtomicU32,
        releases: AtomicU32,
    }

    impl WaiterProgress for Progress {
        fn claim(&self) -> bool {
            self.claims.fetch_add(1, Ordering::Relaxed);
            true
        }

        fn release(&self) {
            self.releases.fetch_add(1, Ordering::Release);
        }

        fn descriptor(&self) -> BorrowedFd<'_> {
            self.link.as_fd()
        }

        fn advance(&self) -> bool {
            self.passes.fetch_add(1, Ordering::Relaxed);
            for (before, event) in self.found.iter().enumerate() {
                assert_eq!(is_readable(&self.events), before > 1, "the waiter takes the first one");
                self.events.push(*event);
            }
            !self.found.is_empty()
        }
    }

    fn progress(found: Vec<u32>) -> Progress {
        let link = eventfd(1, EventfdFlags::CLOEXEC).expect("a descriptor");
        let events = Arc::new(EventQueue::new().expect("a descriptor"));
        let [claims, passes, releases] = std::array::from_fn(|_| AtomicU32::new(0));
        Progress { link, found, events, claims, passes, releases }
    }

    fn is_readable(events: &EventQueue<u32>) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&events, PollFlags::IN)], Some(&now)).expect("no signal") == 1
    }

    #[test]
    fn the_descriptor_counts_the_events_that_a_waiter_has_found_and_does_not_take() {
        let progress = progress(vec![1, 2, 3]);
        let events = &progress.events;
        let next = || events.next(|_| (), Some(&progress)).expect("an event");
        for expected in 1..=3 {
            assert_eq!(next(), expected);
            assert_eq!(is_readable(events), expected < 3);
        }
        assert_eq!(progress.passes.load(Ordering::Relaxed), 1, "the others were there");
        assert_eq!(progress.releases.load(Ordering::Relaxed), 1);
    }

    /// That thread may be in an upcall for long, and the waiter would not sleep.
    #[test]
    fn a_waiter_leaves_the_progress_to_the_thread_that_makes_it() {
        let progress = progress(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while progress.releases.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                progress.events.push(7);
            });
            assert_eq!(progress.events.next(|_| (), Some(&progress)).expect("an event"), 7);
        });
        let [claims, passes] =
            [&progress.claims, &progress.passes].map(|it| it.load(Ordering::Relaxed));
        assert_eq!((claims, passes), (1, 1));
    }
}
