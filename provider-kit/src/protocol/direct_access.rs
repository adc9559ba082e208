//! Requests that are executed by direct access to the memory of the peer.

use dat_provider::status::DtoStatus;
use dat_provider::{Request, Work};

use super::request::Task;
use super::state::Protocol;
use super::transmit::Transmit;
use crate::direct::{Access, AccessResult, Direction};
use crate::frame::Remote;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::work_queues::{InFlight, WorkQueues};

impl Protocol {
    /// Executes the oldest request, if all before it are complete and the link can do it without the
    /// peer. Returns whether it ended.
    ///
    /// A request that would pass an earlier one is written to the link instead: the peer executes the
    /// requests in the link in order.
    pub(super) fn access_directly(&mut self, out: &mut impl Transmit, queues: &WorkQueues) -> bool {
        if self.outbound.sends.has_in_flight() || out.is_closed() {
            return false;
        }
        let Some(request) = self.outbound.sends.waiting.front_mut() else { return false };
        if request.is_begun || request.local_status.is_some() {
            return false;
        }
        let Task::Work(work) = &request.task else { return false };
        let Some((direction, remote, length)) = rdma(work, request.length) else { return false };
        if length == 0 {
            return false;
        }
        let local = LocalMemory { segments: &request.segments, domain: queues.domain };
        self.spans.clear();
        let privilege = direction.local_privilege();
        if !transfer::local_spans(local, privilege, (0, length), &mut self.spans) {
            return false;
        }
        let access = Access { direction, remote, length, local: &self.spans };
        request.local_status = match out.writer().access(&access) {
            AccessResult::Done => Some(DtoStatus::Success),
            AccessResult::NotDirectly => None,
        };
        request.local_status.is_some()
    }

    /// As [`access_directly`](Self::access_directly), for a request that is being posted: nothing waits
    /// or is in flight. Completes it, if the link can execute it. Nothing if the slow path has to try.
    #[inline(never)]
    pub(crate) fn access_at_once(
        request: &Request<'_>,
        out: &mut impl Transmit,
        queues: &mut WorkQueues,
        upcalls: &mut Upcalls,
    ) -> Option<AccessResult> {
        let &Request { work, segments, length, cookie, flags, checked } = request;
        let (direction, remote, transferred) = rdma(&work, length)?;
        if transferred != length {
            return None;
        }
        let local = LocalMemory { segments, domain: queues.domain };
        let checked = (checked.number(), &*queues.receives.epochs);
        let span =
            transfer::checked_local_span(local, checked, direction.local_privilege(), length)?;
        let accessed = out.writer().access(&Access { direction, remote, length, local: &[span] });
        if let AccessResult::Done = accessed {
            queues.credits.take_available();
            let (length, operation) = (length as u32, work.operation());
            let request = InFlight { cookie, length, operation, flags, expects_answer: false };
            queues.complete_request(&request, 0, DtoStatus::Success, upcalls);
        }
        Some(accessed)
    }
}

/// The direction, the remote memory and the length of an RDMA write or read, whose local memory has
/// `local_length` bytes. Nothing for other requests.
fn rdma(work: &Work, local_length: u64) -> Option<(Direction, Remote, u64)> {
    let (direction, remote, length) = match work {
        Work::RdmaWrite { remote } => (Direction::Write, remote, local_length),
        Work::RdmaRead { remote } => (Direction::Read, remote, remote.length),
        _ => return None,
    };
    Some((direction, Remote { context: remote.context, address: remote.address }, length))
}
