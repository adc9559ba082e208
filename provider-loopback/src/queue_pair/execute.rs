//! Executing one request, under the responder lock.

use dat_provider::Work;
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider_kit::transfer::{self, AccessError, AtomicOperation, LocalMemory, RemoteMemory};
use dat_provider_kit::upcalls::Upcalls;
use dat_provider_kit::window;

use super::message::send_message;
use super::receive_queue::{Arrival, ReceiveQueue};
use super::request::{TaskRef, WorkRequest};
use super::request_context::RequestContext;

/// The result of executing a request.
pub(super) enum Execution {
    /// It has a completion.
    Completed,
    /// It succeeded without a completion. The caller returns its credit.
    Suppressed,
    /// Nothing happened, because there is no receive for it.
    NoReceive,
    /// Its completion says that it failed. The caller breaks the connection.
    Failed,
}

/// Executes a request on the receives and the memory of the responder.
pub(super) fn execute(
    request: &WorkRequest<'_>,
    requester: &RequestContext,
    receives: &mut ReceiveQueue,
    upcalls: &mut Upcalls,
) -> Execution {
    let outcome = match request.task {
        TaskRef::Work(work) => execute_work(work, request, requester, receives, upcalls),
        TaskRef::Bind(bind) => {
            let bound = bind.execute(requester.domain);
            Some((0, if bound { DtoStatus::Success } else { DtoStatus::RmrFailed }))
        }
    };
    let Some((length, status)) = outcome else { return Execution::NoReceive };
    let succeeded = status == DtoStatus::Success;
    if succeeded {
        receives.count(request.task, length);
    }
    if succeeded && request.flags.contains(CompletionFlags::SUPPRESS) {
        return Execution::Suppressed;
    }
    requester.complete(request, length, status, upcalls);
    if succeeded { Execution::Completed } else { Execution::Failed }
}

/// Returns the length and status of the request; `None` if there is no receive for it.
#[inline]
fn execute_work(
    work: &Work,
    request: &WorkRequest<'_>,
    requester: &RequestContext,
    receives: &mut ReceiveQueue,
    upcalls: &mut Upcalls,
) -> Option<(u64, DtoStatus)> {
    let length = request.length;
    let local = LocalMemory { segments: request.segments, domain: requester.domain };
    let done = match *work {
        Work::Send => {
            let arrival = request.arrival(Operation::Receive, 0);
            (length, send_message(request, local, arrival, receives, upcalls, |_| ())?)
        }
        Work::SendImmediate { immediate } => {
            let arrival = request.arrival(Operation::ReceiveSendImmediate, immediate.into());
            (length, send_message(request, local, arrival, receives, upcalls, |_| ())?)
        }
        Work::SendInvalidate { key } => {
            if !window::is_bound(key, receives.domain, receives.qp_number) {
                return Some((0, DtoStatus::RemoteAccess));
            }
            let arrival = request.arrival(Operation::ReceiveWithInvalidate, key.into());
            // The window is invalid before the receive completes, as its consumer may rely on.
            (
                length,
                send_message(request, local, arrival, receives, upcalls, |receives| {
                    window::invalidate(key, receives.domain, receives.qp_number);
                })?,
            )
        }
        Work::RdmaWrite { remote } => {
            let outcome = transfer::rdma_write(local, receives.remote(&remote), length);
            (length, status(outcome, AccessError::Source))
        }
        Work::RdmaWriteImmediate { remote, immediate } => {
            if !receives.has_receive() {
                return None;
            }
            let outcome = transfer::rdma_write(local, receives.remote(&remote), length);
            let status = status(outcome, AccessError::Source);
            if status == DtoStatus::Success {
                let arrival = request.arrival(Operation::ReceiveImmediate, immediate.into());
                let (posted, _) = receives.take(upcalls)?;
                receives.complete(posted, (length, status), arrival, upcalls);
            }
            (length, status)
        }
        Work::RdmaRead { remote } => {
            let outcome = transfer::rdma_read(receives.remote(&remote), local);
            (remote.length, status(outcome, AccessError::Target))
        }
        Work::RdmaReadToRmr { local: target, remote } => {
            let target = RemoteMemory {
                triplet: &target,
                domain: requester.domain,
                queue_pair: requester.qp_number,
            };
            let outcome = transfer::rdma_read_to_remote(receives.remote(&remote), target);
            (remote.length, status(outcome, AccessError::Target))
        }
        Work::FetchAdd { add, remote } => {
            let outcome =
                transfer::atomic(receives.remote(&remote), local, AtomicOperation::Add(add));
            (remote.length, status(outcome, AccessError::Target))
        }
        Work::CompareSwap { compare, swap, remote } => {
            let operation = AtomicOperation::CompareSwap(compare, swap);
            let outcome = transfer::atomic(receives.remote(&remote), local, operation);
            (remote.length, status(outcome, AccessError::Target))
        }
        // A later contract may have other operations.
        _ => (0, DtoStatus::LocalEndpoint),
    };
    Some(done)
}

impl WorkRequest<'_> {
    /// The data about this request in the completion of the receive.
    fn arrival(&self, operation: Operation, extra: u64) -> Arrival {
        let solicited = self.flags.contains(CompletionFlags::SOLICITED_WAIT);
        Arrival { operation, extra, solicited }
    }
}

impl ReceiveQueue {
    /// Counts the bytes of a request that was executed.
    fn count(&mut self, task: TaskRef<'_>, length: u64) {
        match task {
            TaskRef::Work(Work::RdmaRead { .. } | Work::RdmaReadToRmr { .. }) => {
                self.bytes_out += length;
            }
            // Both directions carry the operands.
            TaskRef::Work(Work::FetchAdd { .. } | Work::CompareSwap { .. }) => {
                self.bytes_in += length;
                self.bytes_out += length;
            }
            TaskRef::Work(_) => self.bytes_in += length,
            TaskRef::Bind(_) => {}
        }
    }

    /// Memory of the responder that a request names.
    fn remote<'a>(&self, triplet: &'a RmrTriplet) -> RemoteMemory<'a> {
        RemoteMemory { triplet, domain: self.domain, queue_pair: self.qp_number }
    }
}

/// The requester's status of a copy, in which its memory is the side `own`.
fn status(outcome: Result<(), AccessError>, own: AccessError) -> DtoStatus {
    match outcome {
        Ok(()) => DtoStatus::Success,
        Err(error) if error == own => DtoStatus::LocalProtection,
        Err(_) => DtoStatus::RemoteAccess,
    }
}
