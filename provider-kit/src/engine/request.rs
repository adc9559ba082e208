//! Posted requests that are not completely written to the link.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::status::Operation;
use dat_provider::{Request, Work};

use super::segments::Segments;
use super::send_queue::InFlight;
use crate::window::Bind;

/// The operation of a request.
pub(super) enum Task {
    Work(Work),
    Bind(Bind),
}

/// A posted request.
pub(super) struct PostedRequest {
    pub(super) task: Task,
    pub(super) segments: Segments,
    /// Length in bytes of the payload that it sends.
    pub(super) length: u64,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
    /// Whether its first frame is written, so that it has a sequence number.
    pub(super) is_begun: bool,
    /// Bytes of the payload that were written.
    pub(super) written: u64,
    /// The peer may fetch it, and has not answered.
    pub(super) is_offered: bool,
    /// The status of a request that ended on this side. It completes after the requests before it.
    pub(super) local_status: Option<DtoStatus>,
}

impl PostedRequest {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let &Request { work, segments, length, cookie, flags, .. } = request;
        let mut request =
            Self { segments: segments.into(), ..Self::of(Task::Work(work), cookie, flags) };
        request.length = if request.expects_answer() { 0 } else { length };
        request
    }

    pub(super) fn bind(bind: Bind, cookie: u64, flags: CompletionFlags) -> Self {
        Self::of(Task::Bind(bind), cookie, flags)
    }

    fn of(task: Task, cookie: u64, flags: CompletionFlags) -> Self {
        Self {
            task,
            segments: Segments::default(),
            length: 0,
            cookie,
            flags,
            is_begun: false,
            written: 0,
            is_offered: false,
            local_status: None,
        }
    }

    /// Whether the peer answers it with data.
    pub(super) fn expects_answer(&self) -> bool {
        self.answer_length().is_some()
    }

    /// Length in bytes of its answer, if one is expected.
    pub(super) fn answer_length(&self) -> Option<u64> {
        match &self.task {
            Task::Work(Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. }) => {
                Some(remote.length)
            }
            Task::Work(Work::FetchAdd { .. } | Work::CompareSwap { .. }) => Some(8),
            _ => None,
        }
    }

    /// Whether it consumes a receive of the peer.
    pub(super) fn consumes_receive(&self) -> bool {
        matches!(
            self.task,
            Task::Work(Work::Send | Work::SendInvalidate { .. } | Work::RdmaWriteImmediate { .. })
        )
    }

    /// Whether it is a send.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.task, Task::Work(Work::Send | Work::SendInvalidate { .. }))
    }

    /// What its completion needs.
    pub(super) fn in_flight(&self) -> InFlight {
        let answer = self.answer_length();
        InFlight {
            cookie: self.cookie,
            length: u32::try_from(answer.unwrap_or(self.length)).unwrap_or(u32::MAX),
            operation: self.operation(),
            flags: self.flags,
            expects_answer: answer.is_some(),
        }
    }

    fn operation(&self) -> Operation {
        match &self.task {
            Task::Work(work) => work.operation(),
            Task::Bind(_) => Operation::Bind,
        }
    }

    /// The `extra` field of its completion.
    pub(super) fn extra(&self) -> u64 {
        match &self.task {
            Task::Work(_) => 0,
            Task::Bind(bind) => bind.tag(),
        }
    }
}
