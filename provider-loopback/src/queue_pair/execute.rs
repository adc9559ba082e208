//! Executing one request at its responder, under the responder's `rq`.

use dat_core::DtoStatus;
use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::Segment;

use super::receive::Receives;
use super::send::{Pending, Task};
use super::state::Requester;
use crate::outlet::Upcalls;
use crate::transfer::{self, Fault, Local};

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
    let (length, status) = match &pending.task {
        Task::Send => match send(pending, local, to, upcalls) {
            Some(status) => (pending.length, status),
            None => return Step::Stalled,
        },
        Task::Write(remote) => {
            let outcome = transfer::write(local, remote, to.domain, pending.length);
            (pending.length, status(outcome, Fault::Source, DtoStatus::RemoteAccess))
        }
        Task::Read(remote) => {
            let outcome = transfer::read(remote, to.domain, local);
            (remote.length, status(outcome, Fault::Target, DtoStatus::RemoteAccess))
        }
        Task::Bind(bind) => {
            let bound = bind.execute(from.domain);
            (0, if bound { DtoStatus::Success } else { DtoStatus::RmrFailed })
        }
    };
    from.finish(pending, length, status, &mut upcalls.requests);
    if status == DtoStatus::Success { Step::Done } else { Step::Broken }
}

/// The requester's status, given which side of the copy is its own.
fn status(outcome: Result<(), Fault>, own: Fault, remote: DtoStatus) -> DtoStatus {
    match outcome {
        Ok(()) => DtoStatus::Success,
        Err(fault) if fault == own => DtoStatus::LocalProtection,
        Err(_) => remote,
    }
}

/// Moves a message into the next receive and reports that; returns the sender's status, or
/// nothing when there is no receive. A sender's own fault takes no receive.
#[inline]
fn send(
    pending: &Pending,
    source: Local<'_>,
    to: &mut Receives,
    upcalls: &mut Upcalls,
) -> Option<DtoStatus> {
    let (posted, outcome) = if let Some(shared) = &mut to.shared {
        // A buffer that was taken can't be put back, so the sender's side is looked at first.
        if !source.permits(Privileges::LOCAL_READ) {
            return Some(DtoStatus::LocalProtection);
        }
        let (posted, count) =
            shared.queue.take(&mut shared.segments, &mut shared.stalled, &to.me, upcalls)?;
        let domain = shared.queue.domain.id;
        let target = Local { segments: &shared.segments[..count], domain };
        (posted, fill(pending.length, source, posted.length, target))
    } else {
        let (&posted, segments) = to.ring.front()?;
        let target = Local { segments, domain: to.domain };
        let outcome = fill(pending.length, source, posted.length, target);
        if outcome == Err(Some(Fault::Source)) {
            return Some(DtoStatus::LocalProtection);
        }
        to.ring.pop();
        (posted, outcome)
    };
    let (received, sent) = match outcome {
        Ok(()) => (DtoStatus::Success, DtoStatus::Success),
        Err(None) => (DtoStatus::LocalLength, DtoStatus::RemoteResponder),
        // The sender's memory was freed since it was looked at; the receive is lost with it.
        Err(Some(Fault::Source)) => (DtoStatus::Flushed, DtoStatus::LocalProtection),
        Err(Some(Fault::Target)) => (DtoStatus::LocalProtection, DtoStatus::RemoteResponder),
    };
    let solicited = pending.flags.contains(CompletionFlags::SOLICITED_WAIT);
    to.finish(posted, (pending.length, received), solicited, &mut upcalls.receives);
    Some(sent)
}

/// Copies a message; `Err(None)` when it is longer than the receive.
#[inline]
fn fill(length: u64, source: Local<'_>, room: u64, target: Local<'_>) -> Result<(), Option<Fault>> {
    if length > room {
        return Err(None);
    }
    transfer::message(source, target, length).map_err(Some)
}
