//! Posting.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use std::sync::Arc;

use dat_core::Operation;
use dat_core::error::{Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{BindRequest, Outstanding, ReceiveRequest, Request, Work, unsupported};
use parking_lot::MutexGuard;

use super::state::{Mode, Receiver, Sender, VerbsQp};
use crate::completion_queue::Attachment;
use crate::engine::QueueEvents;
use crate::errors::{internal, queue_full, wrong_state};
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{self, Error as Failure, Post, What};
use crate::window;
use crate::work_queue::{Record, WorkQueue};

impl Receiver {
    /// Posts a receive on the slow path.
    #[inline(never)]
    pub(super) fn post_slow(
        mut receiver: MutexGuard<'_, Self>,
        receive: &ReceiveRequest<'_>,
    ) -> Result<()> {
        let record = Record {
            cookie: receive.cookie,
            flags: receive.flags,
            operation: receiver.operation,
            ..Record::default()
        };
        let Some(number) = write(&receiver.work_queue, &receiver.attachment, record) else {
            return Err(queue_full());
        };
        match &receiver.mode {
            Mode::Live(hardware) => {
                let id = receiver.identifiers.of(number);
                let posted =
                    segments::with(receive.segments, |list| hardware.post_receive_raw(id, list));
                match posted {
                    Ok(()) => Ok(()),
                    Err(failure) => Receiver::not_taken(receiver, failure),
                }
            }
            Mode::Held => Ok(()),
            Mode::Flushed => {
                let (queue, work_queue) =
                    (Arc::clone(&receiver.attachment.queue), Arc::clone(&receiver.work_queue));
                drop(receiver);
                queue.flush(&work_queue);
                Ok(())
            }
            Mode::Early => {
                receiver.early.push_back((number, receive.segments.to_vec()));
                Ok(())
            }
        }
    }

    /// The device refused the receive that was recorded last.
    #[cold]
    #[inline(never)]
    pub(super) fn not_taken(this: MutexGuard<'_, Self>, failure: Failure) -> Result<()> {
        this.work_queue.unwrite();
        Err(refused(failure))
    }
}

impl Sender {
    /// Posts a request on the slow path.
    #[inline(never)]
    pub(super) fn post_slow(sender: MutexGuard<'_, Self>, request: &Request<'_>) -> Result<()> {
        match request.work {
            Work::Send => Self::post_as(sender, request, What::Send),
            Work::SendInvalidate { key } => {
                Self::post_as(sender, request, What::SendInvalidate { key })
            }
            Work::RdmaWrite { remote } => {
                let what = What::Write { address: remote.address, key: remote.context };
                Self::post_as(sender, request, what)
            }
            Work::RdmaWriteImmediate { remote, immediate } => {
                let (address, key) = (remote.address, remote.context);
                let what = What::WriteImmediate { address, key, data: immediate };
                Self::post_as(sender, request, what)
            }
            Work::RdmaRead { remote } => {
                let what = What::Read { address: remote.address, key: remote.context };
                if remote.length >= request.length {
                    return Self::post_as(sender, request, what);
                }
                // It reads all of the remote buffer into as many local segments as needed.
                let (cut, count) = segments::first(request.segments, remote.length);
                let cut = Request { segments: &cut[..count], length: remote.length, ..*request };
                Self::post_as(sender, &cut, what)
            }
            Work::FetchAdd { add, remote } => {
                let (address, key) = (remote.address, remote.context);
                Self::post_as(sender, request, What::FetchAdd { address, key, add })
            }
            Work::CompareSwap { compare, swap, remote } => {
                let (address, key) = (remote.address, remote.context);
                Self::post_as(sender, request, What::CompareSwap { address, key, compare, swap })
            }
            _ => Err(unsupported("such a request")),
        }
    }

    fn post_as(sender: MutexGuard<'_, Self>, request: &Request<'_>, what: What) -> Result<()> {
        let (cookie, length, flags) = (request.cookie, request.length, request.flags);
        let operation = request.work.operation();
        let record = Record { cookie, length, flags, operation, ..Record::default() };
        Self::submit(sender, record, |sender, hardware, id, mut flags| {
            if what.takes_inline() && length <= sender.inline {
                flags |= sys::IBV_SEND_INLINE;
            }
            segments::with(request.segments, |segments| {
                // SAFETY: the core checked the segments against their regions, whose memory is
                // readable while they are registered (`Span::new`).
                unsafe { hardware.post_raw(&Post { id, flags, segments, what }) }
            })
            .or_else(late_or_refused)
        })
    }

    /// Records a request and passes it to the device, or to the flush.
    pub(super) fn submit(
        mut sender: MutexGuard<'_, Self>,
        record: Record,
        post: impl FnOnce(&Self, &verbs::QueuePair, u64, u32) -> Result<()>,
    ) -> Result<()> {
        let Mode::Live(hardware) = &sender.mode else {
            return Self::submit_late(sender, record);
        };
        let Some(number) = write(&sender.work_queue, &sender.attachment, record) else {
            return Err(queue_full());
        };
        let (flags, quiet) = sender.flags(&record);
        let id = sender.identifiers.of(number);
        let posted = post(&sender, hardware, id, flags);
        sender.posted(&posted, quiet);
        posted
    }

    /// As [`submit`](Self::submit), if there is no connection any more or not yet.
    #[cold]
    fn submit_late(sender: MutexGuard<'_, Self>, record: Record) -> Result<()> {
        if matches!(sender.mode, Mode::Early) {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        if write(&sender.work_queue, &sender.attachment, record).is_none() {
            return Err(queue_full());
        }
        if matches!(sender.mode, Mode::Flushed) {
            let (queue, work_queue) =
                (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.work_queue));
            drop(sender);
            queue.flush(&work_queue);
        }
        Ok(())
    }
}

impl VerbsQp {
    pub(super) fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let window = window::find(bind.window)?;
        let record = Record {
            cookie: bind.cookie,
            length: 0,
            extra: window.tag,
            flags: bind.flags,
            operation: Operation::Bind,
            internal: false,
        };
        let mut key = 0;
        Sender::submit(self.sender.lock(), record, |_, hardware, id, flags| {
            // Requests posted later start after the bind (IBA o10-36.2.5 requires the fence for
            // windows of either type while reads are outstanding).
            key = window.post(hardware, bind, id, flags)?;
            Ok(())
        })?;
        Ok(key)
    }

    /// The sequence number of the oldest request that has not completed.
    pub(crate) fn oldest_request(&self) -> Option<u32> {
        let (queue, work_queue) = {
            let mut sender = self.sender.lock();
            // Without it there would be no way to know whether suppressed requests have completed.
            sender.mark();
            (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.work_queue))
        };
        queue.collect();
        work_queue.oldest()
    }

    pub(super) fn outstanding(&self) -> Outstanding {
        let requests = {
            let mut sender = self.sender.lock();
            sender.mark();
            (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.work_queue))
        };
        let receives = {
            let receiver = self.receiver.lock();
            (Arc::clone(&receiver.attachment.queue), Arc::clone(&receiver.work_queue))
        };
        let count = |(queue, work_queue): (Arc<crate::completion_queue::Queue>, Arc<_>)| {
            queue.collect();
            WorkQueue::pending_of_consumer(&work_queue)
        };
        Outstanding { receives: count(receives), requests: count(requests) }
    }

    /// The first failure, of requests before receives: a device often flushes receives with a status
    /// of its own.
    pub(super) fn failure(&self) -> Option<dat_core::Failure> {
        let requests = Arc::clone(&self.sender.lock().work_queue);
        let receives = Arc::clone(&self.receiver.lock().work_queue);
        requests.failure().or_else(|| receives.failure())
    }
}

impl Sender {
    /// The send flags of a recorded request, and the number of suppressed requests after it.
    fn flags(&self, record: &Record) -> (u32, u32) {
        let wanted = record.flags;
        // If every request has a fence, the device refuses it for reads (`requests_overtake_reads`).
        let mut flags = match record.operation {
            Operation::RdmaRead if self.signalled != sys::IBV_SEND_SIGNALED => 0,
            _ if wanted.contains(CompletionFlags::BARRIER_FENCE) => sys::IBV_SEND_FENCE,
            _ => self.signalled & sys::IBV_SEND_FENCE,
        };
        if wanted.contains(CompletionFlags::SOLICITED_WAIT) {
            flags |= sys::IBV_SEND_SOLICITED;
        }
        if wanted.contains(CompletionFlags::SUPPRESS) && self.quiet < self.most_quiet {
            (flags, self.quiet + 1)
        } else {
            (flags | sys::IBV_SEND_SIGNALED, 0)
        }
    }

    /// Ends a post: keeps the record, or removes it after an error.
    fn posted(&mut self, posted: &Result<()>, quiet: u32) {
        if posted.is_err() {
            self.work_queue.unwrite();
        } else {
            self.quiet = quiet;
        }
    }

    /// The device refused the request that was recorded last; returns the outcome to report.
    #[cold]
    #[inline(never)]
    pub(super) fn not_taken(mut this: MutexGuard<'_, Self>, failure: Failure) -> Result<()> {
        let outcome = late_or_refused(failure);
        this.posted(&outcome, 0);
        outcome
    }

    /// If the last request completes silently, posts an internal request that completes visibly: an
    /// empty write, which accesses no memory.
    pub(super) fn mark(&mut self) {
        let Mode::Live(hardware) = &self.mode else { return };
        if self.quiet == 0 {
            return;
        }
        let record = Record { internal: true, ..Record::default() };
        let Some(number) = self.work_queue.write(&record) else { return };
        let id = self.identifiers.of(number);
        let what = What::Write { address: 0, key: 0 };
        let post = Post { id, flags: sys::IBV_SEND_SIGNALED, segments: &[], what };
        // SAFETY: the post has no segments, so no memory is read.
        if unsafe { hardware.post_raw(&post) }.is_err() {
            self.work_queue.unwrite();
            return;
        }
        self.quiet = 0;
    }
}

/// Records a post; returns its sequence number if there is a free entry.
fn write(work_queue: &WorkQueue, attachment: &Attachment, record: Record) -> Option<u32> {
    match work_queue.write(&record) {
        None => write_after_all(work_queue, attachment, record),
        number => number,
    }
}

/// Records a post after completions were collected: suppressed ones, and those that are never
/// polled, have then returned their queue credits.
#[cold]
#[inline(never)]
fn write_after_all(work_queue: &WorkQueue, attachment: &Attachment, record: Record) -> Option<u32> {
    attachment.queue.collect_quietly();
    work_queue.write(&record)
}

/// The outcome of a request that the device refused. On iWARP the device may know of the end of the
/// connection before that is reported: then the request is flushed with the others.
#[cold]
fn late_or_refused(failure: Failure) -> Result<()> {
    match failure.errno {
        libc::ENOTCONN => Ok(()),
        _ => Err(refused(failure)),
    }
}

/// The error of a post that the device refused.
#[cold]
pub(super) fn refused(failure: Failure) -> dat_core::Error {
    match failure.errno {
        libc::ENOMEM => queue_full(),
        _ => internal(failure, "the device rejected the request"),
    }
}
