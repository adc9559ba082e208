//! Completion queues.
//!
//! A queue is one of the engine, and two lists of its own: completions that were taken out of the engine's queue when a
//! queue pair was reset, which are older than all there, and those that this crate makes itself, of requests that never
//! reached the engine, which are younger than all of their queue pair there.

mod arrivals;
mod poller;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_provider::{Completion, CompletionQueueParts, CompletionSink, Notify};
use dat_sync::biased::BiasedLock;
use dat_sync::{Mutex, SwapWord};

use crate::async_event::AsyncElement;
use crate::channel::CompletionChannel;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::in_use::{Use, UseCount};
use crate::work_completion::{WcStatus, WorkCompletion};
use arrivals::{ANY, Arrivals, NOTHING, SOLICITED};
use poller::{BATCH, Poller};

/// A completion queue (ibv_create_cq(3)).
pub struct CompletionQueue {
    context: Arc<Context>,
    pub(crate) kit: Arc<dyn dat_provider::CompletionQueue>,
    poller: BiasedLock<Poller>,
    sink: Arc<Arrivals>,
    uses: UseCount,
}

impl CompletionQueue {
    pub(crate) fn create(
        context: &Arc<Context>,
        depth: u32,
        user: u64,
        channel: Option<&Arc<CompletionChannel>>,
    ) -> Result<Arc<Self>> {
        check_depth(context.engine, depth)?;
        let used = channel.map(|channel| channel.add_use()).transpose()?;
        let sink = Arc::new(Arrivals {
            context: Arc::clone(context),
            channel: channel.map(Arc::clone),
            user: AtomicU64::new(user),
            armed: SwapWord::new(NOTHING),
            has_overflowed: AtomicBool::new(false),
            own: Mutex::default(),
            has_own: AtomicBool::new(false),
        });
        let upcalls = Arc::clone(&sink) as Arc<dyn CompletionSink>;
        let CompletionQueueParts { queue, poller } =
            context.engine.adapter.create_completion_queue(depth as usize, upcalls)?;
        let poller = Poller {
            kit: poller,
            depth,
            is_notifying: false,
            batch: [Completion::default(); BATCH],
            parked: VecDeque::new(),
        };
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            kit: queue,
            poller: BiasedLock::new(poller),
            sink,
            uses: UseCount::using(used.into_iter().collect()),
        }))
    }

    /// Its context.
    #[must_use]
    pub const fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The value in its events.
    #[must_use]
    pub fn user(&self) -> u64 {
        self.sink.user.load(Ordering::Relaxed)
    }

    /// Changes the value in its events.
    pub fn set_user(&self, user: u64) {
        self.sink.user.store(user, Ordering::Relaxed);
    }

    /// Its channel.
    #[must_use]
    pub fn channel(&self) -> Option<&Arc<CompletionChannel>> {
        self.sink.channel.as_ref()
    }

    /// Number of completions that it holds.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.poller.lock().depth
    }

    /// Takes the oldest completions (ibv_poll_cq(3)). Returns how many.
    pub fn poll(&self, into: &mut [WorkCompletion]) -> usize {
        let mut poller = self.poller.lock();
        if poller.is_notifying && self.sink.armed.get() == NOTHING {
            poller.is_notifying = false;
            poller.kit.notify(Notify::Off);
        }
        let mut count = poller.take_parked(into);
        count += poller.take_arrived(self.context.engine, &mut into[count..]);
        if count < into.len() && self.sink.has_own.load(Ordering::Acquire) {
            count += self.take_own(&mut into[count..]);
        }
        count
    }

    #[cold]
    fn take_own(&self, into: &mut [WorkCompletion]) -> usize {
        let mut own = self.sink.own.lock();
        let count = move_into(&mut own, into);
        self.sink.has_own.store(!own.is_empty(), Ordering::Release);
        count
    }

    /// Adds a completion of this crate, which is a failure.
    #[cold]
    pub(crate) fn push(&self, completion: WorkCompletion) {
        let mut own = self.sink.own.lock();
        own.push_back(completion);
        self.sink.has_own.store(true, Ordering::Release);
        drop(own);
        self.sink.notify();
    }

    /// Removes the completions of a queue pair that is reset or destroyed.
    pub(crate) fn forget(&self, queue_pair: u32) {
        let mut poller = self.poller.lock();
        let is_other = |one: &WorkCompletion| one.qp_num != queue_pair;
        let mut one = [WorkCompletion::default()];
        let mut arrived = VecDeque::new();
        while poller.take_arrived(self.context.engine, &mut one) != 0 {
            arrived.push_back(one[0]);
        }
        poller.parked.append(&mut arrived);
        poller.parked.retain(is_other);
        let mut own = self.sink.own.lock();
        own.retain(is_other);
        self.sink.has_own.store(!own.is_empty(), Ordering::Release);
    }

    /// Requests one event for the next completion that arrives, or for the next that is solicited or has failed
    /// (ibv_req_notify_cq(3)). Completions that are in the queue already make none.
    ///
    /// # Errors
    /// `EINVAL` if the queue has no channel.
    pub fn request_notification(&self, solicited_only: bool) -> Result<()> {
        if self.sink.channel.is_none() {
            return Err(Error::plain(
                libc::EINVAL,
                "cannot request an event: the completion queue was created without a channel",
            ));
        }
        let mut poller = self.poller.lock();
        // A request for all completions is not weakened by one for some.
        let was_any = self.sink.armed.get() == ANY;
        let (armed, mode) = if solicited_only && !was_any {
            (SOLICITED, Notify::Solicited)
        } else {
            (ANY, Notify::Signalled)
        };
        let before = poller.kit.queued();
        // Pairs with `notify`: a completion of this crate makes an event, or the next poll finds it.
        self.sink.armed.swap(armed);
        poller.is_notifying = true;
        let has_waiting = poller.kit.notify(mode);
        // What arrived meanwhile made no upcall.
        if has_waiting && (before.is_none() || poller.kit.queued() != before) {
            drop(poller);
            self.sink.notify();
        }
        Ok(())
    }

    /// Changes the number of completions that it holds (ibv_resize_cq(3)); none is lost.
    ///
    /// # Errors
    /// `EINVAL` for a depth of 0, beyond the maximum of the device, or below the number of queued completions.
    pub fn resize(&self, depth: u32) -> Result<()> {
        check_depth(self.context.engine, depth)?;
        let mut poller = self.poller.lock();
        poller.kit.resize(depth as usize)?;
        poller.depth = depth;
        Ok(())
    }

    pub(crate) fn add_use(&self) -> Result<Use> {
        self.uses.add()
    }

    /// Destroys it (ibv_destroy_cq(3)), and drops its events that were not taken.
    ///
    /// # Errors
    /// `EBUSY` while queue pairs use it.
    pub fn destroy(&self) -> Result<()> {
        self.uses.end("cannot destroy the completion queue: destroy its queue pairs first")?;
        self.sink.armed.swap(NOTHING);
        if let Some(channel) = &self.sink.channel {
            channel.remove(self.user());
        }
        self.context.async_events().remove(AsyncElement::CompletionQueue(self.user()));
        Ok(())
    }
}

/// Moves the oldest completions.
fn move_into(from: &mut VecDeque<WorkCompletion>, into: &mut [WorkCompletion]) -> usize {
    let count = from.len().min(into.len());
    for (place, one) in into.iter_mut().zip(from.drain(..count)) {
        *place = one;
    }
    count
}

fn check_depth(engine: &Engine, depth: u32) -> Result<()> {
    let most = engine.attributes.ia.max_evd_qlen;
    if depth == 0 || depth > most {
        return Err(Error::invalid(format!(
            "cannot create a completion queue for {depth} completions: the device has 1 to {most}"
        )));
    }
    Ok(())
}

impl std::fmt::Debug for CompletionQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CompletionQueue(user {:#x})", self.user())
    }
}

/// A completion that failed before the engine had it.
pub(crate) fn failed(wr_id: u64, qp_num: u32, status: WcStatus) -> WorkCompletion {
    WorkCompletion { wr_id, qp_num, status, ..WorkCompletion::default() }
}
