//! Completion queues.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::in_flight::{InFlight, Records};
use super::{
    Completion, CompletionChannel, Context, Error, Owner, ProtectionDomain, Result, WorkCompletion,
    field, key_to_pointer, library, object,
};
use crate::sys::dispatch::{self, PollCq};
use crate::sys::verbs::ibv_cq;

object! {
    /// A completion queue (ibv_create_cq(3)).
    ///
    /// ```
    /// use rdma_verbs::verbs::{CompletionChannel, CompletionQueue, Context};
    ///
    /// fn first_completion(context: &Context) -> rdma_verbs::Result<()> {
    ///     let channel = CompletionChannel::new(context)?;
    ///     let queue = CompletionQueue::new(context, 64, 0, Some(&channel))?;
    ///     // Create a queue pair with the queue, connect it, and post; then:
    ///     let done = queue.wait()?; // or `poll_one`, which does not sleep
    ///     println!("{}: {} bytes, {}", done.id, done.length, done.status);
    ///     Ok(())
    /// }
    /// ```
    CompletionQueue(ibv_cq) {
        poll: PollCq,
        context: Context,
        channel: Option<Arc<CompletionChannel>>,
        records: Arc<Records>,
        owner: Option<Owner>,
        /// The domain in which an extended queue was created.
        _domain: Option<Arc<ProtectionDomain>>,
    }
}

/// Maximum number of completions that one poll takes from the device.
const BATCH: usize = 16;

impl CompletionQueue {
    /// Creates a queue for at least `depth` completions. Events of the channel name it by `key`.
    ///
    /// # Errors
    /// `EINVAL`: the device does not support that depth; `ENOMEM`: it has no queue left.
    pub fn new(
        context: &Context,
        depth: u32,
        key: u64,
        channel: Option<&Arc<CompletionChannel>>,
    ) -> Result<Arc<Self>> {
        Self::with_vector(context, depth, key, channel, 0)
    }

    /// As [`new`](Self::new), with the completion vector that signals its events, below
    /// [`Context::completion_vectors`].
    ///
    /// # Errors
    /// As [`new`](Self::new); `EINVAL`: there is no such vector.
    pub fn with_vector(
        context: &Context,
        depth: u32,
        key: u64,
        channel: Option<&Arc<CompletionChannel>>,
        vector: u32,
    ) -> Result<Arc<Self>> {
        const CALL: &str = "ibv_create_cq";
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        if vector >= context.completion_vectors() {
            return Err(Error::new(CALL, libc::EINVAL));
        }
        let events = channel.map_or(null_mut(), |channel| channel.raw());
        let (key, vector) = (key_to_pointer(key), vector as i32);
        // SAFETY: the context is open and the channel, if there is one, alive.
        let raw =
            unsafe { (library!(verbs).ibv_create_cq)(context.raw(), depth, key, events, vector) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last(CALL))?;
        Ok(Self::created(raw, context, channel, None))
    }

    /// Wraps a queue that was just created, and destroys it at the end.
    pub(super) fn created(
        raw: NonNull<ibv_cq>,
        context: &Context,
        channel: Option<&Arc<CompletionChannel>>,
        domain: Option<&Arc<ProtectionDomain>>,
    ) -> Arc<Self> {
        let (context, channel) = (context.clone(), channel.cloned());
        let (poll, records, _domain) = (context.poll(), Arc::default(), domain.cloned());
        Arc::new(Self { raw, poll, context, channel, records, owner: None, _domain })
    }

    /// Wraps a queue that belongs to another object, as do the records of its posts.
    ///
    /// # Safety
    /// It must live as long as its owner.
    pub(crate) unsafe fn owned_by(
        raw: NonNull<ibv_cq>,
        context: Context,
        channel: Option<Arc<CompletionChannel>>,
        records: Arc<Records>,
        owner: Owner,
    ) -> Arc<Self> {
        let (poll, owner) = (context.poll(), Some(owner));
        Arc::new(Self { raw, poll, context, channel, records, owner, _domain: None })
    }

    pub(super) fn record(&self, record: &Arc<InFlight>) {
        self.records.insert(record);
    }

    /// The device of the queue.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The channel that reports its completions.
    #[must_use]
    pub fn channel(&self) -> Option<&Arc<CompletionChannel>> {
        self.channel.as_ref()
    }

    /// Number of completions that it can hold.
    #[must_use]
    pub fn depth(&self) -> u32 {
        u32::try_from(field!(self.raw(), cqe)).unwrap_or(0)
    }

    /// Takes completions and returns their number (ibv_poll_cq(3)). Completions of dropped queue
    /// pairs, and of posts without records, are skipped.
    ///
    /// # Errors
    /// The device failed the queue, for example after an overrun.
    pub fn poll(&self, into: &mut [Completion]) -> Result<usize> {
        take(into, |raw| self.poll_raw(raw), |raw| self.complete(raw))
    }

    /// The completion with the program's identifier, of a post whose objects are released; `None`
    /// if no record of it exists.
    pub(super) fn complete(&self, raw: &WorkCompletion) -> Option<Completion> {
        self.records.complete(raw.wr_id).map(|id| Completion::new(id, raw))
    }

    /// Takes one completion, if there is one.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn poll_one(&self) -> Result<Option<Completion>> {
        let mut one = [Completion::default()];
        Ok((self.poll(&mut one)? == 1).then_some(one[0]))
    }

    /// As [`poll`](Self::poll), for posts without records: with the identifiers of the device, and
    /// without releasing the objects that recorded posts use.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    #[inline]
    pub fn poll_raw(&self, into: &mut [WorkCompletion]) -> Result<usize> {
        let length = i32::try_from(into.len()).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive and the slice has that length.
        let count = unsafe { (self.poll)(self.raw(), length, into.as_mut_ptr()) };
        usize::try_from(count).map_err(|_| Error::new("ibv_poll_cq", count.saturating_abs()))
    }

    /// Makes the channel report the next completion, or the next one that is solicited or failed
    /// (ibv_req_notify_cq(3)). Completions already in the queue are not reported: poll once more
    /// after arming.
    ///
    /// # Errors
    /// The error of the device.
    pub fn arm(&self, solicited_only: bool) -> Result<()> {
        // SAFETY: the queue is alive.
        let code = unsafe { dispatch::req_notify_cq(self.raw(), i32::from(solicited_only)) };
        Error::check("ibv_req_notify_cq", code)
    }

    /// Takes the next completion and blocks until there is one. The channel must belong only to
    /// this queue, and one thread at a time may wait.
    ///
    /// # Errors
    /// `EINVAL`: the queue has no channel. Otherwise as [`poll`](Self::poll) and
    /// [`arm`](Self::arm).
    pub fn wait(&self) -> Result<Completion> {
        loop {
            if let Some(completion) = self.poll_one()? {
                return Ok(completion);
            }
            let channel =
                self.channel.as_ref().ok_or(Error::new("ibv_get_cq_event", libc::EINVAL))?;
            self.arm(false)?;
            if let Some(completion) = self.poll_one()? {
                return Ok(completion);
            }
            channel.take_event()?;
        }
    }

    /// Resizes the queue to at least `depth` completions (ibv_resize_cq(3)).
    ///
    /// # Errors
    /// `EINVAL`: more completions are in the queue; `EOPNOTSUPP`: the device cannot resize.
    pub fn resize(&self, depth: u32) -> Result<()> {
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive.
        let code = unsafe { (library!(verbs).ibv_resize_cq)(self.raw(), depth) };
        Error::check("ibv_resize_cq", code)
    }
}

/// Fills `into` from batches of `poll`, without the completions for which `complete` finds no post.
/// A failed poll is reported only if nothing was taken before it, because the caller would lose
/// that.
pub(super) fn take<R: Copy + Default, C>(
    into: &mut [C],
    poll: impl Fn(&mut [R]) -> Result<usize>,
    complete: impl Fn(&R) -> Option<C>,
) -> Result<usize> {
    let mut taken = 0;
    while taken < into.len() {
        let mut raw = [R::default(); BATCH];
        let wanted = BATCH.min(into.len() - taken);
        let count = match poll(&mut raw[..wanted]) {
            Err(error) if taken == 0 => return Err(error),
            polled => polled.unwrap_or(0),
        };
        for completion in &raw[..count] {
            if let Some(completion) = complete(completion) {
                into[taken] = completion;
                taken += 1;
            }
        }
        if count < wanted {
            break;
        }
    }
    Ok(taken)
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: this crate created it; its queue pairs keep it alive, so they are gone;
            // events are acknowledged when they are taken, so this does not wait; it is destroyed
            // once.
            let _ = unsafe { (library!(verbs).ibv_destroy_cq)(self.raw()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Polls a queue of `length` completions with the identifiers 0, 1, and so on, which fails once
    /// it is empty.
    fn poll(left: &Cell<usize>, length: usize, raw: &mut [WorkCompletion]) -> Result<usize> {
        let count = left.get().min(raw.len());
        if count == 0 {
            return Err(Error::new("ibv_poll_cq", libc::EIO));
        }
        for completion in &mut raw[..count] {
            completion.wr_id = (length - left.get()) as u64;
            left.set(left.get() - 1);
        }
        Ok(count)
    }

    #[test]
    fn a_failed_poll_loses_no_completion_taken_before_it() {
        let (left, mut into) = (Cell::new(BATCH), [Completion::default(); 2 * BATCH]);
        let all = |raw: &WorkCompletion| Some(Completion::new(raw.wr_id, raw));
        let mut poll_all = || take(&mut into, |raw| poll(&left, BATCH, raw), all);
        assert_eq!(poll_all(), Ok(BATCH));
        assert_eq!(poll_all().expect_err("nothing is left").errno, libc::EIO);
        assert_eq!(into[BATCH - 1].id, BATCH as u64 - 1);
    }

    #[test]
    fn completions_of_unknown_posts_are_skipped() {
        let (left, mut into) = (Cell::new(2 * BATCH), [Completion::default(); BATCH]);
        let odd =
            |raw: &WorkCompletion| (raw.wr_id % 2 == 1).then(|| Completion::new(raw.wr_id, raw));
        assert_eq!(take(&mut into, |raw| poll(&left, 2 * BATCH, raw), odd), Ok(BATCH));
        assert_eq!(into.map(|completion| completion.id % 2), [1; BATCH]);
    }
}
