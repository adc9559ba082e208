//! Executing one request at its responder, under the responder's `rq`.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{DATAGRAM_PREFIX, Segment, Work};
use dat_core::{DtoStatus, Operation, RmrTriplet};

use super::receive::{Arrival, Receives};
use super::send::{Doing, Job};
use super::state::Requester;
use crate::receive_ring::PostedReceive;
use crate::transfer::{self, AccessError, LocalMemory, RemoteMemory};
use crate::upcalls::Upcalls;
use crate::window;

/// What became of a request.
pub(super) enum Step {
    Done,
    /// It succeeded without a completion; its credit has not been returned yet.
    Silent,
    /// Nothing happened: there is no receive for it.
    Stalled,
    /// It failed, and the connection with it.
    Broken,
}

/// Executes a request of the requester on the responder's receives and memory.
pub(super) fn execute(
    job: &Job<'_>,
    from: &Requester,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Step {
    let outcome = match job.task {
        Doing::Work(work) => work_on(work, job, from, to, upcalls),
        Doing::Bind(bind) => {
            let bound = bind.execute(from.domain);
            Some((0, if bound { DtoStatus::Success } else { DtoStatus::RmrFailed }))
        }
    };
    let Some((length, status)) = outcome else { return Step::Stalled };
    let succeeded = status == DtoStatus::Success;
    if succeeded && job.flags.contains(CompletionFlags::SUPPRESS) {
        return Step::Silent;
    }
    from.finish(job, length, status, upcalls);
    if succeeded { Step::Done } else { Step::Broken }
}

/// Length and status of a piece of work; nothing when there is no receive for it.
#[inline]
fn work_on(
    work: &Work,
    job: &Job<'_>,
    from: &Requester,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Option<(u64, DtoStatus)> {
    let length = job.length;
    let local = LocalMemory { segments: job.segments, domain: from.domain };
    let done = match *work {
        Work::Send => {
            let arrival = Arrival { operation: Operation::Receive, extra: 0, ..job.arrival() };
            (length, send(job, local, arrival, to, upcalls)?)
        }
        Work::SendInvalidate { key } => {
            if !window::is_bound(key, to.domain, to.number) {
                return Some((0, DtoStatus::RemoteAccess));
            }
            let operation = Operation::ReceiveWithInvalidate;
            let arrival = Arrival { operation, extra: key.into(), ..job.arrival() };
            // Invalid before the receive completes: its consumer may count on that.
            (
                length,
                send_then(job, local, arrival, to, upcalls, |to| {
                    window::invalidate(key, to.domain, to.number);
                })?,
            )
        }
        Work::RdmaWrite { remote } => {
            let outcome = transfer::rdma_write(local, to.remote(&remote), length);
            (length, status(outcome, AccessError::Source, DtoStatus::RemoteAccess))
        }
        Work::RdmaWriteImmediate { remote, immediate } => {
            if !to.has_receive() {
                return None;
            }
            let outcome = transfer::rdma_write(local, to.remote(&remote), length);
            let status = status(outcome, AccessError::Source, DtoStatus::RemoteAccess);
            if status == DtoStatus::Success {
                let operation = Operation::ReceiveImmediate;
                let arrival = Arrival { operation, extra: immediate.into(), ..job.arrival() };
                let (posted, _) = to.take(upcalls)?;
                to.finish(posted, (length, status), arrival, upcalls);
            }
            (length, status)
        }
        Work::RdmaRead { remote } => {
            let outcome = transfer::rdma_read(to.remote(&remote), local);
            (remote.length, status(outcome, AccessError::Target, DtoStatus::RemoteAccess))
        }
        Work::RdmaReadToRmr { local: target, remote } => {
            let target =
                RemoteMemory { triplet: &target, domain: from.domain, queue_pair: from.number };
            let outcome = transfer::rdma_read_to_remote(to.remote(&remote), target);
            (remote.length, status(outcome, AccessError::Target, DtoStatus::RemoteAccess))
        }
        Work::FetchAdd { add, remote } => {
            let change = |word: &AtomicU64| word.fetch_add(add, Ordering::SeqCst);
            let outcome = transfer::atomic(to.remote(&remote), local, change);
            (remote.length, status(outcome, AccessError::Target, DtoStatus::RemoteAccess))
        }
        Work::CompareSwap { compare, swap, remote } => {
            let order = Ordering::SeqCst;
            let change = |word: &AtomicU64| {
                word.compare_exchange(compare, swap, order, order).unwrap_or_else(|other| other)
            };
            let outcome = transfer::atomic(to.remote(&remote), local, change);
            (remote.length, status(outcome, AccessError::Target, DtoStatus::RemoteAccess))
        }
        // What a later contract adds and this provider does not offer.
        _ => (0, DtoStatus::LocalEndpoint),
    };
    Some(done)
}

impl Job<'_> {
    /// What the completion of the receive says in any case.
    fn arrival(&self) -> Arrival {
        let solicited = self.flags.contains(CompletionFlags::SOLICITED_WAIT);
        Arrival { solicited, ..Arrival::NONE }
    }
}

impl Receives {
    /// Memory of this side that the peer names.
    fn remote<'a>(&self, place: &'a RmrTriplet) -> RemoteMemory<'a> {
        RemoteMemory { triplet: place, domain: self.domain, queue_pair: self.number }
    }
}

/// The requester's status, given which side of the copy is its own.
fn status(outcome: Result<(), AccessError>, own: AccessError, remote: DtoStatus) -> DtoStatus {
    match outcome {
        Ok(()) => DtoStatus::Success,
        Err(fault) if fault == own => DtoStatus::LocalProtection,
        Err(_) => remote,
    }
}

#[inline]
fn send(
    job: &Job<'_>,
    source: LocalMemory<'_>,
    arrival: Arrival,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Option<DtoStatus> {
    send_then(job, source, arrival, to, upcalls, |_| ())
}

/// Moves a message into the next receive and reports that; returns the sender's status, or
/// nothing when there is no receive. A sender's own fault takes no receive. When the message
/// is there, `then` is done before the receive is reported.
#[inline]
fn send_then(
    job: &Job<'_>,
    source: LocalMemory<'_>,
    arrival: Arrival,
    to: &mut Receives,
    upcalls: &mut Upcalls,
    then: impl FnOnce(&Receives),
) -> Option<DtoStatus> {
    if !to.has_receive() {
        return None;
    }
    // A buffer that was taken can't be put back, so the sender's side is checked first.
    if job.length > 0 && !source.permits(Privileges::LOCAL_READ) {
        return Some(DtoStatus::LocalProtection);
    }
    let (posted, outcome) = to.fill(job.length, source, upcalls)?;
    let (received, sent) = match outcome {
        Ok(()) => (DtoStatus::Success, DtoStatus::Success),
        Err(None) => (DtoStatus::LocalLength, DtoStatus::RemoteResponder),
        // The sender's memory was freed since that check; the receive is lost with it.
        Err(Some(AccessError::Source)) => (DtoStatus::Flushed, DtoStatus::LocalProtection),
        Err(Some(AccessError::Target)) => (DtoStatus::LocalProtection, DtoStatus::RemoteResponder),
    };
    let arrival = if received == DtoStatus::Success {
        then(to);
        arrival
    } else {
        Arrival { operation: Operation::Receive, extra: 0, ..arrival }
    };
    to.finish(posted, (job.length, received), arrival, upcalls);
    Some(sent)
}

impl Receives {
    /// Takes the next receive and moves a message into it; `Err(None)` when it doesn't fit.
    #[inline]
    fn fill(
        &mut self,
        length: u64,
        source: LocalMemory<'_>,
        upcalls: &mut Upcalls,
    ) -> Option<(PostedReceive, Result<(), Option<AccessError>>)> {
        self.fill_with(upcalls, |room, target| message(length, source, room, target))
    }

    /// Takes the next receive and has its memory filled.
    #[inline]
    fn fill_with(
        &mut self,
        upcalls: &mut Upcalls,
        put: impl FnOnce(u64, LocalMemory<'_>) -> Result<(), Option<AccessError>>,
    ) -> Option<(PostedReceive, Result<(), Option<AccessError>>)> {
        let domain = self.domain;
        if self.shared.is_some() {
            let (posted, count) = self.take(upcalls)?;
            let shared = self.shared.as_ref()?;
            let domain = shared.queue.domain.id;
            let target = LocalMemory { segments: &shared.segments[..count], domain };
            return Some((posted, put(posted.length, target)));
        }
        let (posted, count, first) = self.ring.get(self.head)?;
        let outcome = if count == 1 {
            put(posted.length, LocalMemory { segments: &[first], domain })
        } else {
            put(posted.length, LocalMemory { segments: self.collect(count), domain })
        };
        self.head += 1;
        Some((posted, outcome))
    }

    /// The segments of the next receive.
    fn collect(&mut self, count: usize) -> &[Segment] {
        self.segments.clear();
        self.ring.copy_segments(self.head, count, &mut self.segments);
        &self.segments
    }
}

impl Receives {
    /// As [`fill`](Self::fill), behind the prefix of datagrams.
    pub(super) fn fill_datagram(
        &mut self,
        source: LocalMemory<'_>,
        length: u64,
        upcalls: &mut Upcalls,
    ) -> Option<(PostedReceive, Result<(), Option<AccessError>>)> {
        let prefix = DATAGRAM_PREFIX;
        let put = |room: u64, target: LocalMemory<'_>| {
            if length.saturating_add(prefix) > room {
                return Err(None);
            }
            transfer::copy_datagram(source, target, prefix, length).map_err(Some)
        };
        self.fill_with(upcalls, put)
    }
}

/// Copies a message; `Err(None)` when it is longer than the receive.
#[inline]
fn message(
    length: u64,
    source: LocalMemory<'_>,
    room: u64,
    target: LocalMemory<'_>,
) -> Result<(), Option<AccessError>> {
    if length > room {
        return Err(None);
    }
    transfer::copy_message(source, target, length).map_err(Some)
}
