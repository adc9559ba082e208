//! Posted requests that are not complete.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::status::Operation;
use dat_provider::{Request, Work};

use super::segments::Segments;
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
    /// Its sequence number, once its first frame is written.
    pub(super) sequence: Option<u32>,
    /// Bytes of the payload that were written.
    pub(super) written: u64,
    /// Bytes of the answer that have arrived.
    pub(super) received: u64,
    /// Whether the whole answer has arrived, or none is expected.
    pub(super) is_answered: bool,
    /// The status of a request that ended on this side. It completes after the requests before it.
    pub(super) local_status: Option<DtoStatus>,
}

impl PostedRequest {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let &Request { work, segments, length, cookie, flags, .. } = request;
        let mut request =
            Self { segments: segments.into(), ..Self::of(Task::Work(work), cookie, flags) };
        request.is_answered = !request.expects_answer();
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
            sequence: None,
            written: 0,
            received: 0,
            is_answered: true,
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

    pub(super) fn operation(&self) -> Operation {
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

    /// The length in bytes that its completion reports.
    pub(super) fn completed_length(&self) -> u64 {
        self.answer_length().unwrap_or(self.length)
    }
}
