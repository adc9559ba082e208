//! The thread `dat-events`: its commands, and what it does.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use dat_provider::{AsyncUpcall, ConnectionUpcall};
use dat_sync::descriptors::is_lost;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::target::{QueueEvents, QueuePairEvents, Target};
use super::{EVENTS, Engine, LONGEST_SLEEP, pause_unless_empty, source};
use crate::cm;
use crate::stall_watchdog::StallWatchdog;
use crate::verbs::{AsyncEvent, DeviceEvent, PortEvent, QueuePairEvent, SharedReceiveEvent};

/// Poll interval while a graceful disconnect waits for requests.
const CLOSING_TICK: Duration = Duration::from_millis(2);

/// Interval of the check whether waiters still use the channels lent to them.
const LENT_TICK: Duration = Duration::from_millis(20);

/// Maximum number of descriptors that one epoll_wait(2) returns.
const BATCH: usize = 32;

/// A task that another thread submits to the thread.
pub(crate) enum Command {
    /// An event of a connection or a listener.
    Event(cm::Event),
    /// Something failed on the queue pair with that key.
    Trouble(u64),
    /// A completion queue has upcalls to make: whether it is ready, whether it overflowed.
    Report(u64, bool, bool),
    /// Complete the end of a queue pair's connection.
    Finish(Arc<dyn QueuePairEvents>),
    /// Disconnect a queue pair when its requests have finished.
    Close(Weak<dyn QueuePairEvents>),
    /// The channel of a queue was lent to a waiter.
    Lent(Weak<dyn QueueEvents>),
    /// A connection attempt failed before it was sent.
    Fail(Weak<dyn QueuePairEvents>, u64, ConnectionUpcall<'static>),
}

/// The periodic checks of the thread.
#[derive(Default)]
struct Pending {
    closing: Vec<Weak<dyn QueuePairEvents>>,
    lent: Vec<Weak<dyn QueueEvents>>,
    stall_watchdog: StallWatchdog,
}

impl Pending {
    /// How long the thread may sleep.
    fn tick(&self) -> Duration {
        if !self.closing.is_empty() {
            CLOSING_TICK
        } else if !self.lent.is_empty() {
            LENT_TICK
        } else if let Some(rest) = self.stall_watchdog.rest() {
            // Rounded up, so that it does not wake up too early.
            (rest + Duration::from_millis(1)).min(LONGEST_SLEEP)
        } else {
            LONGEST_SLEEP
        }
    }

    /// Continues the graceful disconnects that wait for requests.
    fn close_due(&mut self) {
        self.closing.retain(|queue_pair| {
            queue_pair.upgrade().is_some_and(|queue_pair| !queue_pair.try_close())
        });
    }
}

impl Engine {
    /// The main function of the thread `dat-events`.
    pub(super) fn act(&self, commands: &Receiver<Command>) {
        let mut pending = Pending::default();
        let mut events = Vec::with_capacity(BATCH);
        loop {
            if !self.sleep(&mut events, pending.tick()) {
                return self.act_without_descriptors(commands, pending);
            }
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            while let Ok(command) = commands.try_recv() {
                self.handle(command, &mut pending);
            }
            pending.close_due();
            if events.is_empty() {
                pending.lent.retain(|queue| {
                    queue.upgrade().is_some_and(|queue| queue.is_lent_for_longer())
                });
            }
            for event in &events {
                match event.data.u64() {
                    source::WAKE => {}
                    source::DEVICE => self.take_async_events(&mut pending),
                    source::COMPLETIONS => {
                        while let Ok(key) = self.completions.take_event() {
                            self.with_queue(key, |queue| queue.channel_event());
                        }
                    }
                    key => self.with_queue(key, |queue| queue.own_channel_event()),
                }
            }
            pending.stall_watchdog.judge();
        }
    }

    /// Sleeps until a descriptor is readable. Returns false if the program has closed the set.
    fn sleep(&self, events: &mut Vec<epoll::Event>, tick: Duration) -> bool {
        events.clear();
        let tick = Timespec::try_from(tick).ok();
        // An interruption is handled like a wake-up.
        let slept = epoll::wait(self.sets.set(EVENTS), spare_capacity(events), tick.as_ref());
        !slept.is_err_and(is_lost)
    }

    /// The program has closed descriptors, so that the device cannot be used any more. Only commands wake the thread.
    fn act_without_descriptors(&self, commands: &Receiver<Command>, mut pending: Pending) {
        self.device_removed();
        while !self.stopping.load(Ordering::Acquire) {
            let limit = if pending.closing.is_empty() { LONGEST_SLEEP } else { CLOSING_TICK };
            match commands.recv_timeout(limit) {
                Ok(command) => self.handle(command, &mut pending),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            pending.close_due();
        }
    }

    fn with_queue(&self, key: u64, act: impl FnOnce(&dyn QueueEvents)) {
        if let Some(Target::Queue(queue)) = self.target(key) {
            if let Some(queue) = queue.upgrade() {
                act(&*queue);
            }
        }
    }

    fn take_async_events(&self, pending: &mut Pending) {
        loop {
            match self.context.take_async_event() {
                Ok(event) => self.handle_async(event, pending),
                Err(failure) => return pause_unless_empty(failure),
            }
        }
    }

    fn handle(&self, command: Command, pending: &mut Pending) {
        match command {
            Command::Event(event) => match self.target(event.key) {
                Some(Target::QueuePair(queue_pair)) => {
                    // The device's event for the queue pair is the reason why the connection ends.
                    if event.kind == cm::EventKind::Disconnected {
                        self.take_async_events(pending);
                    }
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        queue_pair.connection_event(event);
                    }
                }
                Some(Target::Listener(listener)) => {
                    if let Some(listener) = listener.upgrade() {
                        listener.connection_event(event);
                    }
                }
                // The target no longer exists; dropping a request rejects it.
                _ => drop(event),
            },
            Command::Trouble(key) => {
                if let Some(Target::QueuePair(queue_pair)) = self.target(key) {
                    if let Some(queue_pair) = queue_pair.upgrade() {
                        queue_pair.trouble();
                    }
                }
            }
            Command::Report(key, ready, overflow) => {
                self.with_queue(key, |queue| queue.report_later(ready, overflow));
            }
            Command::Finish(queue_pair) => queue_pair.finish(),
            Command::Close(queue_pair) => pending.closing.push(queue_pair),
            Command::Lent(queue) => pending.lent.push(queue),
            Command::Fail(queue_pair, key, event) => {
                if let Some(queue_pair) = queue_pair.upgrade() {
                    queue_pair.fail_attempt(key, Some(event));
                }
            }
        }
    }

    fn handle_async(&self, event: AsyncEvent, pending: &mut Pending) {
        match event {
            AsyncEvent::QueuePair { key, event } => {
                let Some(Target::QueuePair(queue_pair)) = self.target(key) else { return };
                let Some(queue_pair) = queue_pair.upgrade() else { return };
                match event {
                    QueuePairEvent::CommunicationEstablished => queue_pair.data_arrived(),
                    QueuePairEvent::Fatal
                    | QueuePairEvent::InvalidRequest
                    | QueuePairEvent::AccessViolation => queue_pair.trouble(),
                    _ => {}
                }
            }
            AsyncEvent::CompletionQueue { key } => self.with_queue(key, |queue| queue.overflowed()),
            AsyncEvent::SharedReceive { key, event } => {
                let Some(Target::SharedReceive(shared)) = self.target(key) else { return };
                let Some(shared) = shared.upgrade() else { return };
                if event == SharedReceiveEvent::LimitReached {
                    shared.limit_reached();
                } else {
                    shared.failed();
                }
            }
            AsyncEvent::Device(DeviceEvent::Fatal) => {
                self.device_removed();
            }
            AsyncEvent::Port { event: PortEvent::Down, port } => {
                pending.stall_watchdog.watch(self.queue_pairs(port));
                for instance in self.instances().iter().filter(|it| it.port() == port) {
                    instance.report(AsyncUpcall::ProviderInternal);
                }
            }
            // Events of other kinds do not concern an object of an adapter.
            _ => {}
        }
    }
}
