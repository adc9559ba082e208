//! Posting.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::Operation;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{BindRequest, Outstanding, ReceiveRequest, Request, Segment, Work, unsupported};
use dat_provider_kit::errors::{no_credit, wrong_state};
use dat_sync::MutexGuard;

use super::state::{Completing, Mode, Receiver, Sender, VerbsQp};
use crate::errors::internal;
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{
    self, Error as Failure, Operation as Posted, RequestData, SendFlags, SendRequest, Unrecorded,
};
use crate::window;
use crate::work_queue::Record;

/// There is no memory for the receives that an endpoint may have.
pub(super) fn no_room() -> Error {
    Error::no_memory("the receives of the endpoint")
}

impl Receiver {
    /// Posts a receive on the slow path.
    #[inline(never)]
    pub(super) fn post_slow(
        mut receiver: MutexGuard<'_, Self>,
        receive: &ReceiveRequest<'_>,
    ) -> Result<()> {
        let &ReceiveRequest { segments, cookie, flags, .. } = receive;
        let record = Record { cookie, flags, operation: receiver.operation, ..Record::default() };
        let Some(number) = receiver.queue.write(&record) else { return Err(no_credit()) };
        match receiver.queue.hardware() {
            Some(hardware) => {
                let id = receiver.queue.attachment.identifier(number);
                let posted = segments::with(segments, |list| {
                    hardware.post_receive(id, Unrecorded::new(list))
                });
                posted.map_err(|failure| {
                    receiver.queue.posts.unwrite();
                    refused(failure)
                })
            }
            None if receiver.queue.mode() == Mode::Early => {
                receiver.keep_early(number, segments).inspect_err(|_| {
                    receiver.queue.posts.unwrite();
                })
            }
            None => {
                let completing = receiver.queue.to_flush();
                drop(receiver);
                flush(completing)
            }
        }
    }

    /// Keeps a recorded receive until there is a connection.
    pub(super) fn keep_early(&mut self, number: u32, segments: &[Segment]) -> Result<()> {
        let mut list = Vec::new();
        list.try_reserve_exact(segments.len()).map_err(|_| no_room())?;
        list.extend_from_slice(segments);
        self.early.try_reserve(1).map_err(|_| no_room())?;
        self.early.push_back((number, list));
        Ok(())
    }

    /// The device refused the receive that was recorded last, with this result.
    #[cold]
    #[inline(never)]
    pub(super) fn not_taken(mut this: MutexGuard<'_, Self>, code: i32) -> Result<()> {
        let failure = Failure::from_post("ibv_post_recv", code);
        this.queue.posts.unwrite();
        Err(refused(failure))
    }
}

impl Sender {
    /// Posts any request.
    pub(super) fn post_slow(this: MutexGuard<'_, Self>, request: &Request<'_>) -> Result<()> {
        let &Request { ref work, segments, cookie, flags, .. } = request;
        let operation = match *work {
            Work::Send => Posted::Send,
            Work::SendInvalidate { key } => Posted::SendInvalidate(key),
            Work::RdmaWrite { remote } => Posted::Write(at(remote)),
            // The consumer passes immediate data in the order in which it is sent.
            Work::RdmaWriteImmediate { remote, immediate } => {
                Posted::WriteImmediate(at(remote), u32::from_be(immediate))
            }
            Work::RdmaRead { remote } => {
                let read = Posted::Read(at(remote));
                if remote.length < request.length {
                    // It reads all of the remote buffer into as many local segments as needed.
                    let (cut, count) = segments::first(segments, remote.length);
                    return Self::post_as(this, &cut[..count], cookie, flags, read);
                }
                read
            }
            Work::FetchAdd { add, remote } => Posted::FetchAdd { remote: at(remote), add },
            Work::CompareSwap { compare, swap, remote } => {
                Posted::CompareSwap { remote: at(remote), compare, swap }
            }
            _ => return Err(unsupported("such a request")),
        };
        Self::post_as(this, segments, cookie, flags, operation)
    }

    /// Posts a request that is not a datagram.
    fn post_as(
        this: MutexGuard<'_, Self>,
        segments: &[Segment],
        cookie: u64,
        flags: CompletionFlags,
        operation: Posted<'_>,
    ) -> Result<()> {
        let length: u64 = segments.iter().map(|segment| segment.length).sum();
        let recorded = recorded(operation);
        let record = Record {
            cookie,
            length: length as u32,
            flags,
            operation: recorded,
            ..Record::default()
        };
        Self::submit(this, record, |sender, hardware, id, flags| {
            let is_inline = operation.supports_inline() && length <= sender.inline;
            segments::with(segments, |segments| {
                // SAFETY: the core checked the segments against their regions, whose memory is
                // readable while they are registered (`Span::new`).
                let memory = unsafe { Unrecorded::unchecked(segments, is_inline) };
                let data = RequestData::Unrecorded(memory);
                hardware.post_send(&SendRequest { id, operation, data, flags })
            })
            .or_else(late_or_refused)
        })
    }

    /// Records a request and passes it to the device, or to the flush.
    pub(super) fn submit(
        mut this: MutexGuard<'_, Self>,
        record: Record,
        post: impl FnOnce(&Self, &verbs::QueuePair, u64, SendFlags) -> Result<()>,
    ) -> Result<()> {
        if this.queue.mode() == Mode::Early {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        let Some(number) = this.queue.write(&record) else { return Err(no_credit()) };
        let Some(hardware) = this.queue.hardware() else {
            let completing = this.queue.to_flush();
            drop(this);
            return flush(completing);
        };
        let (flags, quiet) = this.flags(&record);
        let id = this.queue.attachment.identifier(number);
        let posted = post(&this, hardware, id, flags);
        this.posted(&posted, quiet);
        posted
    }

    /// The send flags of a request of that length whose completion the device reports and that has
    /// no flags of the consumer.
    #[inline(always)]
    pub(super) fn signalled_for(&self, length: u64) -> u32 {
        if length <= self.inline { self.signalled_inline } else { self.signalled }
    }

    /// The send flags of a recorded request, and the number of suppressed requests after it.
    fn flags(&self, record: &Record) -> (SendFlags, u32) {
        let wanted = record.flags;
        // If every request has a fence, the device refuses it for reads (`requests_overtake_reads`).
        let mut flags = match record.operation {
            Operation::RdmaRead if self.signalled != sys::IBV_SEND_SIGNALED => SendFlags::empty(),
            _ if wanted.contains(CompletionFlags::BARRIER_FENCE) => SendFlags::FENCE,
            _ => SendFlags::from_bits_truncate(self.signalled & sys::IBV_SEND_FENCE),
        };
        if wanted.contains(CompletionFlags::SOLICITED_WAIT) {
            flags |= SendFlags::SOLICITED;
        }
        if wanted.contains(CompletionFlags::SUPPRESS) && self.quiet < self.most_quiet {
            (flags, self.quiet + 1)
        } else {
            (flags | SendFlags::SIGNALED, 0)
        }
    }

    /// Ends a post: keeps the record, or removes it after an error.
    fn posted(&mut self, posted: &Result<()>, quiet: u32) {
        if posted.is_err() {
            self.queue.posts.unwrite();
        } else {
            self.quiet = quiet;
        }
    }

    /// The device refused the request that was recorded last, with this result; returns the outcome
    /// to report.
    #[cold]
    #[inline(never)]
    pub(super) fn not_taken(mut this: MutexGuard<'_, Self>, code: i32) -> Result<()> {
        let outcome = late_or_refused(Failure::from_post("ibv_post_send", code));
        this.posted(&outcome, 0);
        outcome
    }

    /// If the last request completes silently, posts an internal request that completes visibly: an
    /// empty write, which accesses no memory.
    pub(super) fn mark(&mut self) {
        if self.quiet == 0 || self.queue.mode() != Mode::Live {
            return;
        }
        let record = Record { internal: true, ..Record::default() };
        let Some(number) = self.queue.posts.write(&record) else { return };
        let Some(hardware) = self.queue.hardware() else { return };
        let id = self.queue.attachment.identifier(number);
        if hardware.post_send(&empty_write(id, SendFlags::SIGNALED)).is_err() {
            self.queue.posts.unwrite();
            return;
        }
        self.quiet = 0;
    }

    /// What completes the requests, suppressed ones too: without a request that is reported there
    /// would be no way to know whether these have completed.
    fn completing_all(&mut self) -> Completing {
        self.mark();
        self.queue.completing()
    }
}

impl VerbsQp {
    pub(super) fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let window = window::find(bind.window)?;
        let record = Record {
            cookie: bind.cookie,
            extra: window.tag,
            flags: bind.flags,
            operation: Operation::Bind,
            ..Record::default()
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
        let requests = self.sender.lock().completing_all();
        requests.queue.collect();
        requests.work_queue.oldest_before(requests.end)
    }

    pub(super) fn outstanding(&self) -> Outstanding {
        let requests = self.sender.lock().completing_all();
        let receives = self.receiver.lock().queue.completing();
        let count = |posts: Completing| {
            posts.queue.collect();
            posts.work_queue.pending_of_consumer(posts.end)
        };
        Outstanding { receives: count(receives), requests: count(requests) }
    }

    /// The first failure, of requests before receives: a device often flushes receives with a status
    /// of its own.
    pub(super) fn failure(&self) -> Option<dat_provider::Failure> {
        let requests = self.sender.lock().queue.completing();
        let receives = self.receiver.lock().queue.completing();
        requests.work_queue.failure().or_else(|| receives.work_queue.failure())
    }
}

/// Ends a post that the device did not get: flushes it, or leaves it to the end of the connection.
fn flush(completing: Option<Completing>) -> Result<()> {
    if let Some(completing) = completing {
        completing.flush();
    }
    Ok(())
}

/// A request that accesses no memory.
#[inline(always)]
pub(crate) const fn empty_write(id: u64, flags: SendFlags) -> SendRequest<'static> {
    let operation = Posted::Write(verbs::RemoteAddress { address: 0, key: 0 });
    SendRequest { id, operation, data: RequestData::Unrecorded(Unrecorded::new(&[])), flags }
}

const fn at(remote: RmrTriplet) -> verbs::RemoteAddress {
    verbs::RemoteAddress { address: remote.address, key: remote.context }
}

/// The operation of a request as it is recorded.
const fn recorded(operation: Posted<'_>) -> Operation {
    match operation {
        Posted::Write(_) => Operation::RdmaWrite,
        Posted::WriteImmediate(..) => Operation::RdmaWriteImmediate,
        Posted::Read(_) => Operation::RdmaRead,
        Posted::FetchAdd { .. } => Operation::FetchAdd,
        Posted::CompareSwap { .. } => Operation::CompareSwap,
        _ => Operation::Send,
    }
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
pub(super) fn refused(failure: Failure) -> Error {
    match failure.errno {
        libc::ENOMEM => no_credit(),
        _ => internal(failure, "the device rejected the request"),
    }
}
