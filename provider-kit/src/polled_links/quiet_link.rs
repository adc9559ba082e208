//! A link for tests, on which nothing arrives.

use std::os::fd::BorrowedFd;

use super::{PollInfo, PollOutcome, PolledLink, Signal};

pub(crate) struct QuietLink;

impl PolledLink for QuietLink {
    fn poll(&self, _info: PollInfo) -> PollOutcome {
        PollOutcome::default()
    }

    fn give_back(&self) {}

    fn signal(&self) -> Option<Signal> {
        None
    }

    fn join(&self, _set: BorrowedFd<'_>, _key: u64) -> bool {
        true
    }
}
