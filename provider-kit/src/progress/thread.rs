//! The thread `dat-progress` of an adapter, and the waiters and polls that do its work.

use std::cell::{Cell, RefCell};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::{AdapterSink, LocalCause, WaiterProgress};
use dat_sync::{Mutex, MutexGuard, clock};
use rustix::thread::CpuSet;

use super::driver::{Driver, HeldFrames};
use super::failure::Successor;
use super::lease_history::intervals;
use super::owner::Owner;
use super::placement::{self, Opener, Placement};
use super::ready_list::ReadyList;
use super::shared::{Core, Job, Shared, WakeUp};
use crate::transport::Transport;

/// Maximum number of consecutive passes of a waiter or a poll, which leaves the rest to the thread.
const MAX_PASSES: u32 = 8;
/// While a link is lent to polls, one of this many polls of dispatchers for connection events reads everything else that is
/// ready.
const POLLS_PER_PASS: u32 = 8;
/// This many polls of dispatchers for connection events request that the thread leaves its work to them.
const POLLS_PER_REQUEST: u32 = 1 << 12;
/// The same in a simulation, whose polls are few.
const POLLS_PER_SIMULATED_REQUEST: u32 = 1 << 4;

/// The driver of an adapter, and the owner of its work.
pub(crate) struct ProgressThread {
    shared: Arc<Shared>,
    driver: Mutex<Driver>,
    /// True if another thread has replaced the first one, which can no longer be woken.
    is_succeeded: AtomicBool,
}

/// The thread of an adapter with its objects, and the processors on which it may run.
pub(crate) type Started = (Arc<Core>, Arc<ProgressThread>, CpuSet);

/// The next action of the thread.
enum Turn {
    /// Sleep until this time; without a limit if absent.
    Sleep(Option<Instant>),
    /// End: all objects of the adapter are gone.
    End,
}

/// Creates the driver of an adapter without its thread.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` if a descriptor cannot be created.
fn create(
    transport: Box<dyn Transport>,
    sink: Arc<dyn AdapterSink>,
) -> Result<(Arc<Core>, Arc<ProgressThread>)> {
    let shared = Shared::new(transport, sink).map_err(|errno| {
        let what = "open the descriptors of the adapter (eventfd, epoll)";
        LocalCause { what, errno: errno.raw_os_error() }.error(Subtype::NoSubtype)
    })?;
    let shared = Arc::new(shared);
    let core = Arc::new(Core::new(Arc::clone(&shared)));
    let driver = Mutex::new(Driver::new(Arc::clone(&shared)));
    let thread = Arc::new(ProgressThread { shared, driver, is_succeeded: AtomicBool::new(false) });
    let successor: Weak<dyn Successor> = Arc::downgrade(&(Arc::clone(&thread) as _));
    thread.shared.set_thread(successor);
    Ok((core, thread))
}

/// Starts the thread of an adapter, which ends when the core is dropped.
///
/// # Errors
/// As [`create`], and `DAT_INVALID_PARAMETER` if the thread may not run on the processors that the transport requests.
pub(crate) fn start(transport: Box<dyn Transport>, sink: Arc<dyn AdapterSink>) -> Result<Started> {
    let (core, thread) = create(transport, sink)?;
    if clock::is_simulated() {
        STARTED.with_borrow_mut(|started| started.push(SimulatedThread::new(&thread)));
        return Ok((core, thread, CpuSet::new()));
    }
    let opener = Opener::current();
    let requested = thread.shared.transport.processors();
    let mode = thread.shared.transport.progress_mode();
    let known = placement::known_processors(opener, requested, mode);
    let (report, placed) = crossbeam_channel::bounded(1);
    let run = {
        let thread = Arc::clone(&thread);
        move || {
            let mut placement = Placement::of_thread(opener, requested, mode);
            let allowed = placement.as_ref().map(Placement::allowed).map_err(Error::clone);
            let is_refused = allowed.is_err() && known.is_none();
            // The opener does not wait for this if the processors are known.
            let _ = report.send(allowed);
            let look = |deadline| {
                let placement = placement.as_mut().ok();
                if let Some(is_busy) = placement.and_then(|placement| placement.update(deadline)) {
                    thread.shared.set_busy(is_busy);
                }
            };
            if !is_refused {
                thread.run(look, || thread.is_succeeded.load(Ordering::Acquire));
            }
        }
    };
    spawn(run).map_err(|error| cannot_start(&error))?;
    let ended = |_| cannot_start(&std::io::Error::from_raw_os_error(libc::EINTR));
    let processors = known.map_or_else(|| placed.recv().map_err(ended)?, Ok)?;
    Ok((core, thread, processors))
}

fn spawn(run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    dat_sync::thread::start("dat-progress", run).map(drop)
}

fn cannot_start(error: &std::io::Error) -> Error {
    LocalCause::new("start the thread dat-progress", error).error(Subtype::NoSubtype)
}

/// Returns true if the last of this many polls requests that the thread leaves its work to polls.
fn requests_lease(polls: u32) -> bool {
    let period =
        if clock::is_simulated() { POLLS_PER_SIMULATED_REQUEST } else { POLLS_PER_REQUEST };
    polls % period == 0
}

impl ProgressThread {
    /// The loop of the thread, until `is_over` returns true because another one has replaced it.
    fn run(&self, mut before_sleep: impl FnMut(Option<Instant>), is_over: impl Fn() -> bool) {
        let mut descriptors = ReadyList::new();
        let mut why = WakeUp::Called;
        while !(self.shared.has_failed() && is_over()) {
            let Turn::Sleep(deadline) = self.turn(&mut descriptors, why) else { return };
            before_sleep(deadline);
            if !self.shared.has_failed() {
                why = self.shared.await_work(deadline);
                // A waiter or poll that claimed the work while a link woke the thread reads that link.
                while why == WakeUp::Link && self.shared.owner.get() != Owner::Thread {
                    why = self.shared.sleep(deadline);
                }
            } else if !is_over() {
                self.shared.sleep_after_failure(deadline);
            }
        }
    }
}

impl ProgressThread {
    /// The work of the thread between two sleeps. `why` is the cause of its wake-up.
    fn turn(&self, descriptors: &mut ReadyList, why: WakeUp) -> Turn {
        let queues;
        let is_lent = self.shared.owner.get() == Owner::Polls || self.shared.left.is_lent();
        let is_check = why == WakeUp::Deadline && is_lent;
        let mut driver = match self.driver.try_lock() {
            Some(driver) => driver,
            // A poll is working; the thread would take its processor to wait for it.
            None if is_check => {
                let (interval, _) = intervals(self.shared.is_busy());
                return Turn::Sleep(Some(clock::now() + interval));
            }
            None => self.driver.lock(),
        };
        let is_taken_back = self.check_polls(&mut driver);
        if is_taken_back {
            // Polls no longer read their links.
            queues = driver.polled_queues.get();
            for queue in &queues {
                queue.links.take_back_all();
            }
        }
        let (arrivals, sent) = (driver.arrivals, driver.sent);
        // A post may have left a request a moment ago, which the thread would send before the poll that follows.
        let counts = (self.shared.owner.polls(), sent);
        // A waiter has claimed the work since that post: polls do not follow, but were not late either.
        let is_polled = self.shared.owner.get() != Owner::Waiter;
        let leaves = is_polled && driver.post_lease.due().is_some();
        let is_late = driver.post_lease.is_late(counts, self.shared.is_busy());
        let sends = is_late || !is_polled;
        driver.held = if sends { HeldFrames::Send } else { HeldFrames::Leave };
        while driver.pass(descriptors) {}
        if std::mem::replace(&mut driver.held, HeldFrames::Send) == HeldFrames::Left {
            driver.post_lease.check_soon();
        }
        let total = driver.sent;
        driver.post_lease.end_if_over(&self.shared.left, total, leaves && total != sent);
        if is_taken_back {
            let has_waited = driver.arrivals != arrivals;
            driver.poll_lease.end(arrivals, has_waited && !self.shared.is_busy());
        } else if why == WakeUp::Link || driver.polls_wait {
            self.lend_to_polls(&mut driver, why);
        }
        if driver.is_finished() { Turn::End } else { Turn::Sleep(driver.begin_sleep()) }
    }

    /// Leaves the work to polls, if polls preceded each of the last arrivals, or have found nothing for long.
    fn lend_to_polls(&self, driver: &mut Driver, why: WakeUp) {
        let polls = self.shared.owner.polls();
        let is_preceded = why == WakeUp::Link && driver.poll_lease.note_wake_up(polls);
        let is_requested =
            std::mem::take(&mut driver.polls_wait) && driver.poll_lease.note_request(polls);
        if (is_preceded || is_requested)
            && self.shared.owner.pass(&[Owner::Thread], Owner::Polls, &self.shared)
        {
            driver.poll_lease.begin(driver.arrivals, self.shared.is_busy());
        }
    }

    /// Takes the work back from polls, if a check is due and there were no polls. Returns true if it does.
    fn check_polls(&self, driver: &mut Driver) -> bool {
        if driver.poll_lease.due().is_none() {
            return false;
        }
        let polls = self.shared.owner.polls();
        let is_unused = driver.poll_lease.is_unused(polls, self.shared.is_busy());
        if self.shared.owner.get() != Owner::Polls {
            driver.poll_lease.drop_lease();
            return false;
        }
        is_unused && self.shared.owner.pass(&[Owner::Polls], Owner::Thread, &self.shared)
    }

    /// Runs passes in a waiter or a poll, unless another thread runs one.
    fn try_passes(&self) -> Option<MutexGuard<'_, Driver>> {
        let mut driver = self.driver.try_lock()?;
        Self::make_passes(&mut driver);
        Some(driver)
    }

    fn make_passes(driver: &mut Driver) {
        let mut descriptors = ReadyList::new();
        for _ in 0..MAX_PASSES {
            if !driver.pass(&mut descriptors) {
                break;
            }
        }
    }

    /// Reads what has arrived, for a poll to which the thread leaves its work; `polls` counts the polls.
    fn poll_links(&self, polls: u32) {
        let queues;
        let Some(mut driver) = self.driver.try_lock() else { return };
        // The thread, which takes the work back under this lock, now sleeps without a limit, and would not wake up for work
        // that a pass finds for later, such as the check of a lease.
        if !self.shared.is_polled() {
            return;
        }
        // Before the links are read, which would send it as if the poll had come late.
        if self.shared.left.has_left() {
            self.shared.left.take();
            driver.run_jobs();
        }
        queues = driver.polled_queues.get();
        let mut is_lent = false;
        for queue in &queues {
            let poll = queue.links.poll_for_driver();
            is_lent |= poll.is_lent;
            // Otherwise a lease would seem useless in which polls found all arrivals.
            driver.arrivals = driver.arrivals.wrapping_add(u32::from(poll.has_found));
        }
        if is_lent && polls % POLLS_PER_PASS != 0 && !driver.must_pass() {
            return;
        }
        Self::make_passes(&mut driver);
    }

    /// Sends what posts have left, unless another thread runs a pass.
    #[inline(never)]
    fn send_left(&self) {
        let Some(mut driver) = self.driver.try_lock() else { return };
        self.shared.left.take();
        driver.run_jobs();
        if driver.needs_thread() {
            self.shared.wake();
        }
    }

    /// Returns the cause for which the thread would wake up now, if it sleeps until a deadline; `None` if it would not.
    fn would_wake(&self, deadline: Option<Instant>) -> Option<WakeUp> {
        let now = clock::now();
        let why = if !self.shared.has_failed() {
            self.shared.sleep(Some(now))
        } else if self.shared.take_signal() {
            WakeUp::Called
        } else {
            WakeUp::Deadline
        };
        let wakes = match why {
            WakeUp::Called => true,
            WakeUp::Link => self.shared.owner.get() == Owner::Thread,
            WakeUp::Deadline => deadline.is_some_and(|deadline| deadline <= now),
        };
        wakes.then_some(why)
    }
}

thread_local! {
    static STARTED: RefCell<Vec<SimulatedThread>> = const { RefCell::new(Vec::new()) };
}

/// The threads that were started since the last call, in a simulation.
#[doc(hidden)]
#[must_use]
pub fn take_simulated_threads() -> Vec<SimulatedThread> {
    STARTED.take()
}

/// The thread of an adapter in a simulation.
#[doc(hidden)]
pub struct SimulatedThread {
    thread: Arc<ProgressThread>,
    wakes_at: Option<Instant>,
    why: Cell<WakeUp>,
}

impl SimulatedThread {
    fn new(thread: &Arc<ProgressThread>) -> Self {
        Self {
            thread: Arc::clone(thread),
            wakes_at: Some(clock::now()),
            why: Cell::new(WakeUp::Called),
        }
    }

    /// The time at which it wakes up if nothing wakes it before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Instant> {
        self.wakes_at
    }

    /// Returns true if it would wake up now. If so, [`run`](Self::run) must follow.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        let why = self.thread.would_wake(self.wakes_at);
        why.inspect(|why| self.why.set(*why)).is_some()
    }

    /// Closes a descriptor of the adapter, as the program may do by accident.
    pub fn close_descriptor(&self) {
        dat_sync::epoll::simulated::lose(self.thread.shared.links());
    }

    /// Runs until its next sleep. Returns false if the thread has ended.
    pub fn run(&mut self) -> bool {
        match self.thread.turn(&mut ReadyList::new(), self.why.get()) {
            Turn::Sleep(until) => {
                self.wakes_at = until;
                true
            }
            Turn::End => false,
        }
    }
}

impl Successor for ProgressThread {
    fn succeed(self: Arc<Self>) {
        if clock::is_simulated() {
            return;
        }
        let thread = Arc::clone(&self);
        let run = move || {
            while !thread.shared.has_failed() {
                std::thread::yield_now();
            }
            thread.run(|_| {}, || false);
        };
        // Pairs with the load of the first thread, which has seen the failure.
        self.is_succeeded.store(spawn(run).is_ok(), Ordering::Release);
    }
}

impl WaiterProgress for ProgressThread {
    fn claim(&self) -> bool {
        if !self.shared.owner_process.is_current() {
            return false;
        }
        let were_polls = self.shared.owner.get() == Owner::Polls || self.shared.left.is_lent();
        let from = [Owner::Thread, Owner::Polls];
        let is_claimed = self.shared.owner.pass(&from, Owner::Waiter, &self.shared);
        if is_claimed && were_polls {
            // Requests that posts have left to the next poll must not wait for a check of the thread.
            if !self.advance() {
                self.shared.wake();
            }
        }
        is_claimed
    }

    fn release(&self) {
        if self.shared.owner_process.is_current() {
            // Data that has arrived in the meantime would wake the thread at once.
            let _ = self.advance();
            self.shared.owner.pass(&[Owner::Waiter], Owner::Thread, &self.shared);
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.links()
    }

    fn advance(&self) -> bool {
        let Some(mut driver) = self.try_passes() else { return false };
        if driver.needs_thread() {
            self.shared.wake();
        }
        true
    }

    fn poll(&self) {
        let polls = self.shared.owner.note_poll();
        let has_left = self.shared.left.has_left();
        match self.shared.owner.get() {
            Owner::Polls if self.shared.owner_process.is_current() => self.poll_links(polls),
            Owner::Thread if has_left && self.shared.owner_process.is_current() => self.send_left(),
            Owner::Thread if requests_lease(polls) => self.shared.submit(Job::LendToPolls),
            Owner::Polls | Owner::Thread | Owner::Waiter => {}
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
#[path = "thread_tests.rs"]
mod tests;
