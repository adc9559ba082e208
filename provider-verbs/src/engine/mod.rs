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

mod events;
mod threads;

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{AdapterSink, AsyncUpcall};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use parking_lot::RwLock;

pub(crate) use self::events::Command;
pub(crate) use self::threads::Threads;
use crate::cm;
use crate::completion_queue::Queue;
use crate::errors::exhausted;
use crate::listener::Listening;
use crate::queue_pair::Endpoint;
use crate::shared_receive::Shared;
use crate::verbs::{CompletionChannel, Context, Error as Failure};

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

impl Engine {
    /// Opens the channels of a device and starts the threads; asynchronous events of other ports
    /// are not heard.
    pub(crate) fn start(context: Context, port: u8, sink: Arc<dyn AdapterSink>) -> Result<Threads> {
        let channel = cm::Channel::new().map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "event channel").advise(
                "load the kernel module rdma_ucm, and check the permissions of \
                 /dev/infiniband/rdma_cm",
            )
        })?;
        let completions = CompletionChannel::new(&context)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "completion channel"))?;
        let descriptor = |flags| EventFd::from_flags(flags).map_err(no_descriptor);
        let (commands, receiver) = mpsc::channel();
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
        let threads = Threads::new(Arc::clone(&engine));
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

    /// Sleeps until the descriptor is readable; whether to go on.
    fn sleep_on(&self, source: BorrowedFd<'_>) -> bool {
        let mut polled = [source, self.stop.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // An interruption is as good as a wake-up.
        let _ = poll(&mut polled, PollTimeout::NONE);
        !self.stopping.load(Ordering::Acquire)
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

fn no_descriptor(errno: Errno) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
        .because("cannot create an event descriptor")
        .advise("raise the limit on open files (`ulimit -n`)")
        .errno(errno as i32)
}
