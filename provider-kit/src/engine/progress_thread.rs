//! The thread `dat-progress`, which drives the links that no poller reads.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use rustix::event::{Timespec, epoll};

use super::core::{Core, Driven, Job, LinkStatus, ListenerState, Shared};
use super::event_order::EventOrder;
use super::lingering::{LingeringLink, MAX_LINGER};
use super::listener::PendingRequest;
use super::pending_handshake::PendingHandshake;
use super::ready_list::ReadyList;
use super::transport::Transport;

/// Starts the thread of an adapter, which ends when the core is dropped.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` if a descriptor or the thread cannot be created.
pub(super) fn start(transport: Box<dyn Transport>) -> Result<Arc<Core>> {
    let shared = Shared::new(transport).map_err(|errno| cannot_start(&errno.into()))?;
    let shared = Arc::new(shared);
    let core = Arc::new(Core::new(Arc::clone(&shared)));
    let thread = ProgressThread::new(shared, Arc::downgrade(&core));
    std::thread::Builder::new()
        .name("dat-progress".to_owned())
        .spawn(move || thread.run())
        .map_err(|error| cannot_start(&error))?;
    Ok(core)
}

fn cannot_start(error: &std::io::Error) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype)
        .because(format!("cannot start the thread dat-progress: {error}"))
        .advise("raise the limit of threads (ulimit -u)")
}

/// The state of the thread.
pub(super) struct ProgressThread {
    pub(super) shared: Arc<Shared>,
    core: Weak<Core>,
    /// Queue pairs and listeners, by token.
    watched: HashMap<u64, Watched>,
    /// Links that are watched until a deadline, by token.
    pub(super) timed: HashMap<u64, TimedLink>,
    /// Queue pairs whose links hold received data that was not read.
    ready: Vec<Weak<dyn Driven>>,
    /// Queue pairs whose links are lent to pollers.
    lent: Vec<Weak<dyn Driven>>,
    /// When the next check of the lent links is due.
    next_lease_check: Instant,
    /// Until when the thread looks for closing links in intervals of [`MAX_LINGER`].
    lingers_until: Instant,
    /// Number of links in the handshake.
    pub(super) pending_handshakes: usize,
    /// The events that wait for those of other links.
    pub(super) order: EventOrder,
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

/// How often lent links are checked. A poller that did not poll between two checks loses its links.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_millis(2);

pub(super) const IN: epoll::EventFlags = epoll::EventFlags::IN;

impl ProgressThread {
    fn new(shared: Arc<Shared>, core: Weak<Core>) -> Self {
        let (watched, timed) = (HashMap::new(), HashMap::new());
        let (ready, lent, now) = (Vec::new(), Vec::new(), Instant::now());
        Self {
            shared,
            core,
            watched,
            timed,
            ready,
            lent,
            next_lease_check: now,
            lingers_until: now,
            pending_handshakes: 0,
            order: EventOrder::default(),
        }
    }

    fn run(mut self) {
        let mut ready = ReadyList::new();
        while !self.shared.is_closed() || self.lingers() || self.order.is_pending() {
            let timeout = self.timeout();
            let is_complete = ready.wait(&self.shared.epoll, timeout.as_ref());
            // The job that watches a descriptor was submitted before its first event.
            self.run_jobs();
            for token in ready.tokens() {
                self.handle_event(token);
            }
            for queue_pair in std::mem::take(&mut self.ready) {
                self.progress(&queue_pair);
            }
            if is_complete {
                self.order.note_pass();
                self.report_due();
            }
            self.check_leases();
            self.drop_expired();
        }
    }

    /// Whether a closing link still has bytes to write.
    fn lingers(&self) -> bool {
        self.timed.values().any(|one| matches!(one, TimedLink::Lingering(_)))
    }

    /// How long the thread may sleep; without a limit if nothing is due.
    fn timeout(&self) -> Option<Timespec> {
        if !self.ready.is_empty() || self.order.is_pending() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let now = Instant::now();
        let lease_check = (!self.lent.is_empty()).then_some(self.next_lease_check);
        let linger_check = (now < self.lingers_until).then(|| now + MAX_LINGER);
        let checks = lease_check.into_iter().chain(linger_check);
        let due = self.timed.values().map(TimedLink::deadline).chain(checks).min();
        let left = due.map(|due| due.saturating_duration_since(now) + Duration::from_micros(50));
        if !self.shared.begin_sleep(due.is_some_and(|due| due <= now + MAX_LINGER)) {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        left.and_then(|left| Timespec::try_from(left).ok())
    }

    /// Executes the submitted jobs.
    fn run_jobs(&mut self) {
        for job in self.shared.take_jobs() {
            match job {
                Job::Watch(token, queue_pair) => {
                    self.watched.insert(token, Watched::QueuePair(queue_pair));
                }
                Job::Progress(queue_pair) => self.ready.push(queue_pair),
                Job::Deliver(queue_pair, upcalls) => {
                    upcalls.deliver();
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        queue_pair.deliver(&mut self.order);
                    }
                }
                Job::Listen(listener) => {
                    let open = listener.open.lock();
                    if let Some((acceptor, _)) = &*open {
                        self.shared.watch(acceptor.descriptor(), listener.token, IN);
                        drop(open);
                        self.watched.insert(listener.token, Watched::Listener(listener));
                    }
                }
                Job::Linger(token, lingering) => {
                    self.lingers_until = Instant::now() + MAX_LINGER;
                    self.linger(token, lingering);
                }
                Job::Forget(token) => drop(self.watched.remove(&token)),
            }
        }
    }

    fn linger(&mut self, token: u64, mut lingering: LingeringLink) {
        self.watched.remove(&token);
        // The peer may have closed the link in the meantime.
        if !lingering.advance() {
            return self.shared.forget_link(&*lingering.reader);
        }
        if let Some(descriptor) = lingering.reader.descriptor() {
            self.shared.watch(descriptor, token, lingering.interest());
        }
        self.timed.insert(token, TimedLink::Lingering(lingering));
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
                Some(TimedLink::Lingering(lingering)) => self.linger(token, lingering),
                None => {}
            },
        }
    }

    /// Progresses a queue pair, unless its link is or becomes lent.
    fn progress(&mut self, weak: &Weak<dyn Driven>) {
        let Some(queue_pair) = weak.upgrade() else { return };
        match queue_pair.progress(&mut self.order) {
            LinkStatus::Idle => {}
            LinkStatus::HasMore => self.ready.push(Weak::clone(weak)),
            LinkStatus::Lent => {
                if self.lent.is_empty() {
                    self.next_lease_check = Instant::now() + LEASE_CHECK_INTERVAL;
                }
                if !self.lent.iter().any(|one| Weak::ptr_eq(one, weak)) {
                    self.lent.push(Weak::clone(weak));
                }
            }
        }
    }

    /// Takes back the links whose pollers no longer poll.
    fn check_leases(&mut self) {
        if self.lent.is_empty() || Instant::now() < self.next_lease_check {
            return;
        }
        self.next_lease_check = Instant::now() + LEASE_CHECK_INTERVAL;
        let order = &mut self.order;
        self.lent.retain(|queue_pair| {
            queue_pair.upgrade().is_some_and(|queue_pair| queue_pair.check_lease(order))
        });
    }

    /// Reports the ends and the connection requests that no event of another link can precede.
    fn report_due(&mut self) {
        while let Some(queue_pair) = self.order.due_end() {
            if let Some(queue_pair) = queue_pair.upgrade() {
                queue_pair.deliver_all();
            }
        }
        while let Some((listener, incoming)) = self.order.due_request() {
            let sink = listener.open.lock().as_ref().map(|(_, sink)| Arc::clone(sink));
            match (sink, self.core.upgrade()) {
                // If the listener returns the request, dropping it refuses it.
                (Some(sink), Some(core)) => {
                    drop(sink.connection_request(PendingRequest::report(&core, incoming)));
                }
                _ => incoming.refuse(&self.shared),
            }
        }
    }

    /// Closes the links whose deadline has expired.
    fn drop_expired(&mut self) {
        if self.timed.is_empty() {
            return;
        }
        let now = Instant::now();
        let (shared, pending_handshakes) = (&self.shared, &mut self.pending_handshakes);
        self.timed.retain(|_, timed| {
            if now < timed.deadline() {
                return true;
            }
            match timed {
                TimedLink::Handshake(handshake) => {
                    *pending_handshakes -= 1;
                    shared.forget_link(&*handshake.link.reader);
                }
                TimedLink::Lingering(lingering) => shared.forget_link(&*lingering.reader),
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
