//! Progress of an adapter by a thread that waits on one of its dispatchers or notification objects, or polls one.

use std::os::fd::BorrowedFd;

/// The connections of an adapter, for a waiter that makes their progress itself.
///
/// An adapter whose own thread reads its connections wakes that thread for each arrival, and the
/// thread wakes the waiter. A waiter that claims the progress sleeps on [`descriptor`] instead, so
/// that an arrival costs one wake-up. At most one thread holds the claim.
///
/// [`descriptor`]: Self::descriptor
pub trait WaiterProgress: Send + Sync {
    /// Claims the progress: until [`release`](Self::release) the adapter does not wake its own
    /// thread for what makes the descriptor readable. Returns whether the caller has the claim now;
    /// not if another thread has it.
    fn claim(&self) -> bool;

    /// Gives the claim back. What has not been read since is left to the adapter's own thread.
    fn release(&self);

    /// The descriptor that is readable while [`advance`](Self::advance) has work to do.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Makes the progress that is possible without blocking, with the upcalls that follow from it.
    /// Returns false if the adapter's own thread is making progress at the moment: the claim must
    /// then be released, because that thread may be in an upcall for long.
    fn advance(&self) -> bool;

    /// A poll of a dispatcher for connection events has found nothing. Makes progress as [`advance`](Self::advance) does,
    /// if the adapter's own thread leaves that to such polls; otherwise the poll is only counted.
    fn poll(&self) {}
}
