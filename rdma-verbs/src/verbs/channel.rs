//! Completion channels.

use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use dat_sync::Private;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::{Context, Error, Owner, Result, library, object, pointer_to_key};
use crate::sys::verbs::ibv_comp_channel;

object! {
    /// A channel that reports completions of armed queues (ibv_create_comp_channel(3)).
    CompletionChannel(ibv_comp_channel) { _keeper: Keeper, _context: Context }
}

/// The owner that keeps a channel alive until the handles are gone.
#[expect(dead_code, reason = "kept for as long as the channel")]
enum Keeper {
    Created(Private<OpenChannel>),
    Other(Owner),
}

/// A channel that this crate created. A child of a fork does not keep its descriptor.
struct OpenChannel(NonNull<ibv_comp_channel>);

impl AsFd for OpenChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive.
        let fd = unsafe { (*self.0.as_ptr()).fd };
        // SAFETY: the descriptor is open as long as the channel, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for OpenChannel {
    fn drop(&mut self) {
        // SAFETY: this crate created it; its queues keep it alive, so they are gone; it is destroyed
        // once.
        let _ = unsafe { (library!(verbs).ibv_destroy_comp_channel)(self.0.as_ptr()) };
    }
}

impl CompletionChannel {
    /// Creates a channel on the device.
    ///
    /// # Errors
    /// `EMFILE`: the process has no descriptor left.
    pub fn new(context: &Context) -> Result<Arc<Self>> {
        let create = || {
            // SAFETY: the context is open.
            let raw = unsafe { (library!(verbs).ibv_create_comp_channel)(context.raw()) };
            let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_create_comp_channel"))?;
            Ok(OpenChannel(raw))
        };
        let created = Private::create(create)?;
        let (raw, keeper) = (created.0, Keeper::Created(created));
        Ok(Arc::new(Self { raw, _keeper: keeper, _context: context.clone() }))
    }

    /// Wraps a channel that belongs to another object.
    ///
    /// # Safety
    /// It must live as long as its owner.
    pub(crate) unsafe fn owned_by(
        raw: NonNull<ibv_comp_channel>,
        context: Context,
        owner: Owner,
    ) -> Arc<Self> {
        Arc::new(Self { raw, _keeper: Keeper::Other(owner), _context: context })
    }

    /// Makes [`take_event`](Self::take_event) return at once, even without an event.
    ///
    /// # Errors
    /// The error of fcntl(2).
    pub fn set_nonblocking(&self) -> Result<()> {
        set_nonblocking(self)
    }

    /// Takes an event and returns the key of its queue (ibv_get_cq_event(3)). The event is
    /// acknowledged at once, so that no thread that destroys the queue waits for it. Blocks
    /// unless the descriptor is non-blocking.
    ///
    /// # Errors
    /// `EAGAIN`: the descriptor is non-blocking and there is no event.
    pub fn take_event(&self) -> Result<u64> {
        let mut cq = std::ptr::null_mut();
        let mut key = std::ptr::null_mut();
        // SAFETY: the channel is alive and both pointers are valid.
        let code =
            unsafe { (library!(verbs).ibv_get_cq_event)(self.raw(), &raw mut cq, &raw mut key) };
        Error::check("ibv_get_cq_event", code)?;
        // SAFETY: the destruction of the queue waits until this event is acknowledged, which
        // happens once, here.
        unsafe { (library!(verbs).ibv_ack_cq_events)(cq, 1) };
        Ok(pointer_to_key(key))
    }
}

pub(crate) fn set_nonblocking(channel: &impl AsFd) -> Result<()> {
    fcntl(channel.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
        .map(|_| ())
        .map_err(|errno| Error::new("fcntl", errno as i32))
}

impl AsFd for CompletionChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive.
        let fd = unsafe { (*self.raw()).fd };
        // SAFETY: the descriptor is open as long as the channel, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}
