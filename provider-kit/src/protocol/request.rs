//! Posted requests that are not completely written to the link.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::status::Operation;
use dat_provider::{Request, Work};

use crate::window::Bind;
use crate::work_queues::{InFlight, Segments};

/// The operation of a request.
pub(crate) enum Task {
    Work(Work),
    Bind(Bind),
}

/// A posted request.
pub(crate) struct PostedRequest {
    pub(crate) task: Task,
    pub(crate) segments: Segments,
    /// Length in bytes of the payload that it sends.
    pub(crate) length: u64,
    pub(crate) cookie: u64,
    pub(crate) flags: CompletionFlags,
    /// True if its first frame is written, so that it has a sequence number.
    pub(crate) is_begun: bool,
    /// Bytes of the payload that were written.
    pub(crate) written: u64,
    /// The peer may fetch it, and has not answered.
    pub(crate) is_offered: bool,
    /// The status of a request that ended on this side. It completes after the requests before it.
    pub(crate) local_status: Option<DtoStatus>,
}

impl PostedRequest {
    pub(crate) fn new(request: &Request<'_>) -> Self {
        let &Request { work, segments, length, cookie, flags, .. } = request;
        let mut request =
            Self { segments: segments.into(), ..Self::of(Task::Work(work), cookie, flags) };
        request.length = if request.expects_answer() { 0 } else { length };
        request
    }

    pub(crate) fn bind(bind: Bind, cookie: u64, flags: CompletionFlags) -> Self {
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

    /// Returns true if the peer answers it with data.
    pub(crate) fn expects_answer(&self) -> bool {
        self.answer_length().is_some()
    }

    /// Returns true if it waits for the answers of reads before it: `unanswered` have none, and the peer takes
    /// `max_reads` at once.
    #[inline(always)]
    pub(super) fn waits_for_reads(&self, unanswered: u32, max_reads: impl Fn() -> u32) -> bool {
        (self.flags.contains(CompletionFlags::BARRIER_FENCE) && unanswered > 0)
            || (!self.is_begun && self.expects_answer() && unanswered >= max_reads())
    }

    /// Length in bytes of its answer, if one is expected.
    pub(crate) fn answer_length(&self) -> Option<u64> {
        match &self.task {
            Task::Work(Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. }) => {
                Some(remote.length)
            }
            Task::Work(Work::FetchAdd { .. } | Work::CompareSwap { .. }) => Some(8),
            _ => None,
        }
    }

    /// Returns true if it consumes a receive of the peer.
    pub(crate) fn consumes_receive(&self) -> bool {
        matches!(
            self.task,
            Task::Work(
                Work::Send
                    | Work::SendImmediate { .. }
                    | Work::SendInvalidate { .. }
                    | Work::RdmaWriteImmediate { .. }
            )
        )
    }

    /// Returns true if it is a send.
    pub(crate) fn is_message(&self) -> bool {
        matches!(
            self.task,
            Task::Work(Work::Send | Work::SendImmediate { .. } | Work::SendInvalidate { .. })
        )
    }

    /// The fields that its completion needs.
    pub(crate) fn in_flight(&self) -> InFlight {
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
    pub(crate) fn extra(&self) -> u64 {
        match &self.task {
            Task::Work(_) => 0,
            Task::Bind(bind) => bind.tag(),
        }
    }
}
