//! Completion queues and the channels that tell of them.

use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::memory::{Lender, Lent, handle};
use super::{
    Context, Failure, Result, WorkCompletion, field, key_to_pointer, library, pointer_to_key,
};
use crate::sys::dispatch;
use crate::sys::verbs::{ibv_comp_channel, ibv_cq};

handle! {
    /// A channel that tells when armed queues have completions (ibv_create_comp_channel(3)).
    CompletionChannel(ibv_comp_channel) { _context: Context, lender: Lender }
}

impl CompletionChannel {
    pub(crate) fn new(context: &Context) -> Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = unsafe { (library!(verbs).ibv_create_comp_channel)(context.raw()) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw, _context: context.clone(), lender: None })),
            None => Err(Failure::last("ibv_create_comp_channel")),
        }
    }

    /// A channel of the lender's.
    ///
    /// # Safety
    /// It must live as long as its lender.
    pub(crate) unsafe fn lent(
        raw: NonNull<ibv_comp_channel>,
        context: Context,
        lender: Lent,
    ) -> Arc<Self> {
        Arc::new(Self { raw, _context: context, lender: Some(lender) })
    }

    /// Has [`take_event`](Self::take_event) return at once.
    pub(crate) fn set_nonblocking(&self) -> nix::Result<()> {
        fcntl(self.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(|_| ())
    }

    /// Takes an event and returns the key of its queue; the event is acknowledged at once, so
    /// that nobody who destroys the queue waits for it (ibv_get_cq_event(3)). Blocks unless the
    /// descriptor was made non-blocking; then `EAGAIN` says that there is none.
    pub(crate) fn take_event(&self) -> Result<u64> {
        let mut cq = std::ptr::null_mut();
        let mut key = std::ptr::null_mut();
        // SAFETY: the channel is alive and the places valid.
        let code =
            unsafe { (library!(verbs).ibv_get_cq_event)(self.raw(), &raw mut cq, &raw mut key) };
        Failure::check("ibv_get_cq_event", code)?;
        // SAFETY: the destruction of the queue waits until this event is acknowledged, which
        // is done once, here.
        unsafe { (library!(verbs).ibv_ack_cq_events)(cq, 1) };
        Ok(pointer_to_key(key))
    }
}

impl AsFd for CompletionChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive.
        let fd = unsafe { (*self.raw()).fd };
        // SAFETY: the descriptor is open as long as the channel, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        if self.lender.is_none() {
            // SAFETY: it is ours, its queues keep it and so are gone; destroyed once.
            let _ = unsafe { (library!(verbs).ibv_destroy_comp_channel)(self.raw()) };
        }
    }
}

handle! {
    /// A completion queue (ibv_create_cq(3)).
    CompletionQueue(ibv_cq) {
        _context: Context,
        _channel: Option<Arc<CompletionChannel>>,
        lender: Lender,
    }
}

impl CompletionQueue {
    /// A queue for at least `depth` completions; the channel tells of it by `key`.
    pub(crate) fn new(
        context: &Context,
        depth: u32,
        key: u64,
        channel: Option<&Arc<CompletionChannel>>,
    ) -> Result<Arc<Self>> {
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        let told = channel.map_or(std::ptr::null_mut(), |channel| channel.raw());
        // SAFETY: the context is open and the channel, if there is one, alive; vector 0 is
        // always there.
        let raw = unsafe {
            (library!(verbs).ibv_create_cq)(context.raw(), depth, key_to_pointer(key), told, 0)
        };
        let Some(raw) = NonNull::new(raw) else { return Err(Failure::last("ibv_create_cq")) };
        let (context, channel) = (context.clone(), channel.cloned());
        Ok(Arc::new(Self { raw, _context: context, _channel: channel, lender: None }))
    }

    /// A queue of the lender's.
    ///
    /// # Safety
    /// It must live as long as its lender.
    pub(crate) unsafe fn lent(raw: NonNull<ibv_cq>, context: Context, lender: Lent) -> Arc<Self> {
        Arc::new(Self { raw, _context: context, _channel: None, lender: Some(lender) })
    }

    /// How many completions it holds.
    pub(crate) fn depth(&self) -> u32 {
        u32::try_from(field!(self.raw(), cqe)).unwrap_or(0)
    }

    /// Takes completions into the slice (ibv_poll_cq(3)).
    #[inline]
    pub(crate) fn poll(&self, into: &mut [WorkCompletion]) -> Result<usize> {
        let room = i32::try_from(into.len()).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive and the slice has the room.
        let count = unsafe { dispatch::poll_cq(self.raw(), room, into.as_mut_ptr()) };
        usize::try_from(count)
            .map_err(|_| Failure { call: "ibv_poll_cq", errno: count.saturating_abs() })
    }

    /// Has the channel told of the next completion, or of the next one that is solicited or
    /// failed (ibv_req_notify_cq(3)).
    pub(crate) fn arm(&self, solicited_only: bool) -> Result<()> {
        // SAFETY: the queue is alive.
        let code = unsafe { dispatch::req_notify_cq(self.raw(), i32::from(solicited_only)) };
        Failure::check("ibv_req_notify_cq", code)
    }

    /// Makes room for at least `depth` completions, not fewer than are waiting
    /// (ibv_resize_cq(3)).
    pub(crate) fn resize(&self, depth: u32) -> Result<()> {
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive.
        let code = unsafe { (library!(verbs).ibv_resize_cq)(self.raw(), depth) };
        Failure::check("ibv_resize_cq", code)
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        if self.lender.is_none() {
            // SAFETY: it is ours, its queue pairs keep it and so are gone; events are
            // acknowledged as they are taken, so this does not wait; destroyed once.
            let _ = unsafe { (library!(verbs).ibv_destroy_cq)(self.raw()) };
        }
    }
}
