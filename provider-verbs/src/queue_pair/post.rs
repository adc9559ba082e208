//! Posting.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use std::sync::Arc;

use dat_core::Operation;
use dat_core::error::{Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{BindRequest, Outstanding, ReceiveRequest, Request, Work, unsupported};

use super::state::{Endpoint, Mode, Sender};
use crate::errors::{internal, no_room, wrong_state};
use crate::ledger::Record;
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{self, Failure, Post, What};
use crate::window;

impl Endpoint {
    #[inline]
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let mut receiver = self.receiver.lock();
        if !receiver.ledger.take_room() {
            // Where nobody polls, the room of what has completed is free now.
            receiver.attachment.queue.collect_quietly();
            if !receiver.ledger.take_room() {
                return Err(no_room());
            }
        }
        let record = Record {
            cookie: receive.cookie,
            flags: receive.flags,
            operation: match self.datagrams {
                true => Operation::ReceiveDatagram,
                false => Operation::Receive,
            },
            ..Record::default()
        };
        let Some(number) = receiver.ledger.write(&record) else {
            receiver.ledger.release(1);
            return Err(no_room());
        };
        match (receiver.mode, &receiver.hardware) {
            (Mode::Live, Some(hardware)) => {
                let id = receiver.attachment.identifier(number);
                let posted =
                    segments::with(receive.segments, |list| hardware.post_receive(id, list));
                posted.map_err(|failure| {
                    receiver.ledger.unwrite();
                    receiver.ledger.release(1);
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
        let what = match request.work {
            Work::Send => What::Send,
            Work::SendInvalidate { key } => What::SendInvalidate { key },
            Work::RdmaWrite { remote } => {
                What::Write { address: remote.address, key: remote.context }
            }
            Work::RdmaWriteImmediate { remote, immediate } => What::WriteImmediate {
                address: remote.address,
                key: remote.context,
                data: immediate,
            },
            Work::RdmaRead { remote } => {
                What::Read { address: remote.address, key: remote.context }
            }
            Work::FetchAdd { add, remote } => {
                What::FetchAdd { address: remote.address, key: remote.context, add }
            }
            Work::CompareSwap { compare, swap, remote } => {
                What::CompareSwap { address: remote.address, key: remote.context, compare, swap }
            }
            _ => return Err(unsupported("such a request")),
        };
        // A read brings what the remote side has, into as much as it needs of the local one.
        let (cut, read);
        let (segments, length) = match request.work {
            Work::RdmaRead { remote } if remote.length < request.length => {
                (cut, read) = segments::first(request.segments, remote.length);
                (&cut[..read], remote.length)
            }
            _ => (request.segments, request.length),
        };
        let record = Record {
            cookie: request.cookie,
            length,
            flags: request.flags,
            operation: request.work.operation(),
            ..Record::default()
        };
        let inline = matches!(
            request.work,
            Work::Send
                | Work::SendInvalidate { .. }
                | Work::RdmaWrite { .. }
                | Work::RdmaWriteImmediate { .. }
        );
        self.submit(&record, |sender, hardware, id, mut flags| {
            if inline && length <= sender.inline {
                flags |= sys::IBV_SEND_INLINE;
            }
            segments::with(segments, |segments| {
                // SAFETY: the core checked the segments against their regions, whose memory
                // can be read (`Span::new`).
                unsafe { hardware.post(&Post { id, flags, segments, what }) }
            })
            .map_err(refused)
        })
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
        self.submit(&record, |_, hardware, id, flags| {
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
        record: &Record,
        post: impl FnOnce(&Sender, &verbs::QueuePair, u64, u32) -> Result<()>,
    ) -> Result<()> {
        let mut sender = self.sender.lock();
        if !sender.ledger.take_room() {
            // Requests that complete in silence may have done so by now.
            sender.attachment.queue.collect_quietly();
            if !sender.ledger.take_room() {
                return Err(no_room());
            }
        }
        if sender.mode == Mode::Early {
            sender.ledger.release(1);
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        let Some(number) = sender.ledger.write(record) else {
            sender.ledger.release(1);
            return Err(no_room());
        };
        match (sender.mode, &sender.hardware) {
            (Mode::Live, Some(hardware)) => {
                let quiet = record.flags.contains(CompletionFlags::SUPPRESS)
                    && sender.quiet < sender.most_quiet;
                let mut flags = if quiet { 0 } else { sys::IBV_SEND_SIGNALED };
                if record.flags.contains(CompletionFlags::SOLICITED_WAIT) {
                    flags |= sys::IBV_SEND_SOLICITED;
                }
                if record.flags.contains(CompletionFlags::BARRIER_FENCE) {
                    flags |= sys::IBV_SEND_FENCE;
                }
                let id = sender.attachment.identifier(number);
                if let Err(error) = post(&sender, hardware, id, flags) {
                    sender.ledger.unwrite();
                    sender.ledger.release(1);
                    return Err(error);
                }
                sender.quiet = if quiet { sender.quiet + 1 } else { 0 };
                Ok(())
            }
            (Mode::Flushed, _) => {
                let (queue, ledger) =
                    (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.ledger));
                drop(sender);
                queue.flush(&ledger);
                Ok(())
            }
            _ => Ok(()),
        }
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
            crate::ledger::Ledger::pending_of_consumer(&ledger)
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

/// The error of a post that the device refused.
#[cold]
pub(super) fn refused(failure: Failure) -> dat_core::Error {
    match failure.errno {
        libc::ENOMEM => no_room(),
        _ => internal(failure, "the device refused the request"),
    }
}
