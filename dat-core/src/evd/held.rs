//! Completions held back until the ESTABLISHED event of their endpoint.
//!
//! A transport may complete a receive before it reports the connection as established: the peer
//! sends as soon as its side is connected, and the two reports take different paths. Consumers rely
//! on the event coming first. So while an attempt of an endpoint is pending, its receives are held
//! back here, and the first of them reports to the queue pair that the peer considers the connection
//! established.

use crate::provider::Completion;
use crate::status::DtoStatus;

/// The endpoints of a dispatcher with a pending attempt, each with its completions held back.
#[derive(Default)]
pub(super) struct Held {
    entries: Vec<Entry>,
}

/// Reports to the queue pair that its peer considers the connection established. Called without a lock.
pub(super) type Report = Box<dyn FnOnce() + Send>;

struct Entry {
    tag: u64,
    completions: Vec<Completion>,
    /// `None` once it was called.
    report: Option<Report>,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Holds back the receives of the endpoint with that tag from now on.
    pub(super) fn begin(&mut self, tag: u64, report: Report) {
        self.entries.push(Entry { tag, completions: Vec::new(), report: Some(report) });
    }

    /// Stops holding back for that tag; returns what was held back.
    pub(super) fn end(&mut self, tag: u64) -> Vec<Completion> {
        let index = self.entries.iter().position(|entry| entry.tag == tag);
        index.map_or_else(Vec::new, |index| self.entries.swap_remove(index).completions)
    }

    /// Keeps a completion if it has to wait; returns whether it does. A flushed one says nothing
    /// about the peer: it follows the end of the attempt.
    pub(super) fn keep(&mut self, completion: &Completion) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.tag == completion.tag);
        let Some(entry) = entry.filter(|_| !completion.operation.is_request()) else {
            return false;
        };
        let waits = completion.status != DtoStatus::Flushed || !entry.completions.is_empty();
        if waits {
            entry.completions.push(*completion);
        }
        waits
    }

    /// Returns true if [`next_report`](Self::next_report) would return a call.
    pub(super) fn has_report(&self) -> bool {
        self.entries.iter().any(Entry::has_report)
    }

    /// The call that reports to the queue pair of an attempt that a receive completed; once per attempt.
    pub(super) fn next_report(&mut self) -> Option<Report> {
        self.entries.iter_mut().find(|entry| entry.has_report())?.report.take()
    }
}

impl Entry {
    fn has_report(&self) -> bool {
        self.report.is_some() && !self.completions.is_empty()
    }
}
