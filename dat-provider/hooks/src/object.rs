//! The objects of an adapter, as a decorator names them.

use std::fmt;

/// A kind of object of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An open adapter.
    Adapter,
    /// A protection domain.
    Domain,
    /// A completion queue.
    CompletionQueue,
    /// A queue pair.
    QueuePair,
    /// A shared receive queue.
    SharedReceiveQueue,
    /// A listener.
    Listener,
    /// A request for a connection.
    Request,
    /// Registered memory.
    Region,
    /// A memory window.
    Window,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adapter => "adapter",
            Self::Domain => "domain",
            Self::CompletionQueue => "completion queue",
            Self::QueuePair => "queue pair",
            Self::SharedReceiveQueue => "shared receive queue",
            Self::Listener => "listener",
            Self::Request => "request",
            Self::Region => "region",
            Self::Window => "window",
        })
    }
}

/// An object of an adapter. Queue pairs and windows are numbered by their tags, adapters per
/// process, and all other objects per adapter; these numbers begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its number.
    pub number: u64,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.number)
    }
}
