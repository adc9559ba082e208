//! The fast path of posts: plain requests go to the device with the fewest possible instructions.
//! Any special case, even a flag of a request, takes the slow path (`post`), which makes all checks
//! again.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use dat_provider::error::Result;
use dat_provider::flags::CompletionFlags;
use dat_provider::status::Operation;
use dat_provider::{Buffer, Epoch, ReceiveRequest, RemoteBuffer, Request, Work};
use dat_sync::MutexGuard;

use super::state::{Receiver, Sender};
use crate::sys::verbs as sys;
use crate::verbs::{Sge, SingleSgeOp};

/// The operations for which a post with a remote buffer is instantiated.
pub(super) const WRITE: bool = true;
pub(super) const READ: bool = false;

// Each of these functions gets the guard of the lock from a caller that only takes it, and passes it
// on in special cases, so that it keeps nothing else over the call of the device's library. All of
// them have the arguments of their caller in the same order: the calls are jumps.

impl Receiver {
    #[inline(never)]
    pub(super) fn post(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let receiver = &mut *this;
        let queue = &mut receiver.queue;
        let (Some(next), Some(segment)) = (queue.posts.next(), convert(buffer, key)) else {
            return Self::post_otherwise(this, buffer, key, cookie, flags, checked);
        };
        let number = queue.posts.write_at(next, receiver.operation, cookie, None, flags);
        match queue.poster.post(number, segment) {
            Ok(()) => Ok(()),
            Err(code) => Self::not_taken(this, code),
        }
    }

    #[cold]
    #[inline(never)]
    fn post_otherwise(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        if convert(buffer, key).is_some() && this.queue.posts.reopen() {
            return Self::post(this, buffer, key, cookie, flags, checked);
        }
        let segments = &[buffer.with_key(key)];
        Self::post_slow(this, &ReceiveRequest { segments, cookie, flags, checked })
    }
}

impl Sender {
    #[inline(never)]
    pub(super) fn post_send(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        match this.post(buffer, key, cookie, flags, SingleSgeOp::Send) {
            Some(Ok(())) => Ok(()),
            Some(Err(code)) => Self::not_taken(this, code),
            None => Self::post_send_otherwise(this, buffer, key, cookie, flags, checked),
        }
    }

    /// Posts an RDMA write or read.
    #[inline(never)]
    pub(super) fn post_rdma<const OPERATION: bool>(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let RemoteBuffer { address, context } = remote;
        let operation = match OPERATION {
            WRITE => SingleSgeOp::Write { address, key: context },
            READ => SingleSgeOp::Read { address, key: context },
        };
        match this.post(buffer, key, cookie, flags, operation) {
            Some(Ok(())) => Ok(()),
            Some(Err(code)) => Self::not_taken(this, code),
            None => Self::post_rdma_otherwise::<OPERATION>(
                this, buffer, key, cookie, flags, checked, remote,
            ),
        }
    }

    /// Posts a request; `None` if it cannot take the fast path.
    #[inline(always)]
    fn post(
        &mut self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        operation: SingleSgeOp,
    ) -> Option<std::result::Result<(), i32>> {
        if !flags.is_empty() {
            return None;
        }
        let next = self.queue.posts.next()?;
        debug_assert!(u32::try_from(buffer.length).is_ok(), "longer than `Limits::max_message`");
        let length = buffer.length as u32;
        let (recorded, send_flags) = match operation {
            SingleSgeOp::Send => (Operation::Send, self.signalled_for(buffer.length)),
            SingleSgeOp::Write { .. } => (Operation::RdmaWrite, self.signalled_for(buffer.length)),
            SingleSgeOp::Read { .. } => (Operation::RdmaRead, sys::IBV_SEND_SIGNALED),
        };
        let number = self.queue.posts.write_at(next, recorded, cookie, Some(length), flags);
        let segment = Sge { addr: buffer.address, length, lkey: key };
        // SAFETY: the core checked the segment against its region, whose memory is readable while
        // it is registered (`Span::new`).
        let posted = unsafe { self.queue.poster.post(number, send_flags, segment, operation) };
        if posted.is_ok() {
            self.quiet = 0;
        }
        Some(posted)
    }

    #[cold]
    #[inline(never)]
    fn post_send_otherwise(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        if flags.is_empty() && this.queue.posts.reopen() {
            return Self::post_send(this, buffer, key, cookie, flags, checked);
        }
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        let work = Work::Send;
        Self::post_slow(this, &Request { work, segments, length, cookie, flags, checked })
    }

    #[cold]
    #[inline(never)]
    fn post_rdma_otherwise<const OPERATION: bool>(
        mut this: MutexGuard<'_, Self>,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        if flags.is_empty() && this.queue.posts.reopen() {
            return Self::post_rdma::<OPERATION>(this, buffer, key, cookie, flags, checked, remote);
        }
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        let remote = remote.with_length(length);
        let work = match OPERATION {
            WRITE => Work::RdmaWrite { remote },
            READ => Work::RdmaRead { remote },
        };
        Self::post_slow(this, &Request { work, segments, length, cookie, flags, checked })
    }
}

/// The segment of a receive in the device's form, if it is not longer than that allows.
#[inline(always)]
fn convert(buffer: Buffer, key: u32) -> Option<Sge> {
    let length = u32::try_from(buffer.length).ok()?;
    Some(Sge { addr: buffer.address, length, lkey: key })
}
