//! Completion queues: the device's, and in front of it what was taken from there already.
//!
//! Completions stay with the device until somebody wants them: the dispatcher that polls, a
//! post that needs room, the end of a connection. What the latter two take waits in `taken`,
//! so that the order is kept.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{
    Completion, CompletionPoller, CompletionQueue, CompletionQueueParts, CompletionSink, Notify,
};
use dat_core::{DtoStatus, Operation};
use parking_lot::Mutex;

use crate::device::Device;
use crate::engine::{Command, Target};
use crate::errors::{exhausted, foreign, internal};
use crate::ledger::{Done, Ledger};
use crate::shared_receive::Shared;
use crate::sys::verbs as sys;
use crate::verbs::{self, WorkCompletion};

/// Completions that are taken from the device at once.
const BATCH: usize = 16;

pub(crate) struct Queue {
    pub(crate) device: Arc<Device>,
    key: u64,
    pub(crate) hardware: Arc<verbs::CompletionQueue>,
    inner: Mutex<Inner>,
    sink: Option<Arc<dyn CompletionSink>>,
}

struct Inner {
    routes: Routes,
    taken: VecDeque<Taken>,
    /// How many completions may wait.
    depth: usize,
    /// What the device's queue must hold for all that may complete here.
    needed: u32,
    notify: Notify,
    armed: Armed,
    /// Nobody will poll any more.
    closed: bool,
}

/// Where completions of the device's belong.
struct Routes {
    entries: Vec<Entry>,
    /// Queue pairs with a shared receive queue, by number: their completions name a buffer.
    by_number: HashMap<u32, usize>,
}

/// What the device was asked to tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Nothing,
    Solicited,
    Everything,
}

/// A work queue that completes here.
struct Entry {
    /// Distinguishes it from those that had the place before.
    generation: u16,
    ledger: Option<Arc<Ledger>>,
    shared: Option<Arc<Shared>>,
}

/// A completion that waits, and where its room is counted.
struct Taken {
    completion: Completion,
    room: Room,
}

enum Room {
    Ledger(Arc<Ledger>),
    Shared(Arc<Shared>),
}

impl Room {
    fn release(&self) {
        self.borrow().release();
    }

    fn borrow(&self) -> RoomRef<'_> {
        match self {
            Self::Ledger(ledger) => RoomRef::Ledger(ledger),
            Self::Shared(shared) => RoomRef::Shared(shared),
        }
    }
}

/// The same for a completion that nobody has to keep.
#[derive(Clone, Copy)]
enum RoomRef<'a> {
    Ledger(&'a Arc<Ledger>),
    Shared(&'a Arc<Shared>),
}

impl RoomRef<'_> {
    #[inline]
    fn release(self) {
        match self {
            Self::Ledger(ledger) => ledger.release(1),
            Self::Shared(shared) => shared.release(),
        }
    }

    fn keep(self) -> Room {
        match self {
            Self::Ledger(ledger) => Room::Ledger(Arc::clone(ledger)),
            Self::Shared(shared) => Room::Shared(Arc::clone(shared)),
        }
    }
}

/// Upcalls to make when the lock is gone.
#[derive(Default)]
#[must_use]
struct Upcalls {
    ready: bool,
    overflow: bool,
}

/// The place of a work queue on its completion queue; given back when dropped.
pub(crate) struct Attachment {
    pub(crate) queue: Arc<Queue>,
    index: usize,
    generation: u16,
    room: u32,
}

/// The half that queue pairs are made with.
struct Handle(Arc<Queue>);

struct Poller(Arc<Queue>);

/// A queue that reports to a dispatcher.
pub(crate) fn create(
    device: &Arc<Device>,
    depth: usize,
    sink: Arc<dyn CompletionSink>,
) -> Result<CompletionQueueParts> {
    let queue = Queue::new(device, depth, Some(sink))?;
    Ok(CompletionQueueParts {
        queue: Arc::new(Handle(Arc::clone(&queue))),
        poller: Box::new(Poller(queue)),
    })
}

/// The queue behind a handle of the contract, or one of its own where nobody is interested.
pub(crate) fn find(
    device: &Arc<Device>,
    queue: Option<&dyn CompletionQueue>,
    subtype: Subtype,
) -> Result<Arc<Queue>> {
    match queue {
        None => Queue::new(device, 1, None),
        Some(queue) => match queue.as_any().downcast_ref::<Handle>() {
            Some(handle) => Ok(Arc::clone(&handle.0)),
            None => Err(foreign("completion queue", subtype)),
        },
    }
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
        let hardware =
            verbs::CompletionQueue::new(&engine.context, wanted, key, Some(&engine.completions))
                .map_err(|failure| exhausted(failure, Subtype::ResourceTevd, "completion queue"))?;
        let inner = Inner {
            routes: Routes { entries: Vec::new(), by_number: HashMap::new() },
            taken: VecDeque::new(),
            depth,
            needed: 0,
            notify: Notify::Off,
            armed: Armed::Nothing,
            closed: sink.is_none(),
        };
        let queue = Arc::new(Self {
            device: Arc::clone(device),
            key,
            hardware,
            inner: Mutex::new(inner),
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
    ) -> Result<Attachment> {
        let mut inner = self.inner.lock();
        let needed = inner.needed.saturating_add(room);
        let most = self.device.limits.max_cqe;
        if needed > self.hardware.depth() && needed <= most {
            // Twice of it, so that many queue pairs do not resize each time.
            let roomy = needed.saturating_mul(2).min(most);
            self.hardware.resize(roomy).or_else(|_| self.hardware.resize(needed)).map_err(
                |failure| exhausted(failure, Subtype::ResourceTevd, "longer completion queue"),
            )?;
        }
        inner.needed = needed;
        let index = inner.routes.entries.iter().position(|entry| entry.ledger.is_none());
        let index = index.unwrap_or_else(|| {
            inner.routes.entries.push(Entry { generation: 0, ledger: None, shared: None });
            inner.routes.entries.len() - 1
        });
        let entry = &mut inner.routes.entries[index];
        entry.generation = entry.generation.wrapping_add(1);
        entry.ledger = Some(Arc::clone(ledger));
        entry.shared = shared.cloned();
        let generation = entry.generation;
        if let Some(shared) = shared {
            shared.serve(self);
        }
        // Failures are told of even while nobody waits: a connection may have broken by them.
        inner.arm(&self.hardware);
        drop(inner);
        Ok(Attachment { queue: Arc::clone(self), index, generation, room })
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
            inner.keep(done, Room::Ledger(Arc::clone(ledger)), false, &mut upcalls);
        }
        drop(inner);
        self.report(upcalls);
    }

    /// The device told of completions.
    pub(crate) fn channel_event(&self) {
        let mut inner = self.inner.lock();
        // One that was armed for everything before only solicited ones counted may be either.
        let solicited = inner.armed == Armed::Solicited || inner.notify == Notify::Solicited;
        inner.armed = Armed::Nothing;
        let mut upcalls = Upcalls::default();
        let mut found = inner.collect(self, solicited, &mut upcalls);
        inner.arm(&self.hardware);
        // What came before the arming is told by nobody else.
        found += inner.collect(self, solicited, &mut upcalls);
        // An arrival that somebody polled before this counts all the same.
        upcalls.ready |= found == 0 && inner.notify != Notify::Off;
        drop(inner);
        self.report(upcalls);
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
        if self.routes.entries.iter().all(|entry| entry.ledger.is_none()) {
            return;
        }
        let wanted = match self.notify {
            Notify::Off | Notify::Solicited => Armed::Solicited,
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
        let mut batch = [WorkCompletion::default(); BATCH];
        let mut found = 0;
        loop {
            let count = queue.hardware.poll(&mut batch).unwrap_or(0);
            for entry in &batch[..count] {
                if let Some((done, room)) = self.routes.translate(queue, entry) {
                    let room = room.keep();
                    self.keep(done, room, solicited, upcalls);
                }
            }
            found += count;
            if count < batch.len() {
                return found;
            }
        }
    }

    /// Lets a completion wait, or drops it when there is no room or nobody to poll.
    fn keep(&mut self, done: Done, room: Room, solicited: bool, upcalls: &mut Upcalls) {
        if self.closed || self.taken.len() >= self.depth {
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

impl Routes {
    /// What a completion of the device's means; nothing of one that nobody is to hear of.
    #[inline]
    fn translate(&self, queue: &Queue, from: &WorkCompletion) -> Option<(Done, RoomRef<'_>)> {
        let status = status(from.status);
        let id = Identifier::unpack(from.wr_id);
        if let Some(place) = id.shared_place() {
            return self.translate_shared(queue, from, place, status);
        }
        let entry = self.entries.get(usize::from(id.index))?;
        let ledger = entry.ledger.as_ref().filter(|_| entry.generation == id.generation)?;
        if status != DtoStatus::Success {
            queue.trouble(ledger);
        }
        let (_, mut done) = ledger.complete(id.number, status)?;
        if status == DtoStatus::Success && !done.completion.operation.is_request() {
            received(&mut done.completion, from);
        }
        Some((done, RoomRef::Ledger(ledger)))
    }

    fn translate_shared(
        &self,
        queue: &Queue,
        from: &WorkCompletion,
        place: u32,
        status: DtoStatus,
    ) -> Option<(Done, RoomRef<'_>)> {
        let entry = self.entries.get(*self.by_number.get(&from.qp_num)?)?;
        let (ledger, shared) = (entry.ledger.as_ref()?, entry.shared.as_ref()?);
        if status != DtoStatus::Success {
            queue.trouble(ledger);
        }
        let mut done = shared.complete(place, ledger.tag, status)?;
        if status == DtoStatus::Success {
            received(&mut done.completion, from);
        }
        Some((done, RoomRef::Shared(shared)))
    }
}

/// What only the completion of a receive says.
fn received(completion: &mut Completion, from: &WorkCompletion) {
    completion.length = u64::from(from.byte_len);
    if completion.operation == Operation::ReceiveDatagram {
        return;
    }
    if from.opcode == sys::IBV_WC_RECV_RDMA_WITH_IMM {
        completion.operation = Operation::ReceiveImmediate;
        completion.extra = u64::from(u32::from_be(from.imm_or_key));
    } else if from.wc_flags & sys::IBV_WC_WITH_INV != 0 {
        completion.operation = Operation::ReceiveWithInvalidate;
        completion.extra = u64::from(from.imm_or_key);
    }
}

impl Attachment {
    /// The identifier under which a post of that number completes.
    #[inline]
    pub(crate) fn identifier(&self, number: u32) -> u64 {
        let index = u16::try_from(self.index).unwrap_or(u16::MAX);
        Identifier { index, generation: self.generation, number }.pack()
    }

    /// Lets completions of buffers from a shared queue find this work queue by the number of
    /// its queue pair, which it had before.
    pub(crate) fn renumber(&self, before: Option<u32>, now: Option<u32>) {
        let mut inner = self.queue.inner.lock();
        if let Some(before) = before {
            if inner.routes.by_number.get(&before) == Some(&self.index) {
                inner.routes.by_number.remove(&before);
            }
        }
        if let Some(now) = now {
            inner.routes.by_number.insert(now, self.index);
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut inner = self.queue.inner.lock();
        let index = self.index;
        inner.routes.by_number.retain(|_, other| *other != index);
        inner.needed = inner.needed.saturating_sub(self.room);
        if let Some(entry) = inner.routes.entries.get_mut(index) {
            let before = (entry.ledger.take(), entry.shared.take());
            drop(inner);
            drop(before);
        }
    }
}

/// What a post completes under: its work queue's place and its number there, or the place of a
/// buffer of a shared receive queue.
struct Identifier {
    index: u16,
    generation: u16,
    number: u32,
}

/// The index that stands for shared receive queues.
const SHARED: u16 = u16::MAX;

impl Identifier {
    fn pack(&self) -> u64 {
        u64::from(self.index) << 48 | u64::from(self.generation) << 32 | u64::from(self.number)
    }

    const fn unpack(value: u64) -> Self {
        Self { index: (value >> 48) as u16, generation: (value >> 32) as u16, number: value as u32 }
    }

    fn shared_place(&self) -> Option<u32> {
        (self.index == SHARED).then_some(self.number)
    }
}

/// The identifier of a buffer of a shared receive queue.
pub(crate) fn shared_identifier(place: u32) -> u64 {
    Identifier { index: SHARED, generation: 0, number: place }.pack()
}

/// The status of DAT for one of the device's (ibv_poll_cq(3)).
pub(crate) const fn status(value: u32) -> DtoStatus {
    match value {
        sys::IBV_WC_SUCCESS => DtoStatus::Success,
        sys::IBV_WC_LOC_LEN_ERR => DtoStatus::LocalLength,
        sys::IBV_WC_LOC_QP_OP_ERR => DtoStatus::LocalEndpoint,
        sys::IBV_WC_LOC_PROT_ERR | sys::IBV_WC_LOC_ACCESS_ERR => DtoStatus::LocalProtection,
        sys::IBV_WC_WR_FLUSH_ERR => DtoStatus::Flushed,
        sys::IBV_WC_MW_BIND_ERR => DtoStatus::RmrFailed,
        sys::IBV_WC_BAD_RESP_ERR => DtoStatus::BadResponse,
        sys::IBV_WC_REM_ACCESS_ERR => DtoStatus::RemoteAccess,
        sys::IBV_WC_REM_INV_REQ_ERR | sys::IBV_WC_REM_OP_ERR | sys::IBV_WC_REM_ABORT_ERR => {
            DtoStatus::RemoteResponder
        }
        sys::IBV_WC_RETRY_EXC_ERR | sys::IBV_WC_FATAL_ERR | sys::IBV_WC_RESP_TIMEOUT_ERR => {
            DtoStatus::Transport
        }
        sys::IBV_WC_RNR_RETRY_EXC_ERR => DtoStatus::ReceiverNotReady,
        other => DtoStatus::Unknown(other),
    }
}

impl CompletionQueue for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let queue = &*self.0;
        let mut guard = queue.inner.lock();
        let inner = &mut *guard;
        let (mut count, mut more) = (0, false);
        while count < into.len() {
            if let Some(taken) = inner.taken.pop_front() {
                taken.room.release();
                into[count] = taken.completion;
                count += 1;
                continue;
            }
            let mut batch = [WorkCompletion::default(); BATCH];
            let got = queue.hardware.poll(&mut batch).unwrap_or(0);
            for entry in &batch[..got] {
                let Some((done, room)) = inner.routes.translate(queue, entry) else { continue };
                if count < into.len() {
                    room.release();
                    into[count] = done.completion;
                    count += 1;
                } else {
                    more |= inner.notify.wants(done.features);
                    let room = room.keep();
                    inner.taken.push_back(Taken { completion: done.completion, room });
                }
            }
            if got < batch.len() {
                break;
            }
        }
        if more {
            // They arrived unseen by the thread that tells of arrivals.
            queue.device.engine.send(Command::Report(queue.key, true, false));
        }
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        inner.notify = mode;
        if mode == Notify::Off {
            // Failures stay armed; the others tell in vain at most once.
            return !inner.taken.is_empty();
        }
        inner.arm(&queue.hardware);
        let mut upcalls = Upcalls::default();
        inner.collect(queue, false, &mut upcalls);
        let waiting = !inner.taken.is_empty();
        drop(inner);
        // What came is told by the answer; only a lack of room is not.
        queue.report(Upcalls { ready: false, ..upcalls });
        waiting
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(queue, false, &mut upcalls);
        let waiting = inner.taken.len();
        let outcome = if waiting > depth {
            Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!("{waiting} completions are waiting, {depth} would fit"))
                .advise("dequeue completions first, or ask for a longer queue"))
        } else {
            let wanted = u32::try_from(depth).unwrap_or(u32::MAX);
            if wanted > queue.hardware.depth() {
                queue.hardware.resize(wanted).map_err(|failure| match failure.errno {
                    libc::ENOMEM | libc::EINVAL => {
                        exhausted(failure, Subtype::ResourceTevd, "longer completion queue")
                    }
                    _ => internal(failure, "the completion queue keeps its length"),
                })
            } else {
                Ok(())
            }
        };
        if outcome.is_ok() {
            inner.depth = depth;
        }
        drop(inner);
        queue.report(upcalls);
        outcome
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let mut inner = self.0.inner.lock();
        inner.closed = true;
        inner.notify = Notify::Off;
        for taken in inner.taken.drain(..) {
            taken.room.release();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.device.engine.forget(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_back_as_they_went() {
        let id = Identifier::unpack(
            Identifier { index: 513, generation: 65535, number: u32::MAX }.pack(),
        );
        assert_eq!((id.index, id.generation, id.number), (513, 65535, u32::MAX));
        assert_eq!(id.shared_place(), None);
        assert_eq!(Identifier::unpack(shared_identifier(9)).shared_place(), Some(9));
    }

    #[test]
    fn a_status_that_nobody_knows_is_kept() {
        assert_eq!(status(4711), DtoStatus::Unknown(4711));
        assert_eq!(status(sys::IBV_WC_WR_FLUSH_ERR), DtoStatus::Flushed);
        assert_eq!(status(sys::IBV_WC_SUCCESS), DtoStatus::Success);
    }
}
