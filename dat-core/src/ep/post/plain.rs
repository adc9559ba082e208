//! Posts with the usual completion flags: each completion is reported, and wakes a waiter.

use crate::ep::Ep;
use crate::error::Result;
use crate::flags::CompletionFlags;
use crate::{LmrTriplet, RmrTriplet};

const FLAGS: CompletionFlags = CompletionFlags::empty();

impl Ep {
    /// [`post_send`](Self::post_send) without completion flags.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn send(&self, iov: &[LmrTriplet], cookie: u64) -> Result<()> {
        self.post_send(iov, cookie, FLAGS)
    }

    /// [`post_recv`](Self::post_recv) without completion flags.
    ///
    /// # Errors
    /// As [`post_recv`](Self::post_recv).
    pub fn receive(&self, iov: &[LmrTriplet], cookie: u64) -> Result<()> {
        self.post_recv(iov, cookie, FLAGS)
    }

    /// [`post_rdma_write`](Self::post_rdma_write) without completion flags.
    ///
    /// # Errors
    /// As [`post_rdma_write`](Self::post_rdma_write).
    pub fn rdma_write(&self, iov: &[LmrTriplet], cookie: u64, remote: RmrTriplet) -> Result<()> {
        self.post_rdma_write(iov, cookie, remote, FLAGS)
    }

    /// [`post_rdma_read`](Self::post_rdma_read) without completion flags.
    ///
    /// # Errors
    /// As [`post_rdma_read`](Self::post_rdma_read).
    pub fn rdma_read(&self, iov: &[LmrTriplet], cookie: u64, remote: RmrTriplet) -> Result<()> {
        self.post_rdma_read(iov, cookie, remote, FLAGS)
    }
}
