//! What other threads ask the thread `dat-events` to do.

use std::sync::{Arc, Weak};

use dat_core::provider::ConnectionUpcall;

use super::target::{QueueEvents, QueuePairEvents};
use crate::cm;

/// A command for the thread.
pub(crate) enum Command {
    /// An event of a connection or a listener.
    Event(cm::Event),
    /// Something failed on the queue pair with that key.
    Trouble(u64),
    /// A completion queue has upcalls to make: whether it is ready, whether it overflowed.
    Report(u64, bool, bool),
    /// Complete the end of a queue pair's connection.
    Finish(Arc<dyn QueuePairEvents>),
    /// Disconnect a queue pair when its requests have finished.
    Close(Weak<dyn QueuePairEvents>),
    /// The channel of a queue was lent to a waiter.
    Lent(Weak<dyn QueueEvents>),
    /// A connection attempt failed before it was sent.
    Fail(Weak<dyn QueuePairEvents>, u64, ConnectionUpcall<'static>),
}
