//! The two halves of a queue that the core holds.

use std::ops::DerefMut;
use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::plain_success::{PlainSuccess, TakeResult};
use dat_provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify,
};
use dat_provider_kit::errors::foreign_object;

use super::{Inner, Queue, Upcalls};
use crate::device::Device;
use crate::engine::Command;
use crate::errors::{exhausted, internal};

/// The half that queue pairs are created with.
struct QueueHandle(Arc<Queue>);

struct Poller(Arc<Queue>);

/// Creates a queue that reports to a dispatcher.
pub(crate) fn create(
    device: &Arc<Device>,
    depth: usize,
    sink: Arc<dyn CompletionSink>,
) -> Result<CompletionQueueParts> {
    let queue = Queue::new(device, depth, Some(sink))?;
    Ok(CompletionQueueParts {
        queue: Arc::new(QueueHandle(Arc::clone(&queue))),
        poller: Box::new(Poller(queue)),
    })
}

/// The queue of a contract object, or a new queue without a poller if the consumer wants no events.
pub(crate) fn find(
    device: &Arc<Device>,
    queue: Option<&dyn CompletionQueue>,
    subtype: Subtype,
) -> Result<Arc<Queue>> {
    match queue {
        None => Queue::new(device, 1, None),
        Some(queue) => match queue.as_any().downcast_ref::<QueueHandle>() {
            Some(handle) => Ok(Arc::clone(&handle.0)),
            None => Err(foreign_object("completion queue", subtype)),
        },
    }
}

impl CompletionQueue for QueueHandle {}

impl Inner {
    /// Takes the oldest completion of the batch if it is a plain success; `Nothing` if the batch is
    /// empty.
    #[inline(always)]
    fn take_from_batch(&mut self, into: &mut PlainSuccess) -> TakeResult {
        match self.batch.first() {
            None => TakeResult::Nothing,
            Some(entry) if self.work_queue_table.take(entry, into) => {
                self.batch.pass();
                TakeResult::Success
            }
            Some(_) => TakeResult::Other,
        }
    }

    /// Polls the device when the batch is empty; returns whether there are completions now. If one
    /// of them needs processing, all are moved to `taken`.
    #[inline(always)]
    fn refill(&mut self, queue: &Queue) -> bool {
        self.batch.fill(&queue.hardware);
        if self.work_queue_table.are_special(self.batch.filled()) {
            self.unpack_all(queue);
        }
        !self.batch.is_empty() || !self.taken.is_empty()
    }

    /// Moves the batch to `taken`; the thread wakes a waiter for it soon.
    #[cold]
    fn unpack_all(&mut self, queue: &Queue) {
        let mut upcalls = Upcalls::default();
        self.unpack(queue, usize::MAX, false, &mut upcalls);
        queue.leave(upcalls);
    }
}

impl Poller {
    /// The part of [`CompletionPoller::take_success`] for an empty batch: polls the device, unless
    /// completions must notify.
    #[inline(never)]
    fn take_from_device(
        mut inner: impl DerefMut<Target = Inner>,
        queue: &Queue,
        into: &mut PlainSuccess,
    ) -> TakeResult {
        if !inner.taken.is_empty() || inner.notify != Notify::Off {
            return TakeResult::Other;
        }
        match inner.refill(queue) {
            true if inner.taken.is_empty() => inner.take_from_batch(into),
            true => TakeResult::Other,
            false => TakeResult::Nothing,
        }
    }

    /// As [`CompletionPoller::take_success`], for a thread that does not own the lock.
    #[cold]
    #[inline(never)]
    fn take_as_other(&self, into: &mut PlainSuccess) -> TakeResult {
        let mut inner = self.0.inner.lock();
        match inner.take_from_batch(into) {
            TakeResult::Nothing => Self::take_from_device(inner, &self.0, into),
            taken => taken,
        }
    }
}

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let queue = &*self.0;
        let mut guard = queue.inner.lock();
        let inner = &mut *guard;
        let mut count = 0;
        while count < into.len() {
            if let Some(taken) = inner.taken.pop_front() {
                taken.credit.release();
                into[count] = taken.completion;
                count += 1;
                continue;
            }
            if inner.batch.is_empty() && !inner.refill(queue) {
                break;
            }
            let Some(entry) = inner.batch.next() else { continue };
            let mut success = PlainSuccess::default();
            into[count] = if inner.work_queue_table.take(&entry, &mut success) {
                success.into()
            } else {
                let engine = &queue.device.engine;
                let Some((done, credit)) = inner.work_queue_table.translate(engine, &entry) else {
                    continue;
                };
                credit.release();
                done.completion
            };
            count += 1;
            inner.unreported |= inner.notify != Notify::Off;
        }
        if inner.notify != Notify::Off && !inner.batch.is_empty() {
            // They were polled here before the thread that reports arrivals could see them.
            inner.unpack_all(queue);
        }
        count
    }

    #[inline]
    fn take_success(&mut self, into: &mut PlainSuccess) -> TakeResult {
        let Some(mut inner) = self.0.inner.lock_as_owner() else { return self.take_as_other(into) };
        match inner.take_from_batch(into) {
            // The guard is passed on, so that this function keeps nothing for a case that occurs
            // once per batch.
            TakeResult::Nothing => Self::take_from_device(inner, &self.0, into),
            taken => taken,
        }
    }

    fn queued(&mut self) -> Option<usize> {
        let mut inner = self.0.inner.lock();
        let is_drained = inner.taken.is_empty() && inner.batch.is_empty() && !inner.refill(&self.0);
        is_drained.then_some(0)
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        inner.notify = mode;
        if mode == Notify::Off {
            if inner.lease.leave() {
                queue.device.engine.send(Command::Lent(queue.me.clone()));
            }
            // The queue stays armed for failures; other arrivals cause at most one event without
            // effect.
            return !inner.taken.is_empty() || !inner.batch.is_empty();
        }
        if inner.lease.take_back() {
            queue.watch_channel();
        }
        inner.arm(&queue.hardware);
        let mut upcalls = Upcalls::default();
        inner.collect(queue, false, &mut upcalls);
        let waiting = !inner.taken.is_empty();
        drop(inner);
        // The result reports what has arrived; only an overflow needs an upcall.
        queue.report(Upcalls { ready: false, ..upcalls });
        waiting
    }

    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        self.0.channel.clone().map(|channel| channel as CompletionDescriptor)
    }

    fn arm_descriptor(&mut self) {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        inner.notify = Notify::Signalled;
        // The following poll finds these.
        let _ = inner.unpack(queue, usize::MAX, false, &mut Upcalls::default());
        if let Some(channel) = &queue.channel {
            queue.lend(&mut inner, channel);
        }
        inner.arm(&queue.hardware);
    }

    fn resize(&mut self, depth: usize) -> Result<()> {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        let mut upcalls = Upcalls::default();
        inner.collect(queue, false, &mut upcalls);
        let waiting = inner.taken.len();
        let outcome = if waiting > depth {
            Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because(format!(
                    "{waiting} completions are queued, more than the new length of \
                     {depth}"
                ))
                .advise("dequeue completions first, or request a longer queue"))
        } else {
            let wanted = u32::try_from(depth).unwrap_or(u32::MAX);
            // A device queue that cannot be resized already holds everything that may be
            // outstanding.
            if wanted > queue.hardware.depth() && queue.device.limits.has_resize {
                queue.hardware.resize(wanted).map_err(|failure| match failure.errno {
                    libc::ENOMEM | libc::EINVAL => {
                        exhausted(failure, Subtype::ResourceTevd, "longer completion queue")
                    }
                    _ => internal(failure, "the completion queue was not resized"),
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
        // Completions are dropped from now on, so there are no upcalls to make.
        let _ = inner.unpack(&self.0, usize::MAX, false, &mut Upcalls::default());
        for taken in inner.taken.drain(..) {
            taken.credit.release();
        }
    }
}
