//! The activity of a queue pair at one time, for operators.

use crate::WaitCause;

/// The activity of a queue pair at one time, as `dat top` shows it. Like [`Description`](crate::Description), it has a
/// [`Default`]: end its literal with `..Default::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The kind of the link: `shm`, `tcp`, `loopback`. Empty while there is none.
    pub transport: &'static str,
    /// The reader of the link; empty if the provider has no such choice.
    pub reader: &'static str,
    /// Number of requests that were posted and are not complete.
    pub requests: u32,
    /// Number of receives that no message has consumed.
    pub receives: u32,
    /// Number of messages for which the peer has receives; `None` if that is unknown.
    pub credits: Option<u32>,
    /// Number of completions that the consumer has not taken.
    pub completions: u32,
    /// Requests that were posted.
    pub sent: Traffic,
    /// Requests of the peer that were executed.
    pub received: Traffic,
    /// A number that changes whenever the oldest request completes, modulo 2^32.
    pub progress: u32,
    /// The cause of the wait of the oldest request, or else of the oldest completion.
    pub waits_for: Option<WaitCause>,
}

/// The traffic of a queue pair in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests, modulo 2^32.
    pub requests: u32,
    /// Number of bytes, modulo 2^64; `None` if the provider does not count them.
    pub bytes: Option<u64>,
}
