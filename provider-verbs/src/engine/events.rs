//! The thread `dat-events`: its commands, and what it does.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_core::provider::{AsyncUpcall, ConnectionUpcall};
use nix::sys::epoll::{EpollEvent, EpollTimeout};

use super::{Engine, Target, pause_unless_empty, source};
use crate::cm;
use crate::completion_queue::Queue;
use crate::queue_pair::Endpoint;
use crate::standstill::Standstill;
use crate::verbs::{AsyncEvent, DeviceEvent, PortEvent, QueuePairEvent, SharedReceiveEvent};

/// Poll interval in milliseconds while a graceful disconnect waits for requests.
const CLOSING_TICK: u16 = 2;

/// Interval in milliseconds of the check whether waiters still use the channels lent to them.
const LENT_TICK: u16 = 20;

/// Maximum number of descriptors that one epoll_wait(2) returns.
const BATCH: usize = 32;

/// A command for the thread.
pub(crate) enum Command {
    /// An event of a connection or a listener.
    Event(cm::Event),
    /// Something failed on the endpoint with that key.
    Trouble(u64),
    /// A completion queue has upcalls to make: whether it is ready, whether it overflowed.
    Report(u64, bool, bool),
    /// Complete the end of an endpoint's connection.
    Finish(Arc<Endpoint>),
    /// Disconnect an endpoint when its requests have finished.
    Close(Weak<Endpoint>),
    /// The channel of a queue was lent to a waiter.
    Lent(Weak<Queue>),
    /// A connection attempt failed before it was sent.
    Fail(Weak<Endpoint>, u64, ConnectionUpcall<'static>),
}

/// What the thread checks periodically.
#[derive(Default)]
struct Pending {
    closing: Vec<Weak<Endpoint>>,
    lent: Vec<Weak<Queue>>,
    standstill: Standstill,
}

impl Pending {
    /// How long the thread may sleep.
    fn tick(&self) -> EpollTimeout {
        if !self.closing.is_empty() {
            EpollTimeout::from(CLOSING_TICK)
        } else if !self.lent.is_empty() {
            EpollTimeout::from(LENT_TICK)
        } else if let Some(rest) = self.standstill.rest() {
            // Rounded up, so that it does not wake up too early.
            EpollTimeout::try_from(rest + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX)
        } else {
            EpollTimeout::NONE
        }
    }
}

impl Engine {
    /// The main function of the thread `dat-events`.
    pub(super) fn act(&self, commands: &Receiver<Command>) {
        let mut pending = Pending::default();
        let mut told = [EpollEvent::empty(); BATCH];
        loop {
            // An interruption (EINTR) is handled like a wake-up.
            let count = self.sleep.wait(&mut told, pending.tick()).unwrap_or(0);
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            if told[..count].iter().any(|event| event.data() == source::WAKE) {
                let _ = self.wake.read();
            }
            while let Ok(command) = commands.try_recv() {
                self.obey(command, &mut pending);
            }
            pending.closing.retain(|endpoint| {
                endpoint.upgrade().is_some_and(|endpoint| !endpoint.try_close())
            });
            if count == 0 {
                pending.lent.retain(|queue| {
                    queue.upgrade().is_some_and(|queue| queue.is_lent_for_longer())
                });
            }
            for event in &told[..count] {
                match event.data() {
                    source::WAKE | source::STOP => {}
                    source::DEVICE => self.take_async_events(&mut pending),
                    source::COMPLETIONS => {
                        while let Ok(key) = self.completions.take_event() {
                            self.with_queue(key, Queue::channel_event);
                        }
                    }
                    key => self.with_queue(key, Queue::own_channel_event),
                }
            }
            pending.standstill.judge();
        }
    }

    fn with_queue(&self, key: u64, act: impl FnOnce(&Queue)) {
        if let Some(Target::Queue(queue)) = self.target(key) {
            if let Some(queue) = queue.upgrade() {
                act(&queue);
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

    fn obey(&self, command: Command, pending: &mut Pending) {
        match command {
            Command::Event(event) => match self.target(event.key) {
                Some(Target::Endpoint(endpoint)) => {
                    // The device's event for the queue pair is the reason why the connection ends.
                    if event.kind == cm::EventKind::Disconnected {
                        self.take_async_events(pending);
                    }
                    if let Some(endpoint) = endpoint.upgrade() {
                        endpoint.connection_event(event);
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
                if let Some(Target::Endpoint(endpoint)) = self.target(key) {
                    if let Some(endpoint) = endpoint.upgrade() {
                        endpoint.trouble();
                    }
                }
            }
            Command::Report(key, ready, overflow) => {
                self.with_queue(key, |queue| queue.report_later(ready, overflow));
            }
            Command::Finish(endpoint) => endpoint.finish(),
            Command::Close(endpoint) => pending.closing.push(endpoint),
            Command::Lent(queue) => pending.lent.push(queue),
            Command::Fail(endpoint, key, event) => {
                if let Some(endpoint) = endpoint.upgrade() {
                    endpoint.fail_attempt(key, Some(event));
                }
            }
        }
    }

    fn handle_async(&self, event: AsyncEvent, pending: &mut Pending) {
        match event {
            AsyncEvent::QueuePair { key, event } => {
                let Some(Target::Endpoint(endpoint)) = self.target(key) else { return };
                let Some(endpoint) = endpoint.upgrade() else { return };
                match event {
                    QueuePairEvent::CommunicationEstablished => {
                        endpoint.communication_established(None)
                    }
                    QueuePairEvent::Fatal
                    | QueuePairEvent::InvalidRequest
                    | QueuePairEvent::AccessViolation => endpoint.trouble(),
                    _ => {}
                }
            }
            AsyncEvent::CompletionQueue { key } => self.with_queue(key, Queue::overflowed),
            AsyncEvent::SharedReceive { key, event } => {
                let Some(Target::Shared(shared)) = self.target(key) else { return };
                let Some(shared) = shared.upgrade() else { return };
                if event == SharedReceiveEvent::LimitReached {
                    shared.limit_reached();
                } else {
                    shared.device().report(AsyncUpcall::ProviderInternal);
                }
            }
            AsyncEvent::Device(DeviceEvent::Fatal) => {
                self.device_removed();
            }
            AsyncEvent::Port { event: PortEvent::Down, port } => {
                pending.standstill.watch(self.endpoints(port));
                for instance in self.instances().iter().filter(|it| it.port == port) {
                    instance.report(AsyncUpcall::ProviderInternal);
                }
            }
            // Events of other kinds do not concern an object of an adapter.
            _ => {}
        }
    }
}
