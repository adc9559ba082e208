//! Completion queues: the device's queue, and completions already polled from it.
//!
//! Completions stay in the device's queue until they are needed: by the dispatcher that polls, by a
//! post that needs a free entry, or at the end of a connection. The latter two move them to
//! `taken`, which keeps their order. The dispatcher polls several at once; they wait in `batch` in
//! the device's form, after those in `taken`. All other code that takes completions moves them from
//! `batch` to `taken` first.

mod attachment;
mod batch;
mod identifier;
mod poller;
mod work_queue_table;

pub(crate) use attachment::Attachment;
pub(crate) use identifier::{number_of, shared_identifier};
pub(crate) use poller::{create, find};

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{Completion, CompletionSink, Notify};
use dat_sync::biased::{BiasedGuard, BiasedLock};

use batch::{BATCH, Batch};
use work_queue_table::{Credit, WorkQueueTable};

use crate::channel_lease::{ChannelLease, Review};
use crate::device::Device;
use crate::engine::{Command, Engine, QueueEvents, Target};
use crate::errors::exhausted;
use crate::shared_receive::Shared;
use crate::verbs::{self, CompletionChannel, Error as Failure};
use crate::work_queue::{Done, WorkQueue};

/// Minimum length of a queue on a device that cannot resize queues: 32 endpoints of the default
/// size can complete into it.
pub(crate) const FIXED: u32 = 4096;

pub(crate) struct Queue {
    pub(crate) device: Arc<Device>,
    key: u64,
    me: Weak<Self>,
    pub(crate) hardware: Arc<verbs::CompletionQueue>,
    /// The queue's own channel, on which a waiter can sleep; without one, the adapter's channel
    /// reports its completions.
    channel: Option<Arc<CompletionChannel>>,
    inner: BiasedLock<Inner>,
    sink: Option<Arc<dyn CompletionSink>>,
}

struct Inner {
    /// Empty while `taken` has a completion, or while a completion would make an upcall.
    batch: Batch,
    work_queue_table: WorkQueueTable,
    taken: VecDeque<Taken>,
    /// Maximum number of completions in `taken`.
    depth: usize,
    /// Number of completions that the device's queue must be able to hold.
    needed: u32,
    notify: Notify,
    armed: Armed,
    /// Completions that should notify were polled, and no upcall has reported them.
    unreported: bool,
    lease: ChannelLease,
    /// The poller was dropped.
    closed: bool,
    /// How to arm the queue for failures if it never had a poller.
    unpolled: Armed,
    /// How to arm the queue for solicited completions.
    solicited: Armed,
}

/// The completions for which the device's queue is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    Solicited,
    Everything,
}

/// A completion that waits to be polled, and where its queue credit is counted.
struct Taken {
    completion: Completion,
    credit: Credit,
}

/// Upcalls to be made after the lock was released.
#[derive(Default)]
#[must_use]
struct Upcalls {
    ready: bool,
    overflow: bool,
}

/// Creates a queue's own channel, to which the thread listens; `None` if that is impossible.
fn own_channel(engine: &Engine, key: u64) -> Option<Arc<CompletionChannel>> {
    let channel = CompletionChannel::new(&engine.context).ok()?;
    channel.set_nonblocking().ok()?;
    engine.watch_fd(channel.as_fd(), key).ok()?;
    Some(channel)
}

impl Queue {
    fn new(
        device: &Arc<Device>,
        depth: usize,
        sink: Option<Arc<dyn CompletionSink>>,
    ) -> Result<Arc<Self>> {
        let key = device.engine.fresh_key();
        let engine = &device.engine;
        let wanted = u32::try_from(depth).unwrap_or(u32::MAX);
        // A waiter can sleep only on a channel that reports nothing else. If the process has no
        // descriptor left, the thread wakes the waiter.
        let channel = sink.is_some().then(|| own_channel(engine, key)).flatten();
        let reporter = channel.as_ref().unwrap_or(&engine.completions);
        let make = |depth| verbs::CompletionQueue::new(&engine.context, depth, key, Some(reporter));
        // A queue that cannot be resized must hold everything that may ever be outstanding.
        let larger = match device.limits.has_resize {
            true => wanted,
            false => wanted.saturating_mul(2).max(FIXED).min(device.limits.max_cqe).max(wanted),
        };
        let hardware = make(larger)
            .or_else(|_| make(wanted))
            .map_err(|failure| exhausted(failure, Subtype::ResourceTevd, "completion queue"))?;
        let inner = Inner {
            batch: Batch::new(),
            work_queue_table: WorkQueueTable::new(&device.limits)
                .ok_or_else(|| Error::no_memory("the completion queue"))?,
            taken: VecDeque::new(),
            depth,
            needed: 0,
            notify: Notify::Off,
            armed: Armed::Nothing,
            unreported: false,
            lease: ChannelLease::default(),
            closed: sink.is_none(),
            unpolled: match device.limits.quirks.solicited_arming_misses_failures {
                true => Armed::Everything,
                false => Armed::Solicited,
            },
            solicited: match device.limits.quirks.solicited_arming_misses_solicited {
                true => Armed::Everything,
                false => Armed::Solicited,
            },
        };
        let queue = Arc::new_cyclic(|me| Self {
            device: Arc::clone(device),
            key,
            me: Weak::clone(me),
            hardware,
            channel,
            inner: BiasedLock::new(inner),
            sink,
        });
        engine.register(key, Target::Queue(queue.me.clone()));
        Ok(queue)
    }

    /// Registers a work queue, with space for its completions in the device's queue.
    pub(crate) fn attach(
        self: &Arc<Self>,
        work_queue: &Arc<WorkQueue>,
        shared: Option<&Arc<Shared>>,
        entries: u32,
        datagrams: bool,
    ) -> Result<Attachment> {
        let mut inner = self.inner.lock();
        let needed = inner.needed.saturating_add(entries);
        let most = self.device.limits.max_cqe;
        if needed > self.hardware.depth() && needed <= most {
            // Double the size, so that not every new queue pair resizes the queue.
            let larger = needed.saturating_mul(2).min(most);
            self.hardware
                .resize(larger)
                .or_else(|_| self.hardware.resize(needed))
                .map_err(|failure| self.too_short(needed, failure))?;
        }
        if !inner.work_queue_table.reserve() {
            return Err(Error::no_memory("another endpoint of the dispatcher"));
        }
        let Some((index, place)) = inner.work_queue_table.add(work_queue, shared, datagrams) else {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTevd)
                .because("the dispatcher already serves its maximum of 65535 work queues")
                .advise("use another dispatcher for some of the endpoints"));
        };
        inner.needed = needed;
        if let Some(shared) = shared {
            shared.serve(self.me.clone());
        }
        // Failures must be reported even if no thread waits: one may have broken a connection.
        inner.arm(&self.hardware);
        drop(inner);
        Ok(Attachment { queue: Arc::clone(self), index, place, entries })
    }

    /// The error if the queue cannot hold all completions that may be outstanding.
    fn too_short(&self, needed: u32, failure: Failure) -> Error {
        if self.device.limits.has_resize {
            return exhausted(failure, Subtype::ResourceTevd, "longer completion queue");
        }
        Error::new(ReturnType::InsufficientResources, Subtype::ResourceTevd)
            .because(format!(
                "{needed} completions may be outstanding; the dispatcher's queue holds {} and \
                 this device cannot resize it",
                self.hardware.depth()
            ))
            .advise(format!("create the dispatcher with a length of {needed}"))
            .errno(failure.errno)
    }

    /// Takes all completions from the device; wakes the waiter.
    pub(crate) fn collect(&self) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        drop(inner);
        self.report(upcalls);
    }

    /// Returns true if as many completions wait for the consumer as the queue can hold.
    pub(crate) fn is_full(&self) -> bool {
        let inner = self.inner.lock();
        inner.taken.len() >= inner.depth
    }

    /// Completes everything outstanding on a work queue as flushed, in order.
    pub(crate) fn flush(&self, work_queue: &Arc<WorkQueue>) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        while let Some(done) = work_queue.flush_one() {
            let depth = inner.depth;
            inner.keep(done, Credit::WorkQueue(Arc::clone(work_queue)), depth, false, &mut upcalls);
        }
        drop(inner);
        self.report(upcalls);
    }

    /// Leaves upcalls to the thread, which makes them soon.
    fn leave(&self, upcalls: Upcalls) {
        let Upcalls { ready, overflow } = upcalls;
        if ready || overflow {
            self.device.engine.send(Command::Report(self.key, ready, overflow));
        }
    }

    /// The device reported completions.
    fn completions_reported(&self, mut inner: BiasedGuard<'_, Inner>) {
        // If the queue was armed for all completions before the mode changed to solicited, the
        // event may be for either.
        let solicited = inner.armed == Armed::Solicited || inner.notify == Notify::Solicited;
        inner.armed = Armed::Nothing;
        let mut upcalls = Upcalls::default();
        let mut found = inner.collect(self, solicited, &mut upcalls);
        inner.arm(&self.hardware);
        // No event reports completions that arrived before the arming.
        found += inner.collect(self, solicited, &mut upcalls);
        // A completion that another thread polled before this counts too. An event for no
        // completion is stale: a waiter had the channel, or polled what the event was for.
        let unreported = std::mem::take(&mut inner.unreported);
        upcalls.ready |= found == 0 && unreported && inner.notify != Notify::Off;
        drop(inner);
        self.report(upcalls);
    }

    /// Makes the thread listen to the queue's own channel. Without memory for that, failures are
    /// found only by polls.
    fn watch_channel(&self) {
        if let Some(channel) = &self.channel {
            let _ = self.device.engine.watch_fd(channel.as_fd(), self.key);
        }
    }

    /// Lends the channel to a waiter that is about to sleep, and consumes a pending event.
    fn lend(&self, inner: &mut Inner, channel: &CompletionChannel) {
        let lending = inner.lease.lend();
        if lending.ignore {
            self.device.engine.unwatch_fd(channel.as_fd());
        }
        if lending.list {
            self.device.engine.send(Command::Lent(self.me.clone()));
        }
        // Without arming there is no event.
        if inner.armed != Armed::Nothing && channel.take_event().is_ok() {
            inner.armed = Armed::Nothing;
            inner.unreported = false;
        }
    }

    fn report(&self, upcalls: Upcalls) {
        let Some(sink) = &self.sink else { return };
        if upcalls.overflow {
            sink.completion_overflow();
        }
        if upcalls.ready {
            sink.completion_ready();
        }
    }
}

impl QueueEvents for Queue {
    fn own_channel_event(&self) {
        let Some(channel) = &self.channel else { return };
        let inner = self.inner.lock();
        if inner.lease.is_lent() {
            return;
        }
        match channel.take_event() {
            Ok(_) => self.completions_reported(inner),
            Err(failure) if matches!(failure.errno, libc::EAGAIN | libc::EINTR) => {}
            // The channel of a removed device stays readable forever.
            Err(_) => self.device.engine.unwatch_fd(channel.as_fd()),
        }
    }

    fn channel_event(&self) {
        self.completions_reported(self.inner.lock());
    }

    fn is_lent_for_longer(&self) -> bool {
        let mut inner = self.inner.lock();
        match inner.lease.review() {
            Review::Later => true,
            Review::Enough => false,
            Review::TakeBack => {
                self.watch_channel();
                // If completions have arrived in the meantime, the armed channel shows it.
                inner.arm(&self.hardware);
                false
            }
        }
    }

    fn overflowed(&self) {
        if let Some(sink) = &self.sink {
            sink.completion_overflow();
        }
    }

    fn collect_quietly(&self) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        drop(inner);
        self.leave(upcalls);
    }

    fn report_later(&self, ready: bool, overflow: bool) {
        self.report(Upcalls { ready, overflow });
    }
}

impl Inner {
    /// Arms the queue for the completions that must notify now; failures always do.
    fn arm(&mut self, hardware: &verbs::CompletionQueue) {
        // If no work queue is registered there is nothing to report, and arming cannot be undone.
        if self.work_queue_table.are_none() {
            return;
        }
        let wanted = match self.notify {
            Notify::Off if self.closed => self.unpolled,
            Notify::Off => Armed::Solicited,
            Notify::Solicited => self.solicited,
            Notify::Signalled => Armed::Everything,
        };
        if self.armed == wanted || self.armed == Armed::Everything {
            return;
        }
        if hardware.arm(wanted == Armed::Solicited).is_ok() {
            self.armed = wanted;
        }
    }

    /// Moves all completions from the device to `taken`; returns their number.
    fn collect(&mut self, queue: &Queue, solicited: bool, upcalls: &mut Upcalls) -> usize {
        // These arrived earlier and were reported then.
        self.unpack(queue, usize::MAX, false, upcalls);
        let (mut found, depth) = (0, self.depth);
        loop {
            self.batch.fill(&queue.hardware);
            let count = self.unpack(queue, depth, solicited, upcalls);
            found += count;
            if count < BATCH {
                return found;
            }
        }
    }

    /// Moves the batch to `taken`, which may hold up to `depth` completions afterwards; returns their
    /// number.
    fn unpack(
        &mut self,
        queue: &Queue,
        depth: usize,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) -> usize {
        let mut found = 0;
        while let Some(entry) = self.batch.next() {
            if let Some((done, credit)) =
                self.work_queue_table.translate(&queue.device.engine, &entry)
            {
                self.keep(done, credit, depth, solicited, upcalls);
            }
            found += 1;
        }
        found
    }

    /// Adds a completion to `taken`, or drops it if that is full or there is no poller.
    fn keep(
        &mut self,
        done: Done,
        credit: Credit,
        depth: usize,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        if self.closed || self.taken.len() >= depth {
            credit.release();
            upcalls.overflow |= !self.closed;
            return;
        }
        let mut features = done.features;
        features.solicited |= solicited && !done.completion.operation.is_request();
        upcalls.ready |= self.notify.wants(features);
        self.taken.push_back(Taken { completion: done.completion, credit });
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(channel) = &self.channel {
            // A waiter may keep the channel longer than the queue exists.
            self.device.engine.unwatch_fd(channel.as_fd());
        }
        self.device.engine.forget(self.key);
    }
}
