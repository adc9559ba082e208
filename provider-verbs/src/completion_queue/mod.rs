//! Completion queues: the device's, and in front of it what was taken from there already.
//!
//! Completions stay with the device until somebody wants them: the dispatcher that polls, a
//! post that needs room, the end of a connection. What the latter two take waits in `taken`,
//! so that the order is kept. The dispatcher takes several at once, which wait in `batch` as the
//! device gave them, behind those in `taken`; all others that take completions move them there.

mod attachment;
mod batch;
mod poller;
mod routes;

pub(crate) use attachment::Attachment;
pub(crate) use poller::{create, find};
pub(crate) use routes::{number_of, shared_identifier};

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{Completion, CompletionSink, Notify};
use dat_sync::biased::{BiasedGuard, BiasedLock};

use batch::Batch;
use routes::{Room, Routes};

use crate::device::Device;
use crate::ear::{Ear, Look};
use crate::engine::{Command, Engine, Target};
use crate::errors::exhausted;
use crate::ledger::{Done, Ledger};
use crate::shared_receive::Shared;
use crate::verbs::{self, CompletionChannel, Error as Failure};

/// Completions that are taken from the device at once.
const BATCH: usize = 16;

/// The least length of a queue of a device that makes none longer: 32 endpoints of the default
/// size can complete there.
pub(crate) const FIXED: u32 = 4096;

pub(crate) struct Queue {
    pub(crate) device: Arc<Device>,
    key: u64,
    me: Weak<Self>,
    pub(crate) hardware: Arc<verbs::CompletionQueue>,
    /// Its own channel, on which a waiter can sleep; without one the adapter's tells of it.
    channel: Option<Arc<CompletionChannel>>,
    inner: BiasedLock<Inner>,
    sink: Option<Arc<dyn CompletionSink>>,
}

struct Inner {
    /// Nothing is in it while a completion is in `taken` or one would make an upcall.
    batch: Batch,
    routes: Routes,
    taken: VecDeque<Taken>,
    /// How many completions may wait.
    depth: usize,
    /// What the device's queue must hold for all that may complete here.
    needed: u32,
    notify: Notify,
    armed: Armed,
    /// Somebody polled arrivals of interest that no upcall has told of yet.
    untold: bool,
    ear: Ear,
    /// Nobody will poll any more.
    closed: bool,
    /// What to ask for so as to be told of failures while nobody polls ever.
    unpolled: Armed,
    /// What to ask for so as to be told of solicited completions.
    solicited: Armed,
}

/// What the device was asked to tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    Solicited,
    Everything,
}

/// A completion that waits, and where its room is counted.
struct Taken {
    completion: Completion,
    room: Room,
}

/// Upcalls to make when the lock is gone.
#[derive(Default)]
#[must_use]
struct Upcalls {
    ready: bool,
    overflow: bool,
}

/// A channel of a queue's own, which the thread listens to; none where there is none to be had.
fn own_channel(engine: &Engine, key: u64) -> Option<Arc<CompletionChannel>> {
    let channel = CompletionChannel::new(&engine.context).ok()?;
    channel.set_nonblocking().ok()?;
    engine.heed(channel.as_fd(), key).ok()?;
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
        // A waiter can sleep only where the channel tells of nothing else. Where the process has
        // no descriptor left the thread wakes it.
        let channel = sink.is_some().then(|| own_channel(engine, key)).flatten();
        let told = channel.as_ref().unwrap_or(&engine.completions);
        let make = |depth| verbs::CompletionQueue::new(&engine.context, depth, key, Some(told));
        // One that stays as long as it is made has to hold all that will be outstanding.
        let roomy = match device.limits.has_resize {
            true => wanted,
            false => wanted.saturating_mul(2).max(FIXED).min(device.limits.max_cqe).max(wanted),
        };
        let hardware = make(roomy)
            .or_else(|_| make(wanted))
            .map_err(|failure| exhausted(failure, Subtype::ResourceTevd, "completion queue"))?;
        let inner = Inner {
            batch: Batch::new(),
            routes: Routes::new(&device.limits),
            taken: VecDeque::new(),
            depth,
            needed: 0,
            notify: Notify::Off,
            armed: Armed::Nothing,
            untold: false,
            ear: Ear::default(),
            closed: sink.is_none(),
            // Soft-RoCE tells of failures only whoever asks for everything.
            unpolled: match device.limits.is_soft_roce() {
                true => Armed::Everything,
                false => Armed::Solicited,
            },
            // Soft-iWARP tells of no solicited one: there all count as such, which wakes a waiter
            // too often, and not too seldom.
            solicited: match device.limits.is_soft_iwarp() {
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
        engine.register(key, Target::Queue(Arc::downgrade(&queue)));
        Ok(queue)
    }

    /// Makes a work queue known, with room for that many completions of the device's.
    pub(crate) fn attach(
        self: &Arc<Self>,
        ledger: &Arc<Ledger>,
        shared: Option<&Arc<Shared>>,
        room: u32,
        datagrams: bool,
    ) -> Result<Attachment> {
        let mut inner = self.inner.lock();
        let needed = inner.needed.saturating_add(room);
        let most = self.device.limits.max_cqe;
        if needed > self.hardware.depth() && needed <= most {
            // Twice of it, so that many queue pairs do not resize each time.
            let roomy = needed.saturating_mul(2).min(most);
            self.hardware
                .resize(roomy)
                .or_else(|_| self.hardware.resize(needed))
                .map_err(|failure| self.too_short(needed, failure))?;
        }
        let Some((index, place)) = inner.routes.add(ledger, shared, datagrams) else {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTevd)
                .because("the dispatcher already serves its maximum of 65535 work queues")
                .advise("use another dispatcher for some of the endpoints"));
        };
        inner.needed = needed;
        if let Some(shared) = shared {
            shared.serve(self);
        }
        // Failures are told of even while nobody waits: a connection may have broken by them.
        inner.arm(&self.hardware);
        drop(inner);
        Ok(Attachment { queue: Arc::clone(self), index, place, room })
    }

    /// What will be outstanding does not fit.
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

    /// Takes all completions from the device; wakes who waits for them.
    pub(crate) fn collect(&self) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        drop(inner);
        self.report(upcalls);
    }

    /// The same where no upcall may be made; whoever waits is woken soon, by the thread.
    pub(crate) fn collect_quietly(&self) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        drop(inner);
        if upcalls.ready || upcalls.overflow {
            self.device.engine.send(Command::Report(self.key, upcalls.ready, upcalls.overflow));
        }
    }

    /// Makes upcalls that were left for the thread.
    pub(crate) fn report_later(&self, ready: bool, overflow: bool) {
        self.report(Upcalls { ready, overflow });
    }

    /// Completes what is outstanding on a work queue as flushed, in order.
    pub(crate) fn flush(&self, ledger: &Arc<Ledger>) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(self, false, &mut upcalls);
        while let Some(done) = ledger.flush_one() {
            let depth = inner.depth;
            inner.keep(done, Room::Ledger(Arc::clone(ledger)), depth, false, &mut upcalls);
        }
        drop(inner);
        self.report(upcalls);
    }

    /// The own channel is readable; what it tells is for a waiter where it is lent.
    pub(crate) fn own_channel_event(&self) {
        let Some(channel) = &self.channel else { return };
        let inner = self.inner.lock();
        if inner.ear.is_lent() {
            return;
        }
        match channel.take_event() {
            Ok(_) => self.told(inner),
            Err(failure) if matches!(failure.errno, libc::EAGAIN | libc::EINTR) => {}
            // That of a device that is gone stays readable for ever.
            Err(_) => self.device.engine.ignore(channel.as_fd()),
        }
    }

    /// The adapter's channel told of completions.
    pub(crate) fn channel_event(&self) {
        self.told(self.inner.lock());
    }

    /// The device told of completions.
    fn told(&self, mut inner: BiasedGuard<'_, Inner>) {
        // One that was armed for everything before only solicited ones counted may be either.
        let solicited = inner.armed == Armed::Solicited || inner.notify == Notify::Solicited;
        inner.armed = Armed::Nothing;
        let mut upcalls = Upcalls::default();
        let mut found = inner.collect(self, solicited, &mut upcalls);
        inner.arm(&self.hardware);
        // What came before the arming is told by nobody else.
        found += inner.collect(self, solicited, &mut upcalls);
        // An arrival that somebody polled before this counts all the same. What tells of none is
        // old: a waiter had the channel, or took what was told in another way.
        let untold = std::mem::take(&mut inner.untold);
        upcalls.ready |= found == 0 && untold && inner.notify != Notify::Off;
        drop(inner);
        self.report(upcalls);
    }

    /// Whether a waiter keeps the channel; taken back, it is the thread's again.
    pub(crate) fn is_lent_for_longer(&self) -> bool {
        let mut inner = self.inner.lock();
        match inner.ear.look() {
            Look::Later => true,
            Look::Enough => false,
            Look::TakeBack => {
                self.heed();
                // What came meanwhile shows at the channel.
                inner.arm(&self.hardware);
                false
            }
        }
    }

    /// Has the thread listen to the own channel. Without memory for that, failures are found by
    /// polls alone.
    fn heed(&self) {
        if let Some(channel) = &self.channel {
            let _ = self.device.engine.heed(channel.as_fd(), self.key);
        }
    }

    /// Lends the channel to a waiter that is about to sleep, and takes from it what it told.
    fn lend(&self, inner: &mut Inner, channel: &CompletionChannel) {
        let lending = inner.ear.lend();
        if lending.ignore {
            self.device.engine.ignore(channel.as_fd());
        }
        if lending.list {
            self.device.engine.send(Command::Lent(Weak::clone(&self.me)));
        }
        // Without an arming there is nothing to be told of.
        if inner.armed != Armed::Nothing && channel.take_event().is_ok() {
            inner.armed = Armed::Nothing;
            inner.untold = false;
        }
    }

    /// The device lost completions.
    pub(crate) fn overflowed(&self) {
        if let Some(sink) = &self.sink {
            sink.completion_overflow();
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

    /// Tells the engine that something failed on a work queue, once in a connection.
    #[cold]
    fn trouble(&self, ledger: &Ledger) {
        if !ledger.told.swap(true, Ordering::Relaxed) {
            self.device.engine.send(Command::Trouble(ledger.owner));
        }
    }
}

impl Inner {
    /// Has the device tell of what is of interest now; failures always are.
    fn arm(&mut self, hardware: &verbs::CompletionQueue) {
        // With nothing that completes here there is nothing to tell, and an arming can't be
        // taken back.
        if self.routes.are_none() {
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

    /// Moves all completions of the device's to those that wait, and returns how many there were.
    fn collect(&mut self, queue: &Queue, solicited: bool, upcalls: &mut Upcalls) -> usize {
        // They came earlier, and were told of then.
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

    /// Moves what the batch has to those that wait, of which there may be so many then, and
    /// returns how many there were.
    fn unpack(
        &mut self,
        queue: &Queue,
        depth: usize,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) -> usize {
        let mut found = 0;
        while let Some(entry) = self.batch.next() {
            if let Some((done, room)) = self.routes.translate(queue, &entry) {
                let room = room.keep();
                self.keep(done, room, depth, solicited, upcalls);
            }
            found += 1;
        }
        found
    }

    /// Lets a completion wait, or drops it when there is no room or nobody to poll.
    fn keep(
        &mut self,
        done: Done,
        room: Room,
        depth: usize,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        if self.closed || self.taken.len() >= depth {
            room.release();
            upcalls.overflow |= !self.closed;
            return;
        }
        let mut features = done.features;
        features.solicited |= solicited && !done.completion.operation.is_request();
        upcalls.ready |= self.notify.wants(features);
        self.taken.push_back(Taken { completion: done.completion, room });
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(channel) = &self.channel {
            // A waiter may keep the channel for longer.
            self.device.engine.ignore(channel.as_fd());
        }
        self.device.engine.forget(self.key);
    }
}
