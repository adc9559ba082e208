//! Posting.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use std::sync::Arc;

use dat_core::Operation;
use dat_core::error::{Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{BindRequest, Outstanding, ReceiveRequest, Request, Work, unsupported};
use parking_lot::MutexGuard;

use super::state::{Endpoint, Mode, Sender};
use crate::completion_queue::Attachment;
use crate::errors::{internal, no_room, wrong_state};
use crate::ledger::{Ledger, Record};
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{self, Failure, Post, What};
use crate::window;

impl Endpoint {
    #[inline]
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut receiver = self.receiver.lock();
        let record = Record {
            cookie: receive.cookie,
            flags: receive.flags,
            operation: match self.datagrams {
                true => Operation::ReceiveDatagram,
                false => Operation::Receive,
            },
            ..Record::default()
        };
        let Some(number) = write(&receiver.ledger, &receiver.attachment, record) else {
            return Err(no_room());
        };
        match (receiver.mode, &receiver.hardware) {
            (Mode::Live, Some(hardware)) => {
                let id = receiver.attachment.identifier(number);
                let posted =
                    segments::with(receive.segments, |list| hardware.post_receive(id, list));
                posted.map_err(|failure| {
                    receiver.ledger.unwrite();
                    refused(failure)
                })
            }
            (Mode::Held, _) => Ok(()),
            (Mode::Flushed, _) => {
                let (queue, ledger) =
                    (Arc::clone(&receiver.attachment.queue), Arc::clone(&receiver.ledger));
                drop(receiver);
                queue.flush(&ledger);
                Ok(())
            }
            (Mode::Early | Mode::Live, _) => {
                receiver.early.push_back((number, receive.segments.to_vec()));
                Ok(())
            }
        }
    }

    #[inline]
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        // Those that are posted most are compiled each by itself.
        match request.work {
            Work::Send => self.post_as(request, Operation::Send, What::Send),
            Work::RdmaWrite { remote } => {
                let what = What::Write { address: remote.address, key: remote.context };
                self.post_as(request, Operation::RdmaWrite, what)
            }
            Work::RdmaRead { remote } if remote.length >= request.length => {
                let what = What::Read { address: remote.address, key: remote.context };
                self.post_as(request, Operation::RdmaRead, what)
            }
            _ => self.post_seldom(request),
        }
    }

    /// The requests that are posted less.
    #[inline(never)]
    fn post_seldom(&self, request: &Request<'_>) -> Result<()> {
        let operation = request.work.operation();
        match request.work {
            Work::SendInvalidate { key } => {
                self.post_any(request, operation, What::SendInvalidate { key })
            }
            Work::RdmaWriteImmediate { remote, immediate } => {
                let (address, key) = (remote.address, remote.context);
                let what = What::WriteImmediate { address, key, data: immediate };
                self.post_any(request, operation, what)
            }
            Work::RdmaRead { remote } => {
                // It brings what the remote side has, into as much as it needs of the local one.
                let (cut, count) = segments::first(request.segments, remote.length);
                let cut = Request { segments: &cut[..count], length: remote.length, ..*request };
                let what = What::Read { address: remote.address, key: remote.context };
                self.post_any(&cut, operation, what)
            }
            Work::FetchAdd { add, remote } => {
                let (address, key) = (remote.address, remote.context);
                self.post_any(request, operation, What::FetchAdd { address, key, add })
            }
            Work::CompareSwap { compare, swap, remote } => {
                let (address, key) = (remote.address, remote.context);
                let what = What::CompareSwap { address, key, compare, swap };
                self.post_any(request, operation, what)
            }
            _ => Err(unsupported("such a request")),
        }
    }

    #[inline(never)]
    fn post_any(&self, request: &Request<'_>, operation: Operation, what: What) -> Result<()> {
        self.post_as(request, operation, what)
    }

    #[inline(always)]
    fn post_as(&self, request: &Request<'_>, operation: Operation, what: What) -> Result<()> {
        let length = request.length;
        let (cookie, flags) = (request.cookie, request.flags);
        let record = Record { cookie, length, flags, operation, ..Record::default() };
        let Some(written) = self.write(record)? else { return Ok(()) };
        let Some(hardware) = &written.sender.hardware else { return Ok(()) };
        let (id, mut flags) = (written.id, written.flags);
        if what.takes_along() && length <= written.sender.inline {
            flags |= sys::IBV_SEND_INLINE;
        }
        let posted = segments::with(request.segments, |segments| {
            // SAFETY: the core checked the segments against their regions, whose memory can be
            // read (`Span::new`).
            unsafe { hardware.post(&Post { id, flags, segments, what }) }
        });
        written.end(posted.or_else(late_or_refused))
    }

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
        self.submit(record, |_, hardware, id, flags| {
            // Requests that are posted later start after it (IBA o10-36.2.5 wants the fence
            // for windows of either type where reads are outstanding).
            key = window.post(hardware, bind, id, flags)?;
            Ok(())
        })?;
        Ok(key)
    }

    /// Writes a request down and hands it to the device, or to the flushing.
    #[inline]
    pub(super) fn submit(
        &self,
        record: Record,
        post: impl FnOnce(&Sender, &verbs::QueuePair, u64, u32) -> Result<()>,
    ) -> Result<()> {
        let Some(written) = self.write(record)? else { return Ok(()) };
        let Some(hardware) = &written.sender.hardware else { return Ok(()) };
        let posted = post(&written.sender, hardware, written.id, written.flags);
        written.end(posted)
    }

    /// Writes a request down; what has to be handed to the device then.
    #[inline(always)]
    fn write(&self, record: Record) -> Result<Option<Written<'_>>> {
        let sender = self.sender.lock();
        if sender.mode != Mode::Live {
            self.write_late(sender, record)?;
            return Ok(None);
        }
        let Some(number) = write(&sender.ledger, &sender.attachment, record) else {
            return Err(no_room());
        };
        let mut flags = sys::IBV_SEND_SIGNALED;
        let mut quiet = 0;
        let wanted = record.flags | sender.always;
        if !wanted.is_empty() {
            if wanted.contains(CompletionFlags::SUPPRESS) && sender.quiet < sender.most_quiet {
                (flags, quiet) = (0, sender.quiet + 1);
            }
            if wanted.contains(CompletionFlags::SOLICITED_WAIT) {
                flags |= sys::IBV_SEND_SOLICITED;
            }
            // Soft-iWARP refuses it for reads, which take place one after the other anyway.
            let is_read = record.operation == Operation::RdmaRead;
            if wanted.contains(CompletionFlags::BARRIER_FENCE)
                && !(is_read && sender.always.contains(CompletionFlags::BARRIER_FENCE))
            {
                flags |= sys::IBV_SEND_FENCE;
            }
        }
        let id = sender.attachment.identifier(number);
        Ok(Some(Written { sender, id, flags, quiet }))
    }

    /// The same where there is no connection, or no more.
    #[cold]
    fn write_late(&self, sender: MutexGuard<'_, Sender>, record: Record) -> Result<()> {
        if sender.mode == Mode::Early {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        if write(&sender.ledger, &sender.attachment, record).is_none() {
            return Err(no_room());
        }
        if sender.mode == Mode::Flushed {
            let (queue, ledger) =
                (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.ledger));
            drop(sender);
            queue.flush(&ledger);
        }
        Ok(())
    }

    /// The number of the oldest request that has not completed.
    pub(crate) fn oldest_request(&self) -> Option<u32> {
        let (queue, ledger) = {
            let mut sender = self.sender.lock();
            // Without it nobody would know how far those have come that complete in silence.
            sender.mark();
            (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.ledger))
        };
        queue.collect();
        ledger.oldest()
    }

    pub(super) fn outstanding(&self) -> Outstanding {
        let requests = {
            let mut sender = self.sender.lock();
            sender.mark();
            (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.ledger))
        };
        let receives = {
            let receiver = self.receiver.lock();
            (Arc::clone(&receiver.attachment.queue), Arc::clone(&receiver.ledger))
        };
        let count = |(queue, ledger): (Arc<crate::completion_queue::Queue>, Arc<_>)| {
            queue.collect();
            Ledger::pending_of_consumer(&ledger)
        };
        Outstanding { receives: count(receives), requests: count(requests) }
    }
}

impl Sender {
    /// When the device tells nothing of the last request, posts one of the provider's own that
    /// it tells of: an empty write, which touches no memory.
    pub(super) fn mark(&mut self) {
        if self.quiet == 0 || self.mode != Mode::Live {
            return;
        }
        let Some(hardware) = &self.hardware else { return };
        let record = Record { internal: true, ..Record::default() };
        let Some(number) = self.ledger.write(&record) else { return };
        let id = self.attachment.identifier(number);
        let what = What::Write { address: 0, key: 0 };
        let post = Post { id, flags: sys::IBV_SEND_SIGNALED, segments: &[], what };
        // SAFETY: there is no segment that could be read.
        if unsafe { hardware.post(&post) }.is_err() {
            self.ledger.unwrite();
            return;
        }
        self.quiet = 0;
    }
}

/// A request that is written down and not posted yet, under the lock.
struct Written<'a> {
    sender: MutexGuard<'a, Sender>,
    /// What it completes under.
    id: u64,
    /// How it is posted.
    flags: u32,
    /// Requests that complete in silence, with it.
    quiet: u32,
}

impl Written<'_> {
    /// It was posted, or is taken back.
    #[inline(always)]
    fn end(mut self, posted: Result<()>) -> Result<()> {
        if posted.is_err() {
            self.sender.ledger.unwrite();
        } else {
            self.sender.quiet = self.quiet;
        }
        posted
    }
}

/// Writes a post down, and returns its number if there is room.
#[inline(always)]
fn write(ledger: &Ledger, attachment: &Attachment, record: Record) -> Option<u32> {
    match ledger.write(&record) {
        None => write_after_all(ledger, attachment, record),
        number => number,
    }
}

/// The same after a look at what has completed: what nobody is told of, or nobody polls, has its
/// room back by then.
#[cold]
#[inline(never)]
fn write_after_all(ledger: &Ledger, attachment: &Attachment, record: Record) -> Option<u32> {
    attachment.queue.collect_quietly();
    ledger.write(&record)
}

/// The outcome of a request that the device did not take. On iWARP it may know of the end of the
/// connection before anybody was told: then the request is flushed with the others.
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
        libc::ENOMEM => no_room(),
        _ => internal(failure, "the device refused the request"),
    }
}
