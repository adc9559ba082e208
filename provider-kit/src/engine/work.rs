//! Requests that were posted and are not complete.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::status::Operation;
use dat_provider::{Request, Work};

use super::segments::Segments;
use crate::window::Bind;

/// What a request does.
pub(super) enum Task {
    Work(Work),
    Bind(Bind),
}

/// A request.
pub(super) struct Item {
    pub(super) task: Task,
    pub(super) segments: Segments,
    /// Bytes that it sends.
    pub(super) length: u64,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
    /// Its number on the link, once its first frame was written.
    pub(super) wire: Option<u32>,
    /// Bytes that were written.
    pub(super) sent: u64,
    /// Bytes of the answer that came.
    pub(super) received: u64,
    /// All of the answer came, or there is none to come.
    pub(super) answered: bool,
    /// It failed on this side; this shows when all before it are complete.
    pub(super) failed: Option<DtoStatus>,
}

impl Item {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let &Request { work, segments, length, cookie, flags, .. } = request;
        let mut item =
            Self { segments: segments.into(), ..Self::of(Task::Work(work), cookie, flags) };
        item.answered = !item.wants_answer();
        item.length = if item.wants_answer() { 0 } else { length };
        item
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
            wire: None,
            sent: 0,
            received: 0,
            answered: true,
            failed: None,
        }
    }

    /// Whether data answers it.
    pub(super) fn wants_answer(&self) -> bool {
        self.wanted().is_some()
    }

    /// Bytes of its answer.
    pub(super) fn wanted(&self) -> Option<u64> {
        match &self.task {
            Task::Work(Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. }) => {
                Some(remote.length)
            }
            Task::Work(Work::FetchAdd { .. } | Work::CompareSwap { .. }) => Some(8),
            _ => None,
        }
    }

    /// Whether it takes a receive at the peer.
    pub(super) fn takes_receive(&self) -> bool {
        matches!(
            self.task,
            Task::Work(Work::Send | Work::SendInvalidate { .. } | Work::RdmaWriteImmediate { .. })
        )
    }

    /// Whether it is a message and nothing else.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.task, Task::Work(Work::Send | Work::SendInvalidate { .. }))
    }

    pub(super) fn operation(&self) -> Operation {
        match &self.task {
            Task::Work(work) => work.operation(),
            Task::Bind(_) => Operation::Bind,
        }
    }

    /// What its completion has as extra.
    pub(super) fn extra(&self) -> u64 {
        match &self.task {
            Task::Work(_) => 0,
            Task::Bind(bind) => bind.tag(),
        }
    }

    /// The bytes that its completion reports.
    pub(super) fn reported(&self) -> u64 {
        self.wanted().unwrap_or(self.length)
    }
}
