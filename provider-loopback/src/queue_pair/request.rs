//! Work requests of the slow path.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::Operation;
use dat_provider::{Segment, Work};
use dat_provider_kit::window::Bind;

/// A request that waits at the responder. Its segments are next to it in the ring.
#[derive(Default)]
pub(super) struct PostedRequest {
    task: Task,
    length: u64,
    cookie: u64,
    flags: CompletionFlags,
}

enum Task {
    Work(Work),
    Bind(Bind),
}

impl Default for Task {
    fn default() -> Self {
        Self::Work(Work::Send)
    }
}

impl PostedRequest {
    /// The request with its segments.
    pub(super) fn with_segments<'a>(&'a self, segments: &'a [Segment]) -> WorkRequest<'a> {
        let task = match &self.task {
            Task::Work(work) => TaskRef::Work(work),
            Task::Bind(bind) => TaskRef::Bind(bind),
        };
        let &Self { length, cookie, flags, .. } = self;
        WorkRequest { task, segments, length, cookie, flags }
    }
}

/// A request that is being posted, or executed.
pub(super) struct WorkRequest<'a> {
    pub(super) task: TaskRef<'a>,
    pub(super) segments: &'a [Segment],
    /// Length of the segments, in bytes.
    pub(super) length: u64,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
}

/// The operation of a request.
#[derive(Clone, Copy)]
pub(super) enum TaskRef<'a> {
    Work(&'a Work),
    Bind(&'a Bind),
}

impl TaskRef<'_> {
    /// The fields `operation` and `extra` of the completion.
    pub(super) fn operation_and_extra(self) -> (Operation, u64) {
        match self {
            Self::Work(work) => (work.operation(), 0),
            Self::Bind(bind) => (Operation::Bind, bind.tag()),
        }
    }
}

impl WorkRequest<'_> {
    /// The request as it is stored, without its segments.
    pub(super) fn to_posted(&self) -> PostedRequest {
        let task = match self.task {
            TaskRef::Work(work) => Task::Work(*work),
            TaskRef::Bind(bind) => Task::Bind(bind.take()),
        };
        let &Self { length, cookie, flags, .. } = self;
        PostedRequest { task, length, cookie, flags }
    }
}
