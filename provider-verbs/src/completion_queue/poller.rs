//! The two halves of a queue that the core holds.

use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify, Success, Taken,
};
use dat_sync::biased::OwnerGuard;

use super::{Inner, Queue, Upcalls};
use crate::device::Device;
use crate::engine::Command;
use crate::errors::{exhausted, foreign, internal};

/// The half that queue pairs are created with.
struct Handle(Arc<Queue>);

struct Poller(Arc<Queue>);

/// Creates a queue that reports to a dispatcher.
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

/// The queue of a contract object, or a new queue without a poller if the consumer wants no events.
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

impl CompletionQueue for Handle {}

impl Inner {
    /// Polls the device when the batch is empty; returns whether there are completions now.
    fn refill(&mut self, queue: &Queue) -> bool {
        self.batch.fill(&queue.hardware);
        self.sort(queue)
    }

    /// Whether the device has just delivered completions: in the batch, or in `taken` if one of
    /// them needed processing.
    #[inline(always)]
    fn sort(&mut self, queue: &Queue) -> bool {
        if self.routes.are_special(self.batch.filled()) {
            self.reveal(queue);
            return !self.taken.is_empty();
        }
        !self.batch.is_empty()
    }

    /// Moves the batch to `taken`; the thread wakes a waiter for it soon.
    #[cold]
    fn reveal(&mut self, queue: &Queue) {
        let mut upcalls = Upcalls::default();
        self.unpack(queue, usize::MAX, false, &mut upcalls);
        let Upcalls { ready, overflow } = upcalls;
        if ready || overflow {
            queue.device.engine.send(Command::Report(queue.key, ready, overflow));
        }
    }

    /// Takes the oldest completion of the batch if it is a plain success; `Nothing` if the batch is
    /// empty.
    #[inline(always)]
    fn take(&mut self, into: &mut Success) -> Taken {
        let Some(entry) = self.batch.first() else { return Taken::Nothing };
        if !self.routes.take(entry, into) {
            return Taken::Other;
        }
        self.batch.pass();
        Taken::Success
    }

    /// Takes the next completion when the batch is empty.
    #[inline(always)]
    fn take_next(&mut self, queue: &Queue, into: &mut Success) -> Taken {
        if !self.taken.is_empty() || self.notify != Notify::Off {
            return Taken::Other;
        }
        match self.batch.fill(&queue.hardware) {
            [] => Taken::Nothing,
            [one] if self.routes.take_lone(one, into) => {
                self.batch.pass();
                Taken::Success
            }
            _ => self.take_of_filled(queue, into),
        }
    }

    /// Takes the next completion of those that the device just delivered.
    #[inline(never)]
    fn take_of_filled(&mut self, queue: &Queue, into: &mut Success) -> Taken {
        if self.sort(queue) && !self.taken.is_empty() {
            return Taken::Other;
        }
        self.take(into)
    }
}

impl Poller {
    /// The part of [`CompletionPoller::take`] for an empty batch, under the lock.
    #[inline(never)]
    fn take_from_device(
        mut inner: OwnerGuard<'_, Inner>,
        queue: &Queue,
        into: &mut Success,
    ) -> Taken {
        inner.take_next(queue, into)
    }

    #[cold]
    #[inline(never)]
    fn take_in_turn(&self, into: &mut Success) -> Taken {
        let mut inner = self.0.inner.lock();
        match inner.take(into) {
            Taken::Nothing => inner.take_next(&self.0, into),
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
                taken.room.release();
                into[count] = taken.completion;
                count += 1;
                continue;
            }
            let mut success = Success::default();
            into[count] = match inner.take(&mut success) {
                Taken::Success => success.into(),
                Taken::Other => {
                    let Some(entry) = inner.batch.next() else { continue };
                    let Some((done, room)) = inner.routes.translate(queue, &entry) else {
                        continue;
                    };
                    room.release();
                    done.completion
                }
                Taken::Nothing if inner.refill(queue) => continue,
                Taken::Nothing => break,
            };
            count += 1;
            inner.untold |= inner.notify != Notify::Off;
        }
        if inner.notify != Notify::Off && !inner.batch.is_empty() {
            // They were polled here before the thread that reports arrivals could see them.
            inner.reveal(queue);
        }
        count
    }

    #[inline]
    fn take(&mut self, into: &mut Success) -> Taken {
        let Some(mut inner) = self.0.inner.lock_as_owner() else { return self.take_in_turn(into) };
        match inner.take(into) {
            // The guard is passed on, so that this function keeps nothing for a case that occurs
            // once per batch.
            Taken::Nothing => Self::take_from_device(inner, &self.0, into),
            taken => taken,
        }
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let queue = &*self.0;
        let mut inner = queue.inner.lock();
        inner.notify = mode;
        if mode == Notify::Off {
            if inner.ear.leave() {
                queue.device.engine.send(Command::Lent(Weak::clone(&queue.me)));
            }
            // The queue stays armed for failures; other arrivals cause at most one event without
            // effect.
            return !inner.taken.is_empty() || !inner.batch.is_empty();
        }
        if inner.ear.take_back() {
            queue.heed();
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

    fn watch(&mut self) {
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
            taken.room.release();
        }
    }
}
