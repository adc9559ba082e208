//! The driver reads and writes the links that no poller reads. It runs in the thread `dat-progress`, or in a waiter
//! that has claimed the work.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_sync::{clock, epoll};

use rustix::event::Timespec;

use super::driven::{Driven, LinkStatus};
use super::event_order::EventOrder;
use super::incoming::ListenerState;
use super::lent_links::LentLinks;
use super::lingering::{CLOSING_CHECK_INTERVAL, CLOSING_CHECKS, LingeringLink};
use super::liveness::LivenessChecks;
use super::pending_handshake::PendingHandshake;
use super::poll_lease::PollLease;
use super::polled_queues::PolledQueues;
use super::post_lease::PostLease;
use super::ready_list::ReadyList;
use super::shared::{Job, REPLY_CHECK_INTERVAL, Shared};
use crate::protocol::REPLY_PATIENCE;

/// Objects by token. Tokens are numbers of our own, so the hasher needs no random seed, and the order of iteration is
/// the same in each run.
type ByToken<T> = HashMap<u64, T, BuildHasherDefault<DefaultHasher>>;

/// The state of the driver. Only one thread at a time reads the links, in passes, so that the events of each peer keep
/// their order.
pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    /// Queue pairs and listeners, by token.
    watched: ByToken<Watched>,
    /// Links that are watched until a deadline, by token.
    pub(super) timed: ByToken<TimedLink>,
    /// Queue pairs whose links hold received data that has not been read.
    ready: Vec<Weak<dyn Driven>>,
    lent: LentLinks,
    /// Queue pairs whose acknowledgements wait for a reply, with their deadlines, the earliest first.
    await_reply: VecDeque<(Instant, Weak<dyn Driven>)>,
    /// Queue pairs to progress at a given time, in any order.
    retries: Vec<(Instant, Weak<dyn Driven>)>,
    liveness: LivenessChecks,
    /// When the next check of closing links is due.
    next_closing_check: Instant,
    /// Until then the checks continue even without a closing link.
    checks_closing_until: Instant,
    /// Until then the thread takes the jobs of waiters that await replies at short intervals, so that they need not wake it.
    checks_replies_until: Instant,
    /// Number of closing links.
    lingering: usize,
    /// Number of links in the handshake.
    pub(super) pending_handshakes: usize,
    /// Events held back until those of other links are read.
    pub(super) order: EventOrder,
    /// End of the current sleep of the thread; `None` for no limit.
    thread_wakes_at: Option<Instant>,
    is_failure_reported: bool,
    /// Number of links that were ready.
    pub(super) arrivals: u32,
    pub(super) poll_lease: PollLease,
    pub(super) polled_queues: PolledQueues,
    /// Polls have requested a lease.
    pub(super) polls_wait: bool,
    pub(super) post_lease: PostLease,
    /// Number of times that the held requests of a queue pair were sent.
    pub(super) sent: u32,
    /// What becomes of the requests that posts have left to polls.
    pub(super) held: HeldFrames,
}

/// What a pass does with the requests that posts have left to polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldFrames {
    /// It sends them.
    Send,
    /// It leaves them to the consumer, which polls and sends them in a moment.
    Leave,
    /// It leaves them, and has found some.
    Left,
}

/// An object whose descriptor is watched.
enum Watched {
    QueuePair(Weak<dyn Driven>),
    Listener(Arc<ListenerState>),
}

/// A link that is watched until a deadline.
pub(super) enum TimedLink {
    Handshake(Box<PendingHandshake>),
    Lingering(LingeringLink),
}

/// The thread continues the checks of [`REPLY_CHECK_INTERVAL`] for this time after the last job that awaits a reply.
const REPLY_CHECKS: Duration = Duration::from_millis(20);

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(crate) const IN: epoll::EventFlags = epoll::EventFlags::IN;

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (watched, timed) = (ByToken::default(), ByToken::default());
        let (ready, lent, now) = (Vec::new(), LentLinks::default(), clock::now());
        Self {
            shared,
            watched,
            timed,
            ready,
            lent,
            await_reply: VecDeque::new(),
            retries: Vec::new(),
            liveness: LivenessChecks::default(),
            next_closing_check: now,
            checks_closing_until: now,
            checks_replies_until: now,
            lingering: 0,
            pending_handshakes: 0,
            order: EventOrder::default(),
            thread_wakes_at: None,
            is_failure_reported: false,
            arrivals: 0,
            poll_lease: PollLease::default(),
            polled_queues: PolledQueues::default(),
            polls_wait: false,
            post_lease: PostLease::default(),
            sent: 0,
            held: HeldFrames::Send,
        }
    }

    /// Reads every ready link; `descriptors` finds them. Returns true if another pass must follow at once.
    pub(super) fn pass(&mut self, descriptors: &mut ReadyList) -> bool {
        let is_complete = self.ready_links(descriptors);
        // The job that watches a descriptor was submitted before its first event.
        self.run_jobs();
        if self.shared.has_failed() {
            self.end_all();
        }
        for token in descriptors.tokens() {
            self.arrivals = self.arrivals.wrapping_add(1);
            self.handle_event(token);
        }
        for queue_pair in std::mem::take(&mut self.ready) {
            self.progress(&queue_pair);
        }
        if is_complete {
            self.order.note_pass();
            self.report_due();
        }
        self.lent.check(&mut self.order, self.shared.is_busy());
        self.acknowledge_due();
        self.retry_due();
        self.check_closing();
        self.drop_expired();
        self.must_pass()
    }

    /// Collects the ready links. Returns true if the list has all of them.
    fn ready_links(&self, descriptors: &mut ReadyList) -> bool {
        if self.shared.has_failed() {
            descriptors.clear();
            return true;
        }
        descriptors.wait(self.shared.links(), Some(&NOW)).unwrap_or_else(|errno| {
            self.shared.fail(errno);
            true
        })
    }

    /// The adapter has failed: breaks all connections and stops using its descriptors.
    #[cold]
    fn end_all(&mut self) {
        for (_, watched) in std::mem::take(&mut self.watched) {
            match watched {
                Watched::QueuePair(queue_pair) => {
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        queue_pair.break_off(&mut self.order);
                    }
                }
                // The sink may own objects of the consumer, so it is dropped without the lock.
                Watched::Listener(listener) => {
                    let open = listener.open.lock().take();
                    drop(open);
                }
            }
        }
        for (_, queue_pair) in std::mem::take(&mut self.retries) {
            if let Some(queue_pair) = queue_pair.upgrade() {
                queue_pair.break_off(&mut self.order);
            }
        }
        self.timed.clear();
        (self.lingering, self.pending_handshakes) = (0, 0);
        if !std::mem::replace(&mut self.is_failure_reported, true) {
            self.shared.report_failure();
        }
    }

    /// Returns true if another pass must follow at once.
    pub(super) fn must_pass(&self) -> bool {
        !self.ready.is_empty() || self.order.is_pending()
    }

    /// Returns true if the adapter is closed and nothing is left to do.
    pub(super) fn is_finished(&self) -> bool {
        self.shared.is_closed() && self.lingering == 0 && !self.must_pass()
    }

    /// Returns when the driver must run even if no descriptor is ready; `None` for never. Acknowledgements may be later by
    /// `slack`.
    fn due(&self, now: Instant, slack: Duration) -> Option<Instant> {
        let closing_check = if self.lingering > 0 {
            Some(self.next_closing_check)
        } else {
            (now < self.checks_closing_until).then(|| now + CLOSING_CHECK_INTERVAL)
        };
        let replies_check = (now < self.checks_replies_until).then(|| now + REPLY_CHECK_INTERVAL);
        let reply = self.await_reply.front().map(|(due, _)| *due + slack);
        let retry = self.retries.iter().map(|(due, _)| *due).min();
        let checks = self.lent.due().into_iter().chain(reply).chain(retry).chain(closing_check);
        let checks = checks.chain(replies_check);
        let checks = checks.chain(self.liveness.due()).chain(self.poll_lease.due());
        let checks = checks.chain(self.post_lease.due());
        self.timed.values().map(TimedLink::deadline).chain(checks).min()
    }

    /// The thread is about to sleep. Returns its deadline; `None` for no limit.
    pub(super) fn begin_sleep(&mut self) -> Option<Instant> {
        let now = clock::now();
        if self.must_pass() {
            return Some(now);
        }
        self.liveness.check(now);
        let due = self.due(now, Duration::ZERO);
        if !self.shared.begin_sleep(due, now) {
            return Some(now);
        }
        self.thread_wakes_at = due;
        due
    }

    /// Returns true if the thread must wake up before the end of its current sleep, after passes of a waiter or poll. For
    /// the acknowledgements that these leave to a reply it need not: it looks for them at intervals.
    pub(super) fn needs_thread(&mut self) -> bool {
        let now = clock::now();
        if !self.await_reply.is_empty() {
            self.checks_replies_until = now + REPLY_CHECKS;
        }
        let is_later = |due| self.thread_wakes_at.is_none_or(|wakes_at| wakes_at > due);
        self.must_pass() || self.due(now, REPLY_CHECK_INTERVAL).is_some_and(is_later)
    }

    /// Executes the submitted jobs.
    pub(super) fn run_jobs(&mut self) {
        for job in self.shared.take_jobs() {
            match job {
                Job::Watch(token, queue_pair, liveness) => {
                    liveness.into_iter().for_each(|link| self.liveness.add(link));
                    self.watched.insert(token, Watched::QueuePair(queue_pair));
                }
                Job::Progress(queue_pair) => self.ready.push(queue_pair),
                Job::SendHeld(queue_pair) if self.held != HeldFrames::Send => {
                    self.held = HeldFrames::Left;
                    self.shared.submit_without_wakeup(Job::SendHeld(queue_pair));
                }
                Job::SendHeld(queue_pair) => {
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        let has_sent = queue_pair.send_held(&mut self.order);
                        self.sent = self.sent.wrapping_add(u32::from(has_sent));
                    }
                }
                Job::AwaitReply(due, queue_pair) => {
                    self.checks_replies_until = clock::now() + REPLY_CHECKS;
                    let at = self.await_reply.partition_point(|(other, _)| *other <= due);
                    self.await_reply.insert(at, (due, queue_pair));
                }
                Job::LendToPolls => {
                    self.polls_wait = !self.shared.transport.progress_mode().spins();
                }
                Job::PollQueue(queue) => self.polled_queues.add(queue),
                Job::LendPosts => {
                    let counts = (self.shared.owner.polls(), self.sent);
                    self.post_lease.begin(&self.shared.left, counts, self.shared.is_busy());
                }
                Job::CheckLease(queue_pair, first_check) => {
                    self.lent.add(&queue_pair, first_check, self.shared.is_busy());
                }
                Job::Retry(due, queue_pair) => self.retries.push((due, queue_pair)),
                Job::Deliver(queue_pair, upcalls) => {
                    upcalls.deliver();
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        queue_pair.deliver(&mut self.order);
                    }
                }
                Job::Listen(listener) => {
                    if listener.open.lock().is_some() {
                        self.watched.insert(listener.token, Watched::Listener(listener));
                    }
                }
                Job::Linger(token, lingering) => {
                    self.checks_closing_until = clock::now() + CLOSING_CHECKS;
                    self.linger(token, lingering);
                }
                Job::Forget(token) => drop(self.watched.remove(&token)),
            }
        }
    }

    fn linger(&mut self, token: u64, mut lingering: LingeringLink) {
        self.watched.remove(&token);
        // The peer may have closed the link in the meantime.
        if !lingering.advance() || !self.shared.watch_lingering(token, &mut lingering) {
            return self.shared.forget_lingering(&lingering);
        }
        self.lingering += 1;
        self.timed.insert(token, TimedLink::Lingering(lingering));
    }

    /// Drops the closing links whose peers have closed them.
    fn check_closing(&mut self) {
        if self.lingering == 0 || clock::now() < self.next_closing_check {
            return;
        }
        self.next_closing_check = clock::now() + CLOSING_CHECK_INTERVAL;
        let mut closing = ReadyList::new();
        let mut is_complete = false;
        while !is_complete {
            is_complete = closing.wait(self.shared.closing(), Some(&NOW)).unwrap_or_else(|errno| {
                self.shared.fail(errno);
                true
            });
            closing.tokens().for_each(|token| self.handle_event(token));
        }
    }

    /// A watched descriptor is ready.
    fn handle_event(&mut self, token: u64) {
        match self.watched.get(&token) {
            Some(Watched::QueuePair(queue_pair)) => {
                let queue_pair = Weak::clone(queue_pair);
                self.progress(&queue_pair);
            }
            Some(Watched::Listener(listener)) => {
                let listener = Arc::clone(listener);
                self.accept_links(&listener);
            }
            None => match self.timed.remove(&token) {
                Some(TimedLink::Handshake(handshake)) => self.advance_handshake(token, handshake),
                Some(TimedLink::Lingering(lingering)) => {
                    self.lingering -= 1;
                    self.linger(token, lingering);
                }
                // It was forgotten after the list was made, or the set now belongs to the program.
                None => self.shared.verify(),
            },
        }
    }

    /// Progresses a queue pair, unless its link is lent, or lends the link.
    fn progress(&mut self, weak: &Weak<dyn Driven>) {
        let Some(queue_pair) = weak.upgrade() else { return };
        match queue_pair.progress(&mut self.order) {
            LinkStatus::Idle => {}
            LinkStatus::HasMore => self.ready.push(Weak::clone(weak)),
            LinkStatus::Retry(due) => self.retries.push((due, Weak::clone(weak))),
            LinkStatus::AwaitsReply => {
                let due = clock::now() + REPLY_PATIENCE;
                self.await_reply.push_back((due, Weak::clone(weak)));
            }
            LinkStatus::Lent(first_check) => {
                self.lent.add(weak, first_check, self.shared.is_busy());
            }
        }
    }

    /// Sends the acknowledgements that no reply of the consumer has carried in time.
    fn acknowledge_due(&mut self) {
        if self.await_reply.is_empty() {
            return;
        }
        let now = clock::now();
        while self.await_reply.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, weak)) = self.await_reply.pop_front() else { return };
            let Some(queue_pair) = weak.upgrade() else { continue };
            if queue_pair.acknowledge(&mut self.order) {
                self.await_reply.push_back((now + REPLY_PATIENCE, weak));
            }
        }
    }

    /// Progresses the queue pairs whose retry is due.
    fn retry_due(&mut self) {
        if self.retries.is_empty() {
            return;
        }
        let now = clock::now();
        let all = std::mem::take(&mut self.retries);
        let (due, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(due, _)| *due <= now);
        self.retries = later;
        due.iter().for_each(|(_, queue_pair)| self.progress(queue_pair));
    }

    /// Reports the ends and connection requests that no event of another link can precede.
    fn report_due(&mut self) {
        while let Some(queue_pair) = self.order.due_end() {
            if let Some(queue_pair) = queue_pair.upgrade() {
                queue_pair.deliver_all();
            }
        }
        while let Some((listener, incoming)) = self.order.due_request() {
            let sink = listener.open.lock().as_ref().map(|(_, sink)| Arc::clone(sink));
            match sink {
                Some(sink) => sink.request(incoming),
                None => incoming.refuse(&self.shared),
            }
        }
    }

    /// Closes the links whose deadline has expired.
    fn drop_expired(&mut self) {
        if self.timed.is_empty() {
            return;
        }
        let now = clock::now();
        let (shared, pending_handshakes) = (&self.shared, &mut self.pending_handshakes);
        let lingering_links = &mut self.lingering;
        self.timed.retain(|_, timed| {
            if now < timed.deadline() {
                return true;
            }
            match timed {
                TimedLink::Handshake(handshake) => {
                    *pending_handshakes -= 1;
                    shared.forget_link(&*handshake.link.reader);
                }
                TimedLink::Lingering(lingering) => {
                    *lingering_links -= 1;
                    shared.forget_lingering(lingering);
                }
            }
            false
        });
    }
}

impl TimedLink {
    fn deadline(&self) -> Instant {
        match self {
            Self::Handshake(handshake) => handshake.deadline,
            Self::Lingering(lingering) => lingering.deadline,
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::super::shared::tests::{Leaving, shared};
    use super::*;

    #[test]
    fn a_reply_that_a_waiter_awaits_wakes_the_thread_unless_it_looks_in_time() {
        let mut driver = Driver::new(Arc::new(shared()));
        assert!(!driver.needs_thread());
        let now = clock::now();
        driver.await_reply.push_back((now + REPLY_PATIENCE, Weak::<Leaving>::new()));
        assert!(driver.needs_thread(), "it sleeps without a limit");
        driver.thread_wakes_at = Some(now + REPLY_CHECK_INTERVAL);
        assert!(!driver.needs_thread());
        driver.thread_wakes_at = Some(now + Duration::from_secs(3600));
        assert!(driver.needs_thread());
        let wakes_at = driver.begin_sleep().expect("a limit");
        assert!(wakes_at <= now + REPLY_PATIENCE, "it acknowledges without a reply");
    }
}
