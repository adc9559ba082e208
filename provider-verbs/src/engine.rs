//! The two threads of an open adapter.
//!
//! `dat-cm` takes the events of connections, copies and acknowledges each at once, and hands it
//! on. It never does anything else, so nobody who destroys an identifier waits for long
//! (rdma_destroy_id(3) waits for events that somebody still holds).
//!
//! `dat-events` acts on them, on failed completions and on others that are asked for, on
//! asynchronous events of the device, and on what other threads leave for later. Who waits for
//! completions asleep is woken by the device itself (`ear`). All upcalls that are not made inside
//! a downcall are made there. It holds no event, so destroying anything there waits for nobody.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{AdapterSink, AsyncUpcall, ConnectionUpcall};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::SigSet;
use parking_lot::{Mutex, RwLock};

use crate::cm;
use crate::completion_queue::Queue;
use crate::errors::{exhausted, not_loaded};
use crate::listener::Listening;
use crate::queue_pair::Endpoint;
use crate::shared_receive::Shared;
use crate::standstill::Standstill;
use crate::sys::verbs as sys;
use crate::verbs::{AsyncEvent, CompletionChannel, Context, Failure};

/// How long the thread sleeps while a graceful disconnect waits for requests, in milliseconds.
const CLOSING_TICK: u16 = 2;

/// How often it looks whether waiters still use the channels that were lent to them, in
/// milliseconds.
const LENT_TICK: u16 = 20;

/// Descriptors that one sleep of the thread tells of.
const BATCH: usize = 32;

/// What a descriptor of the thread's own is known by: below all keys.
mod source {
    pub(super) const WAKE: u64 = 0;
    pub(super) const STOP: u64 = 1;
    pub(super) const DEVICE: u64 = 2;
    pub(super) const COMPLETIONS: u64 = 3;
    pub(super) const FIRST_KEY: u64 = 16;
}

pub(crate) struct Engine {
    pub(crate) context: Context,
    port: u8,
    pub(crate) channel: Arc<cm::Channel>,
    /// Of the queues that have no channel of their own.
    pub(crate) completions: Arc<CompletionChannel>,
    /// What the thread `dat-events` sleeps on.
    sleep: Epoll,
    targets: RwLock<HashMap<u64, Target>>,
    commands: Sender<Command>,
    wake: EventFd,
    stop: EventFd,
    /// Whether the stop was asked for.
    stopping: AtomicBool,
    keys: AtomicU64,
    removed: AtomicBool,
    sink: Arc<dyn AdapterSink>,
}

/// Who is meant by a key.
#[derive(Clone)]
pub(crate) enum Target {
    Endpoint(Weak<Endpoint>),
    Listener(Weak<Listening>),
    Queue(Weak<Queue>),
    Shared(Weak<Shared>),
}

/// What is left for the thread to do.
pub(crate) enum Command {
    /// An event of a connection or a listener.
    Event(cm::Event),
    /// Something failed on the endpoint of that key.
    Trouble(u64),
    /// A completion queue has upcalls to make: that it is ready, that it overflowed.
    Report(u64, bool, bool),
    /// An endpoint has to be brought to the end of its connection.
    Finish(Arc<Endpoint>),
    /// An endpoint disconnects when its requests have finished.
    Close(Weak<Endpoint>),
    /// The channel of a queue was lent to a waiter.
    Lent(Weak<Queue>),
    /// An attempt of an endpoint failed before it was on its way.
    Fail(Weak<Endpoint>, u64, ConnectionUpcall<'static>),
}

/// What the thread looks after from time to time.
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
            // Rounded up, so that it is not asked in vain.
            EpollTimeout::try_from(rest + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX)
        } else {
            EpollTimeout::NONE
        }
    }
}

/// The running threads.
pub(crate) struct Threads {
    engine: Arc<Engine>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Opens the channels of a device and starts the threads; asynchronous events of other ports
    /// are not heard.
    pub(crate) fn start(context: Context, port: u8, sink: Arc<dyn AdapterSink>) -> Result<Threads> {
        let channel = cm::Channel::new().map_err(not_loaded)?.map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "event channel").advise(
                "load the kernel module rdma_ucm and look at the permissions of \
                     /dev/infiniband/rdma_cm",
            )
        })?;
        let completions = CompletionChannel::new(&context)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "completion channel"))?;
        let descriptor = |flags| EventFd::from_flags(flags).map_err(no_descriptor);
        let (commands, receiver) = channel_of_commands();
        let quick = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let engine = Arc::new(Self {
            context,
            port,
            channel,
            completions,
            sleep: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(no_descriptor)?,
            targets: RwLock::default(),
            commands,
            wake: descriptor(quick)?,
            stop: descriptor(quick)?,
            stopping: AtomicBool::new(false),
            keys: AtomicU64::new(source::FIRST_KEY),
            removed: AtomicBool::new(false),
            sink,
        });
        for fd in [engine.channel.as_fd(), engine.completions.as_fd(), engine.context.as_fd()] {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(no_descriptor)?;
        }
        for (fd, name) in [
            (engine.wake.as_fd(), source::WAKE),
            (engine.stop.as_fd(), source::STOP),
            (engine.context.as_fd(), source::DEVICE),
            (engine.completions.as_fd(), source::COMPLETIONS),
        ] {
            engine.heed(fd, name).map_err(no_descriptor)?;
        }
        let threads = Threads { engine: Arc::clone(&engine), handles: Mutex::default() };
        threads.spawn("dat-cm", Arc::clone(&engine), |engine| engine.take_events())?;
        threads.spawn("dat-events", engine, move |engine| engine.act(&receiver))?;
        Ok(threads)
    }

    /// A key that nothing had before.
    pub(crate) fn fresh_key(&self) -> u64 {
        self.keys.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn register(&self, key: u64, target: Target) {
        self.targets.write().insert(key, target);
    }

    pub(crate) fn forget(&self, key: u64) {
        let before = self.targets.write().remove(&key);
        drop(before);
    }

    fn target(&self, key: u64) -> Option<Target> {
        self.targets.read().get(&key).cloned()
    }

    /// Has the thread listen to a descriptor, which it then knows by that key.
    pub(crate) fn heed(&self, descriptor: BorrowedFd<'_>, key: u64) -> nix::Result<()> {
        self.sleep.add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, key))
    }

    /// Ends that; nothing where it did not listen.
    pub(crate) fn ignore(&self, descriptor: BorrowedFd<'_>) {
        let _ = self.sleep.delete(descriptor);
    }

    /// The queue pairs that there are; one may come twice.
    fn endpoints(&self) -> Vec<Arc<Endpoint>> {
        let targets = self.targets.read();
        let endpoint = |target: &Target| match target {
            Target::Endpoint(endpoint) => endpoint.upgrade(),
            _ => None,
        };
        targets.values().filter_map(endpoint).collect()
    }

    /// Leaves something for the thread to do; nothing when it has ended.
    pub(crate) fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            // A counter that is full wakes as well.
            let _ = self.wake.write(1);
        }
    }

    /// The thread `dat-cm`.
    fn take_events(&self) {
        while self.sleep_on(self.channel.as_fd()) {
            loop {
                match self.channel.take_event() {
                    Ok(event) => self.send(Command::Event(event)),
                    Err(failure) if failure.errno == libc::EINTR => {}
                    Err(failure) => {
                        pause_unless_empty(failure);
                        break;
                    }
                }
            }
        }
    }

    /// The thread `dat-events`.
    fn act(&self, commands: &Receiver<Command>) {
        let mut pending = Pending::default();
        let mut told = [EpollEvent::empty(); BATCH];
        loop {
            // An interruption is as good as a wake-up.
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

    /// Sleeps until the descriptor is readable; whether to go on.
    fn sleep_on(&self, source: BorrowedFd<'_>) -> bool {
        let mut polled = [source, self.stop.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // An interruption is as good as a wake-up.
        let _ = poll(&mut polled, PollTimeout::NONE);
        !self.stopping.load(Ordering::Acquire)
    }

    fn obey(&self, command: Command, pending: &mut Pending) {
        match command {
            Command::Event(event) => match self.target(event.key) {
                Some(Target::Endpoint(endpoint)) => {
                    // What the device says of the queue pair is why the connection ends.
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
                // Of one that is gone; a request is refused by its drop.
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
                    sys::IBV_EVENT_COMM_EST => endpoint.communication_established(),
                    sys::IBV_EVENT_QP_FATAL
                    | sys::IBV_EVENT_QP_REQ_ERR
                    | sys::IBV_EVENT_QP_ACCESS_ERR => endpoint.trouble(),
                    _ => {}
                }
            }
            AsyncEvent::CompletionQueue { key } => self.with_queue(key, Queue::overflowed),
            AsyncEvent::SharedReceive { key, event } => {
                let Some(Target::Shared(shared)) = self.target(key) else { return };
                let Some(shared) = shared.upgrade() else { return };
                if event == sys::IBV_EVENT_SRQ_LIMIT_REACHED {
                    shared.limit_reached();
                } else {
                    self.sink.async_event(AsyncUpcall::ProviderInternal);
                }
            }
            AsyncEvent::Device { event: sys::IBV_EVENT_DEVICE_FATAL } => {
                self.device_removed();
            }
            AsyncEvent::Port { event: sys::IBV_EVENT_PORT_ERR, port } if port == self.port => {
                pending.standstill.watch(self.endpoints());
                self.sink.async_event(AsyncUpcall::ProviderInternal);
            }
            AsyncEvent::Port { .. } | AsyncEvent::Device { .. } => {}
        }
    }

    /// Tells the consumer of an adapter what concerns no single call.
    pub(crate) fn report(&self, event: AsyncUpcall) {
        self.sink.async_event(event);
    }

    /// The device was removed: nothing of it works any more, which is told once.
    pub(crate) fn device_removed(&self) {
        if !self.removed.swap(true, Ordering::Relaxed) {
            self.sink.async_event(AsyncUpcall::Catastrophic);
        }
    }

    /// Whether that was told.
    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }
}

/// After a failure to take an event for another reason than that there is none: a descriptor of
/// a device that is gone stays readable for ever.
fn pause_unless_empty(failure: Failure) {
    if failure.errno != libc::EAGAIN {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn channel_of_commands() -> (Sender<Command>, Receiver<Command>) {
    channel()
}

fn no_descriptor(errno: Errno) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
        .because("no event descriptor could be made")
        .advise("raise the limit of open files (`ulimit -n`)")
        .errno(errno as i32)
}

impl Threads {
    fn spawn(
        &self,
        name: &str,
        engine: Arc<Engine>,
        run: impl FnOnce(&Engine) + Send + 'static,
    ) -> Result<()> {
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            // Signals are the business of the host program's threads.
            let _ = SigSet::all().thread_block();
            run(&engine);
        });
        let handle = thread.map_err(|error| {
            Error::new(ReturnType::InsufficientResources, Subtype::ResourceErrorHandler)
                .because(format!("the thread {name} could not be started"))
                .errno(error.raw_os_error().unwrap_or(0))
        })?;
        self.handles.lock().push(handle);
        Ok(())
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.engine.stopping.store(true, Ordering::Release);
        // Never read, so both threads see it; a counter that is full wakes as well.
        let _ = self.engine.stop.write(1);
        let own = std::thread::current().id();
        for handle in self.handles.get_mut().drain(..) {
            // The last object of an adapter may go in one of its own threads.
            if handle.thread().id() != own {
                // A thread that panicked has ended too.
                let _ = handle.join();
            }
        }
    }
}
