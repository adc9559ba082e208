//! The state that an adapter's objects share with its thread `dat-progress`.

use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use dat_provider::error::Result;
use dat_provider::{AdapterSink, AsyncUpcall};
use dat_sync::clock;
use dat_sync::descriptors::{WatchSets, is_lost};
use dat_sync::epoll;
use dat_sync::{Mutex, SwapWord};
use rustix::event::Timespec;
use rustix::io::Errno;

use super::driven::Driven;
use super::failure::{Failure, Successor};
use super::incoming::ListenerState;
use super::lingering::{CLOSING_CHECK_INTERVAL, Closing, LingeringLink, WatchedIn};
use super::owner::{Owner, Ownership};
use super::post_lease::{LeftPosts, Posted};
use crate::completion_queue::Cq;
use crate::fork::OwnerProcess;
use crate::link::{Liveness, Reader};
use crate::protocol::REPLY_PATIENCE;
use crate::transport::Transport;
use crate::upcalls::Upcalls;

/// The objects' reference to the shared state. Dropping the last one ends the thread.
pub(crate) struct Core(Arc<Shared>);

/// The shared state.
pub(crate) struct Shared {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) owner_process: OwnerProcess,
    jobs: Mutex<Jobs>,
    /// 1 if the thread was woken since it last looked for jobs, the end and a failure.
    signalled: SwapWord,
    is_closed: AtomicBool,
    /// The next token.
    tokens: AtomicU64,
    sets: WatchSets<3>,
    pub(super) owner: Ownership,
    pub(super) left: LeftPosts,
    /// True if every processor of the thread was busy at its last check.
    is_busy: AtomicBool,
    /// True once a thread has detected the failure.
    is_failing: AtomicBool,
    failure: Failure,
    /// Receives the failure.
    sink: Arc<dyn AdapterSink>,
    /// Starts the replacement thread after a failure.
    thread: OnceLock<Weak<dyn Successor>>,
}

/// The set on which the thread sleeps. It contains the set of the links, unless a waiter sleeps on that one.
const THREAD_SLEEP: usize = 0;
/// The set of the links and listeners.
const LINKS_SET: usize = 1;
/// The set of the links that only wait for their peers to close. A ready one wakes no thread, because it is not urgent.
const CLOSING_SET: usize = 2;

/// The jobs that the thread has not taken.
#[derive(Default)]
struct Jobs {
    list: Vec<Job>,
    /// When the thread takes jobs anyway; `None` if it sleeps without a limit.
    thread_due: Option<Instant>,
    /// When the thread must take them.
    take_by: Option<Instant>,
}

/// A task for the driver. Tokens identify the descriptors that it watches.
pub(crate) enum Job {
    /// The link of a queue pair, whose descriptor is being watched, and its liveness check, if any.
    Watch(u64, Weak<dyn Driven>, Option<Weak<dyn Liveness>>),
    /// Progress a queue pair whose link holds received frames that have not been read.
    Progress(Weak<dyn Driven>),
    /// Acknowledge at this time the requests of the peer that a waiter has executed, unless a reply has done so.
    AwaitReply(Instant, Weak<dyn Driven>),
    /// Send the frames that a queue pair holds, and execute the requests that it has left to polls.
    SendHeld(Weak<dyn Driven>),
    /// Let posts leave requests to polls.
    LendPosts,
    /// Leave the work to polls of dispatchers for connection events, which have found nothing for long.
    LendToPolls,
    /// Such polls read the links of this completion queue.
    PollQueue(Weak<Cq>),
    /// Check after this time that the consumer of a queue pair still polls.
    CheckLease(Weak<dyn Driven>, Duration),
    /// Progress a queue pair at this time.
    Retry(Instant, Weak<dyn Driven>),
    /// Make upcalls on behalf of a poller.
    Deliver(Weak<dyn Driven>, Upcalls),
    /// Accept links for a listener.
    Listen(Arc<ListenerState>),
    /// Close a link once its last bytes are written.
    Linger(u64, LingeringLink),
    /// Stop watching a link or listener.
    Forget(u64),
}

/// The cause of a wake-up of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeUp {
    /// Another thread has called it, or a signal has interrupted its sleep.
    Called,
    /// A link is ready.
    Link,
    /// The deadline has expired.
    Deadline,
}

/// The token of the wake-up descriptor.
const WAKEUP: u64 = 0;
const LINKS: u64 = 1;

/// How often the thread takes the jobs of waiters that await replies: an acknowledgement whose reply does not come is sent
/// this much later.
pub(super) const REPLY_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// Maximum sleep of the thread, after which it checks whether the program has closed its descriptors.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// After this time, a thread that spins checks its processors, and whether the program has closed its descriptors.
const SPIN_CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Core {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Deref for Core {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Before the swap of `wake`: the thread sees it, or is woken.
        self.is_closed.store(true, Ordering::Release);
        self.wake();
    }
}

impl Shared {
    /// # Errors
    /// The process or the system is out of descriptors.
    pub(crate) fn new(
        transport: Box<dyn Transport>,
        sink: Arc<dyn AdapterSink>,
    ) -> rustix::io::Result<Self> {
        let sets = WatchSets::new()?;
        let (sleep, links) = (sets.set(THREAD_SLEEP), sets.set(LINKS_SET));
        epoll::add(sleep, links, epoll::EventData::new_u64(LINKS), epoll::EventFlags::IN)?;
        Ok(Self {
            transport,
            owner_process: OwnerProcess::current(),
            jobs: Mutex::default(),
            signalled: SwapWord::new(0),
            is_closed: AtomicBool::new(false),
            tokens: AtomicU64::new(0),
            sets,
            owner: Ownership::of_thread(),
            left: LeftPosts::default(),
            is_busy: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            failure: Failure::default(),
            sink,
            thread: OnceLock::new(),
        })
    }

    /// The descriptor that is readable while a link is ready.
    pub(crate) fn links(&self) -> BorrowedFd<'_> {
        self.sets.set(LINKS_SET)
    }

    /// As [`links`](Self::links), for the links that their peers must close.
    pub(crate) fn closing(&self) -> BorrowedFd<'_> {
        self.sets.set(CLOSING_SET)
    }

    /// Sets the thread that must be replaced if the adapter fails.
    pub(super) fn set_thread(&self, thread: Weak<dyn Successor>) {
        let _ = self.thread.set(thread);
    }

    /// Refuses a call in a child of `fork`, and after a failure.
    pub(crate) fn check(&self) -> Result<()> {
        self.owner_process.check()?;
        self.failure.error().map_or(Ok(()), Err)
    }

    /// A call has detected that the program has closed a descriptor of the adapter. The caller may hold locks, so the
    /// driver does the rest.
    #[cold]
    pub(crate) fn fail(&self, errno: Errno) {
        if self.owner_process.is_current() && !self.is_failing.swap(true, Ordering::AcqRel) {
            // Before the failure is visible, so that the first thread does not sleep as its successor does.
            if let Some(thread) = self.thread.get().and_then(Weak::upgrade) {
                thread.succeed();
            }
            self.failure.begin(errno);
            self.wake();
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.has_happened()
    }

    /// Reports the failure to the core.
    pub(crate) fn report_failure(&self) {
        self.sink.async_event(AsyncUpcall::Catastrophic);
    }

    /// Fails the adapter if the result means that a descriptor was closed. Returns true if the call succeeded.
    fn note<T>(&self, result: rustix::io::Result<T>) -> bool {
        match result {
            Ok(_) => true,
            Err(errno) => {
                if is_lost(errno) {
                    self.fail(errno);
                }
                false
            }
        }
    }

    /// Fails the adapter if the program has closed its sets of links.
    pub(crate) fn verify(&self) {
        let _ = self.note(self.sets.check(LINKS_SET)) && self.note(self.sets.check(CLOSING_SET));
    }

    /// Returns true if the thread would preempt other threads.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    pub(super) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// Returns a token that no other link or listener of the adapter has.
    pub(crate) fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a job to the thread. In a child of `fork`, which has no such thread, it is dropped.
    pub(crate) fn submit(&self, job: Job) {
        if self.owner_process.is_current() {
            self.jobs.lock().list.push(job);
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        if self.signalled.swap(1) == 0 {
            if self.has_failed() {
                self.failure.wake();
            } else {
                self.note(self.sets.wake(THREAD_SLEEP, WAKEUP));
            }
        }
    }

    /// Submits a job that can wait until the driver wakes up for another reason: its descriptor is not watched before
    /// the job is submitted, or is not watched any more.
    pub(crate) fn submit_without_wakeup(&self, job: Job) {
        if self.owner_process.is_current() {
            self.jobs.lock().list.push(job);
        }
    }

    /// A request is posted whose completion the consumer does not await, and which polls could send (`may_wait`). Returns
    /// true if it is not the first one since the last poll.
    #[inline]
    pub(crate) fn note_post(&self, may_wait: bool) -> bool {
        let posted = self.left.note_post(self.owner.polls(), may_wait);
        if posted == Posted::Begins {
            self.submit(Job::LendPosts);
        }
        posted == Posted::Follows
    }

    /// Returns true if the next poll sends the requests of a queue pair that is passed to
    /// [`leave_to_polls`](Self::leave_to_polls).
    #[inline]
    pub(crate) fn polls_send(&self) -> bool {
        self.left.is_lent() && self.owner.get() != Owner::Waiter
    }

    /// Returns true if polls of dispatchers for connection events do the work of the thread.
    #[inline]
    pub(crate) fn is_polled(&self) -> bool {
        self.owner.get() == Owner::Polls
    }

    /// Leaves the held requests of a queue pair to the next poll, or to the thread if polls do not follow.
    pub(crate) fn leave_to_polls(&self, queue_pair: Weak<dyn Driven>) {
        self.submit_without_wakeup(Job::SendHeld(queue_pair));
        self.left.set_left();
        // The job is in the list, so the polls, or this call of the thread, or the waiter run it.
        if !self.left.is_lent() || self.owner.get() == Owner::Waiter {
            self.wake();
        }
    }

    /// Submits a link that is being closed, whose descriptor is watched.
    fn submit_lingering(&self, token: u64, lingering: LingeringLink) {
        let by = clock::now() + CLOSING_CHECK_INTERVAL;
        self.submit_by(Job::Linger(token, lingering), by);
    }

    /// Submits a queue pair whose acknowledgements wait for the reply of its consumer.
    pub(crate) fn submit_reply_check(&self, queue_pair: Weak<dyn Driven>) {
        let now = clock::now();
        self.submit_by(
            Job::AwaitReply(now + REPLY_PATIENCE, queue_pair),
            now + REPLY_CHECK_INTERVAL,
        );
    }

    /// Submits a job that the thread must take by this time. Wakes the thread only if it would take it later.
    fn submit_by(&self, job: Job, by: Instant) {
        if self.owner_process.is_current() {
            let mut jobs = self.jobs.lock();
            jobs.list.push(job);
            jobs.take_by = Some(jobs.take_by.map_or(by, |other| other.min(by)));
            let is_in_time = jobs.thread_due.is_some_and(|due| due <= by);
            drop(jobs);
            if !is_in_time {
                self.wake();
            }
        }
    }

    /// The thread is about to sleep until `due`. Returns false if it must first take jobs.
    pub(crate) fn begin_sleep(&self, due: Option<Instant>, now: Instant) -> bool {
        let mut jobs = self.jobs.lock();
        jobs.thread_due = due;
        let latest = jobs.take_by.unwrap_or(now + CLOSING_CHECK_INTERVAL);
        jobs.list.is_empty() || due.is_some_and(|due| due <= latest)
    }

    /// Sleeps until the deadline, a wake-up, or a ready link on which no waiter sleeps. Returns the cause.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> WakeUp {
        let left = deadline.map(|due| due.saturating_duration_since(clock::now()));
        let is_longest = left.is_none_or(|left| left > LONGEST_SLEEP);
        let left = if is_longest { LONGEST_SLEEP } else { left.unwrap_or_default() };
        let timeout = Timespec::try_from(left).ok();
        let mut events = [MaybeUninit::uninit(); 2];
        let set = self.sets.set(THREAD_SLEEP);
        let ready = match epoll::wait(set, &mut events, timeout.as_ref()) {
            Ok(ready) => ready,
            // A signal has probably interrupted the call.
            Err(errno) => {
                self.note::<()>(Err(errno));
                return WakeUp::Called;
            }
        };
        if ready.is_empty() && is_longest {
            self.verify();
        }
        let is_woken = ready.iter().any(|event| event.data.u64() == WAKEUP);
        if is_woken {
            self.take_signal();
            WakeUp::Called
        } else if ready.is_empty() {
            WakeUp::Deadline
        } else {
            WakeUp::Link
        }
    }

    /// As [`sleep`](Self::sleep), but spins if the transport requests it: it only asks the kernel what is ready.
    pub(super) fn await_work(&self, deadline: Option<Instant>) -> WakeUp {
        if !self.transport.progress_mode().spins() {
            return self.sleep(deadline);
        }
        let checks_at = clock::now() + SPIN_CHECK_INTERVAL;
        let end = deadline.map_or(checks_at, |due| due.min(checks_at));
        loop {
            let now = clock::now();
            let why = self.sleep(Some(now));
            if why != WakeUp::Deadline || now >= end {
                if end == checks_at && now >= end {
                    self.verify();
                }
                return why;
            }
            // The thread must not keep a processor that others need.
            std::thread::yield_now();
        }
    }

    /// As [`sleep`](Self::sleep), after a failure.
    pub(crate) fn sleep_after_failure(&self, deadline: Option<Instant>) {
        self.failure.sleep(deadline, || self.take_signal());
    }

    /// Returns true if the thread was called since the last call of this function.
    pub(super) fn take_signal(&self) -> bool {
        self.signalled.swap(0) != 0
    }

    /// Sets whether ready links wake the thread. Returns true on success.
    pub(crate) fn wake_thread_for_links(&self, wakes: bool) -> bool {
        if self.has_failed() {
            return false;
        }
        let interest = if wakes { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
        let (sleep, links) = (self.sets.set(THREAD_SLEEP), self.sets.set(LINKS_SET));
        self.note(epoll::modify(sleep, links, epoll::EventData::new_u64(LINKS), interest))
    }

    /// Takes the jobs submitted since the last call.
    pub(crate) fn take_jobs(&self) -> Vec<Job> {
        let mut jobs = self.jobs.lock();
        jobs.take_by = None;
        std::mem::take(&mut jobs.list)
    }

    /// Returns true if all objects are gone and all jobs are taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire) && self.jobs.lock().list.is_empty()
    }

    /// Makes the driver wait for a descriptor, which may belong to an attempt to connect.
    ///
    /// # Errors
    /// The system has no memory for it, or the adapter has failed.
    pub(crate) fn watch(
        &self,
        descriptor: BorrowedFd<'_>,
        token: u64,
        interest: epoll::EventFlags,
    ) -> rustix::io::Result<()> {
        if self.has_failed() {
            self.wake();
            return Err(Errno::BADF);
        }
        let data = epoll::EventData::new_u64(token);
        let result = match epoll::add(self.links(), descriptor, data, interest) {
            Err(Errno::EXIST) => epoll::modify(self.links(), descriptor, data, interest),
            added => added,
        };
        self.note(result);
        result
    }

    /// Changes the events that the driver awaits on a watched descriptor. This takes no memory.
    pub(crate) fn change_interest(
        &self,
        descriptor: BorrowedFd<'_>,
        token: u64,
        interest: epoll::EventFlags,
    ) {
        if !self.has_failed() {
            let data = epoll::EventData::new_u64(token);
            self.note(epoll::modify(self.links(), descriptor, data, interest));
        }
    }

    /// Waits for the next event that a closing link needs. Returns false if the system has no memory for it: the link
    /// is then closed at once.
    pub(super) fn watch_lingering(&self, token: u64, lingering: &mut LingeringLink) -> bool {
        let Some(descriptor) = lingering.reader.descriptor() else { return true };
        if !lingering.awaits_close() {
            let is_watched = lingering.watched_in == WatchedIn::Links;
            lingering.watched_in = WatchedIn::Links;
            return is_watched || self.watch(descriptor, token, lingering.interest()).is_ok();
        }
        if lingering.watched_in != WatchedIn::Closing {
            self.forget_lingering(lingering);
            let data = epoll::EventData::new_u64(token);
            lingering.watched_in = WatchedIn::Closing;
            let interest = epoll::EventFlags::IN;
            return self.note(epoll::add(self.closing(), descriptor, data, interest));
        }
        true
    }

    /// Stops the driver from waiting for a closing link.
    pub(super) fn forget_lingering(&self, lingering: &LingeringLink) {
        let set = match lingering.watched_in {
            WatchedIn::Nothing => return,
            WatchedIn::Links => self.links(),
            WatchedIn::Closing => self.closing(),
        };
        self.forget(set, lingering.reader.descriptor());
    }

    /// Stops the driver from waiting for a link.
    pub(crate) fn forget_link(&self, reader: &dyn Reader) {
        self.forget(self.links(), reader.descriptor());
    }

    /// Stops the driver from waiting for a descriptor, which is about to be closed.
    pub(crate) fn forget_descriptor(&self, descriptor: BorrowedFd<'_>) {
        self.forget(self.links(), Some(descriptor));
    }

    /// A closed descriptor stays in the set while another process has the file open, and would wake the driver
    /// repeatedly.
    fn forget(&self, set: BorrowedFd<'_>, descriptor: Option<BorrowedFd<'_>>) {
        let Some(descriptor) = descriptor.filter(|_| !self.has_failed()) else { return };
        match epoll::delete(set, descriptor) {
            // It was not watched.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => _ = self.note::<()>(Err(errno)),
        }
    }

    /// Closes a link after its last frame, once the peer has closed it too.
    pub(crate) fn close(&self, closing: Closing) {
        let Closing { token, reader, link, last } = closing;
        if self.has_failed() {
            return self.submit_without_wakeup(Job::Forget(token));
        }
        let (writer, last) = link.write_last(last);
        let mut lingering = LingeringLink::new(reader, writer, last);
        // Before the shutdown, which would wake the thread needlessly.
        self.forget_link(&*lingering.reader);
        if lingering.advance() && self.watch_lingering(token, &mut lingering) {
            self.submit_lingering(token, lingering);
        } else {
            self.submit_without_wakeup(Job::Forget(token));
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
pub(super) mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::progress::driven::{Driven, LinkStatus};
    use crate::progress::event_order::EventOrder;
    use crate::progress_mode::ProgressMode;
    use crate::transport::{Acceptor, Attempt, ConnectError};

    pub(in super::super) struct NoLinks {
        pub(in super::super) mode: ProgressMode,
    }

    pub(in super::super) struct NoSink;

    impl AdapterSink for NoSink {
        fn async_event(&self, _: AsyncUpcall) {}
    }

    impl Transport for NoLinks {
        fn connect(&self, _: IpAddr, _: u64) -> std::result::Result<Attempt, ConnectError> {
            Err(ConnectError::Refused)
        }

        fn listen(&self, _: Option<u64>) -> Result<Box<dyn Acceptor>> {
            Err(dat_provider::unsupported("listening"))
        }

        fn progress_mode(&self) -> ProgressMode {
            self.mode
        }
    }

    /// A queue pair whose posts leave requests to polls.
    #[derive(Default)]
    pub(in super::super) struct Leaving {
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
        pub(in super::super) fn sent(&self) -> u32 {
            self.sent.load(Ordering::Relaxed)
        }
    }

    fn shared_of(mode: ProgressMode) -> Shared {
        Shared::new(Box::new(NoLinks { mode }), Arc::new(NoSink)).expect("descriptors")
    }

    pub(in super::super) fn shared() -> Shared {
        shared_of(ProgressMode::Sleep)
    }

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(2))
    }

    #[test]
    fn the_thread_wakes_up_once_for_each_wake_up_and_at_its_deadline() {
        let shared = shared();
        for _ in 0..3 {
            shared.wake();
            shared.wake();
            assert_eq!(shared.sleep(None), WakeUp::Called);
            let deadline = soon();
            assert_eq!(shared.sleep(deadline), WakeUp::Deadline);
            assert!(deadline.is_some_and(|deadline| Instant::now() >= deadline));
        }
    }

    #[test]
    fn a_thread_that_spins_has_the_same_wake_ups_and_deadlines() {
        let shared = shared_of(ProgressMode::Spin);
        for _ in 0..3 {
            shared.wake();
            assert_eq!(shared.await_work(None), WakeUp::Called);
            let deadline = soon();
            assert_eq!(shared.await_work(deadline), WakeUp::Deadline);
            assert!(deadline.is_some_and(|deadline| Instant::now() >= deadline));
        }
        assert_eq!(shared.await_work(None), WakeUp::Deadline, "it returns to check its processors");
    }

    /// The thread may run between the two steps of a wake-up. The second one must not be left over: the
    /// thread would not sleep any more, and would miss its deadlines while a waiter has its work.
    #[test]
    fn a_wake_up_that_completes_late_is_taken_too() {
        let shared = shared();
        shared.signalled.swap(1);
        assert_eq!(shared.sleep(soon()), WakeUp::Deadline);
        shared.sets.wake(THREAD_SLEEP, WAKEUP).expect("they are there");
        assert_eq!(shared.sleep(None), WakeUp::Called);
        let deadline = soon();
        assert_eq!(shared.sleep(deadline), WakeUp::Deadline);
        assert!(deadline.is_some_and(|deadline| Instant::now() >= deadline));
        shared.wake();
        assert_eq!(shared.sleep(None), WakeUp::Called, "the next wake-up is not lost");
    }
}
