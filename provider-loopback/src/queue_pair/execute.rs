//! Executing one request at its responder, under the responder's `rq`.

use std::sync::atomic::{AtomicU64, Ordering};

use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{DATAGRAM_PREFIX, Segment, Work};
use dat_core::{DtoStatus, Operation, RmrTriplet};

use super::receive::{Arrival, Posted, Receives};
use super::send::{Pending, Task};
use super::state::Requester;
use crate::outlet::Upcalls;
use crate::transfer::{self, Fault, Local, Remote};
use crate::window;

/// What became of a request.
pub(super) enum Step {
    Done,
    /// Nothing happened: there is no receive for it.
    Stalled,
    /// It failed, and the connection with it.
    Broken,
}

/// Executes a request of the requester on the responder's receives and memory.
#[inline]
pub(super) fn execute(
    pending: &Pending,
    segments: &[Segment],
    from: &Requester,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Step {
    let local = Local { segments, domain: from.domain };
    let outcome = match &pending.task {
        Task::Work(work) => work_on(*work, pending, local, from, to, upcalls),
        Task::Bind(bind) => {
            let bound = bind.execute(from.domain);
            Some((0, if bound { DtoStatus::Success } else { DtoStatus::RmrFailed }))
        }
    };
    let Some((length, status)) = outcome else { return Step::Stalled };
    from.finish(pending, length, status, &mut upcalls.requests);
    if status == DtoStatus::Success { Step::Done } else { Step::Broken }
}

/// Length and status of a piece of work; nothing when there is no receive for it.
#[inline]
fn work_on(
    work: Work,
    pending: &Pending,
    local: Local<'_>,
    from: &Requester,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Option<(u64, DtoStatus)> {
    let length = pending.length;
    let done = match work {
        Work::Send => {
            let arrival = Arrival { operation: Operation::Receive, extra: 0, ..pending.arrival() };
            (length, send(pending, local, arrival, to, upcalls)?)
        }
        Work::SendInvalidate { key } => {
            if !window::is_bound(key, to.domain, to.number) {
                return Some((0, DtoStatus::RemoteAccess));
            }
            let operation = Operation::ReceiveWithInvalidate;
            let arrival = Arrival { operation, extra: key.into(), ..pending.arrival() };
            // Invalid before the receive completes: its consumer may count on that.
            (
                length,
                send_then(pending, local, arrival, to, upcalls, |to| {
                    window::invalidate(key, to.domain, to.number);
                })?,
            )
        }
        Work::RdmaWrite { remote } => {
            let outcome = transfer::write(local, to.remote(&remote), length);
            (length, status(outcome, Fault::Source, DtoStatus::RemoteAccess))
        }
        Work::RdmaWriteImmediate { remote, immediate } => {
            if !to.has_receive() {
                return None;
            }
            let outcome = transfer::write(local, to.remote(&remote), length);
            let status = status(outcome, Fault::Source, DtoStatus::RemoteAccess);
            if status == DtoStatus::Success {
                let operation = Operation::ReceiveImmediate;
                let arrival = Arrival { operation, extra: immediate.into(), ..pending.arrival() };
                let (posted, _) = to.take(upcalls)?;
                to.finish(posted, (length, status), arrival, &mut upcalls.receives);
            }
            (length, status)
        }
        Work::RdmaRead { remote } => {
            let outcome = transfer::read(to.remote(&remote), local);
            (remote.length, status(outcome, Fault::Target, DtoStatus::RemoteAccess))
        }
        Work::RdmaReadToRmr { local: target, remote } => {
            let target = Remote { place: &target, domain: from.domain, queue_pair: from.number };
            let outcome = transfer::read_to_remote(to.remote(&remote), target);
            (remote.length, status(outcome, Fault::Target, DtoStatus::RemoteAccess))
        }
        Work::FetchAdd { add, remote } => {
            let change = |word: &AtomicU64| word.fetch_add(add, Ordering::SeqCst);
            let outcome = transfer::atomic(to.remote(&remote), local, change);
            (remote.length, status(outcome, Fault::Target, DtoStatus::RemoteAccess))
        }
        Work::CompareSwap { compare, swap, remote } => {
            let order = Ordering::SeqCst;
            let change = |word: &AtomicU64| {
                word.compare_exchange(compare, swap, order, order).unwrap_or_else(|other| other)
            };
            let outcome = transfer::atomic(to.remote(&remote), local, change);
            (remote.length, status(outcome, Fault::Target, DtoStatus::RemoteAccess))
        }
        // What a later contract adds and this provider does not offer.
        _ => (0, DtoStatus::LocalEndpoint),
    };
    Some(done)
}

impl Pending {
    /// What the receive is told in any case.
    fn arrival(&self) -> Arrival {
        let solicited = self.flags.contains(CompletionFlags::SOLICITED_WAIT);
        Arrival { solicited, ..Arrival::NONE }
    }
}

impl Receives {
    /// Memory of this side that the peer names.
    fn remote<'a>(&self, place: &'a RmrTriplet) -> Remote<'a> {
        Remote { place, domain: self.domain, queue_pair: self.number }
    }
}

/// The requester's status, given which side of the copy is its own.
fn status(outcome: Result<(), Fault>, own: Fault, remote: DtoStatus) -> DtoStatus {
    match outcome {
        Ok(()) => DtoStatus::Success,
        Err(fault) if fault == own => DtoStatus::LocalProtection,
        Err(_) => remote,
    }
}

#[inline]
fn send(
    pending: &Pending,
    source: Local<'_>,
    arrival: Arrival,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Option<DtoStatus> {
    send_then(pending, source, arrival, to, upcalls, |_| ())
}

/// Moves a message into the next receive and reports that; returns the sender's status, or
/// nothing when there is no receive. A sender's own fault takes no receive. When the message
/// is there, `then` is done before the receive is reported.
#[inline]
fn send_then(
    pending: &Pending,
    source: Local<'_>,
    arrival: Arrival,
    to: &mut Receives,
    upcalls: &mut Upcalls,
    then: impl FnOnce(&Receives),
) -> Option<DtoStatus> {
    if !to.has_receive() {
        return None;
    }
    // A buffer that was taken can't be put back, so the sender's side is looked at first.
    if pending.length > 0 && !source.permits(Privileges::LOCAL_READ) {
        return Some(DtoStatus::LocalProtection);
    }
    let (posted, outcome) = to.fill(pending.length, source, upcalls)?;
    let (received, sent) = match outcome {
        Ok(()) => (DtoStatus::Success, DtoStatus::Success),
        Err(None) => (DtoStatus::LocalLength, DtoStatus::RemoteResponder),
        // The sender's memory was freed since it was looked at; the receive is lost with it.
        Err(Some(Fault::Source)) => (DtoStatus::Flushed, DtoStatus::LocalProtection),
        Err(Some(Fault::Target)) => (DtoStatus::LocalProtection, DtoStatus::RemoteResponder),
    };
    let arrival = if received == DtoStatus::Success {
        then(to);
        arrival
    } else {
        Arrival { operation: Operation::Receive, extra: 0, ..arrival }
    };
    to.finish(posted, (pending.length, received), arrival, &mut upcalls.receives);
    Some(sent)
}

impl Receives {
    /// Takes the next receive and moves a message into it; `Err(None)` when it doesn't fit.
    #[inline]
    fn fill(
        &mut self,
        length: u64,
        source: Local<'_>,
        upcalls: &mut Upcalls,
    ) -> Option<(Posted, Result<(), Option<Fault>>)> {
        let domain = self.domain;
        if self.shared.is_some() {
            let (posted, count) = self.take(upcalls)?;
            let shared = self.shared.as_ref()?;
            let domain = shared.queue.domain.id;
            let target = Local { segments: &shared.segments[..count], domain };
            return Some((posted, message(length, source, posted.length, target)));
        }
        let (&posted, segments) = self.ring.front()?;
        let outcome = message(length, source, posted.length, Local { segments, domain });
        self.ring.pop();
        Some((posted, outcome))
    }
}

impl Receives {
    /// As [`fill`](Self::fill), behind the prefix of datagrams.
    pub(super) fn fill_datagram(
        &mut self,
        source: Local<'_>,
        length: u64,
        upcalls: &mut Upcalls,
    ) -> Option<(Posted, Result<(), Option<Fault>>)> {
        let prefix = DATAGRAM_PREFIX;
        let put = |room: u64, target: Local<'_>| {
            if length.saturating_add(prefix) > room {
                return Err(None);
            }
            transfer::datagram(source, target, prefix, length).map_err(Some)
        };
        if self.shared.is_some() {
            let (posted, count) = self.take(upcalls)?;
            let shared = self.shared.as_ref()?;
            let domain = shared.queue.domain.id;
            let segments = &shared.segments[..count];
            return Some((posted, put(posted.length, Local { segments, domain })));
        }
        let (&posted, segments) = self.ring.front()?;
        let outcome = put(posted.length, Local { segments, domain: self.domain });
        self.ring.pop();
        Some((posted, outcome))
    }
}

/// Copies a message; `Err(None)` when it is longer than the receive.
#[inline]
fn message(
    length: u64,
    source: Local<'_>,
    room: u64,
    target: Local<'_>,
) -> Result<(), Option<Fault>> {
    if length > room {
        return Err(None);
    }
    transfer::message(source, target, length).map_err(Some)
}
