//! The two threads of a device, which serve all open instances of its adapters: a queue pair of one
//! instance can then complete into the queues of another.
//!
//! `dat-cm` takes connection events, copies and acknowledges each at once, and passes it on. It
//! never does anything else, so destroying an identifier never takes long (rdma_destroy_id(3) waits
//! until all its events are acknowledged).
//!
//! `dat-events` acts on these events, on failed completions and on others for which a queue is
//! armed, on asynchronous events of the device, and on commands of other threads. The device itself
//! wakes waiters that sleep on a channel (`channel_lease`). All upcalls that are not made inside a downcall
//! are made by this thread. It holds no unacknowledged event, so destroying an object in it blocks
//! on no other thread.

mod events;
mod share;
mod target;
mod threads;

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::Sender;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_sync::RwLock;
use dat_sync::descriptors::{WatchSets, is_lost};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

pub(crate) use self::events::Command;
pub(crate) use self::share::shared;
pub(crate) use self::target::{
    InstanceEvents, ListenerEvents, QueueEvents, QueuePairEvents, SharedReceiveEvents, Target,
};
pub(crate) use self::threads::Threads;
use crate::cm;
use crate::errors::exhausted;
use crate::verbs::{CompletionChannel, CompletionQueue, Context, Error as Failure};

/// The keys of the thread's own descriptors: below all other keys.
mod source {
    pub(super) const WAKE: u64 = 0;
    pub(super) const CHANNEL: u64 = 1;
    pub(super) const DEVICE: u64 = 2;
    pub(super) const COMPLETIONS: u64 = 3;
    pub(super) const FIRST_KEY: u64 = 16;
}

/// The set of the thread `dat-events`, and that of `dat-cm`.
const EVENTS: usize = 0;
const CM: usize = 1;

/// The threads wake up after this time at the latest, and find out whether the program has closed their descriptors.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

pub(crate) struct Engine {
    pub(crate) context: Context,
    /// Distinguishes it from every other engine of this process.
    pub(crate) number: u64,
    /// Keeps a place in the context occupied that must not be used.
    _placeholder: Option<Arc<CompletionQueue>>,
    instances: RwLock<Vec<Weak<dyn InstanceEvents>>>,
    pub(crate) channel: Arc<cm::EventChannel>,
    /// The channel of queues that have no channel of their own.
    pub(crate) completions: Arc<CompletionChannel>,
    /// The sets on which the threads `dat-events` and `dat-cm` sleep.
    sets: WatchSets<2>,
    targets: RwLock<HashMap<u64, Target>>,
    commands: Sender<Command>,
    /// Set when the threads must stop.
    stopping: AtomicBool,
    keys: AtomicU64,
    removed: AtomicBool,
}

impl Engine {
    /// Opens the channels of a device and starts the threads.
    fn start(context: Context, placeholder: Option<Arc<CompletionQueue>>) -> Result<Threads> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let channel = cm::EventChannel::new().map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "event channel").advise(
                "load the kernel module rdma_ucm, and check the permissions of \
                 /dev/infiniband/rdma_cm",
            )
        })?;
        let completions = CompletionChannel::new(&context)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "completion channel"))?;
        let (commands, receiver) = crossbeam_channel::unbounded();
        let engine = Arc::new(Self {
            context,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            _placeholder: placeholder,
            instances: RwLock::default(),
            channel,
            completions,
            sets: WatchSets::new().map_err(no_descriptor)?,
            targets: RwLock::default(),
            commands,
            stopping: AtomicBool::new(false),
            keys: AtomicU64::new(source::FIRST_KEY),
            removed: AtomicBool::new(false),
        });
        for fd in [engine.channel.as_fd(), engine.completions.as_fd(), engine.context.as_fd()] {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
                .map_err(|errno| no_descriptor(Errno::from_raw_os_error(errno as i32)))?;
        }
        for (fd, name) in [
            (engine.context.as_fd(), source::DEVICE),
            (engine.completions.as_fd(), source::COMPLETIONS),
        ] {
            engine.watch_fd(fd, name).map_err(no_descriptor)?;
        }
        let channel = epoll::EventData::new_u64(source::CHANNEL);
        epoll::add(engine.sets.set(CM), engine.channel.as_fd(), channel, epoll::EventFlags::IN)
            .map_err(no_descriptor)?;
        let threads = Threads::new(Arc::clone(&engine));
        threads.spawn("dat-cm", Arc::clone(&engine), |engine| engine.take_events())?;
        threads.spawn("dat-events", engine, move |engine| engine.act(&receiver))?;
        Ok(threads)
    }

    /// Adds an open instance; it leaves when it is dropped.
    pub(crate) fn add_instance(&self, instance: Weak<dyn InstanceEvents>) {
        let mut instances = self.instances.write();
        instances.retain(|instance| instance.strong_count() > 0);
        instances.push(instance.clone());
        drop(instances);
        if let (true, Some(instance)) = (self.is_removed(), instance.upgrade()) {
            instance.report_removal();
        }
    }

    /// The open instances.
    fn instances(&self) -> Vec<Arc<dyn InstanceEvents>> {
        self.instances.read().iter().filter_map(Weak::upgrade).collect()
    }

    /// A key that was never used before.
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

    /// Makes the thread listen to a descriptor, whose events then have that key.
    pub(crate) fn watch_fd(&self, descriptor: BorrowedFd<'_>, key: u64) -> rustix::io::Result<()> {
        let data = epoll::EventData::new_u64(key);
        epoll::add(self.sets.set(EVENTS), descriptor, data, epoll::EventFlags::IN)
    }

    /// Stops listening to a descriptor; no effect if the thread did not listen to it.
    pub(crate) fn unwatch_fd(&self, descriptor: BorrowedFd<'_>) {
        let _ = epoll::delete(self.sets.set(EVENTS), descriptor);
    }

    /// All queue pairs of a port; one may occur twice.
    fn queue_pairs(&self, port: u8) -> Vec<Arc<dyn QueuePairEvents>> {
        let targets = self.targets.read();
        let queue_pair = |target: &Target| match target {
            Target::QueuePair(queue_pair) => queue_pair.upgrade(),
            _ => None,
        };
        let queue_pairs: Vec<_> = targets.values().filter_map(queue_pair).collect();
        // Without the lock: the drop of the last reference to a queue pair takes it.
        drop(targets);
        queue_pairs.into_iter().filter(|queue_pair| queue_pair.port() == port).collect()
    }

    /// Passes a command to the thread; no effect after the thread has ended.
    pub(crate) fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            self.wake();
        }
    }

    /// Wakes the thread `dat-events`. If the program has closed the descriptor, the thread finds that out.
    fn wake(&self) {
        let _ = self.sets.wake(EVENTS, source::WAKE);
    }

    /// Makes the threads stop. Returns whether both were woken.
    fn stop(&self) -> bool {
        self.stopping.store(true, Ordering::Release);
        let woken = [EVENTS, CM].map(|set| self.sets.wake(set, source::WAKE));
        woken.iter().all(|woken| woken.is_ok())
    }

    /// The main function of the thread `dat-cm`.
    fn take_events(&self) {
        while self.sleep_on_channel() {
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

    /// Sleeps until the channel is readable. Returns whether to continue: not if the threads must stop, or if the program
    /// has closed descriptors. Taking an event writes a command, which must not get into a file of the program.
    fn sleep_on_channel(&self) -> bool {
        let set = self.sets.set(CM);
        let (data, limit) =
            (epoll::EventData::new_u64(source::CHANNEL), Timespec::try_from(LONGEST_SLEEP).ok());
        let mut events = [MaybeUninit::uninit(); 2];
        // An interruption (EINTR) is handled like a wake-up.
        let slept = epoll::wait(set, events.as_mut_slice(), limit.as_ref()).map(drop);
        let is_there = epoll::modify(set, self.channel.as_fd(), data, epoll::EventFlags::IN);
        if [slept, is_there].iter().any(|result| result.is_err_and(is_lost)) {
            self.device_removed();
            return false;
        }
        !self.stopping.load(Ordering::Acquire)
    }

    /// The device was removed and cannot be used any more; reported once to each instance.
    pub(crate) fn device_removed(&self) {
        self.removed.store(true, Ordering::Relaxed);
        for instance in self.instances() {
            instance.report_removal();
        }
    }

    /// Returns true if the device was removed.
    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }
}

/// Pauses after an event could not be taken, unless there was none: the descriptor of a removed
/// device stays readable forever.
fn pause_unless_empty(failure: Failure) {
    if failure.errno != libc::EAGAIN {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn no_descriptor(errno: Errno) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
        .because("cannot create an event descriptor")
        .advise("raise the limit on open files (`ulimit -n`)")
        .errno(errno.raw_os_error())
}
