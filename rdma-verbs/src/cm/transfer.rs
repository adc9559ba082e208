//! Registrations, posts and completions through an identifier (rdma_verbs(3)): common operations in
//! one call.

use std::sync::Arc;

use super::CmId;
use crate::Result;
use crate::verbs::{
    Access, AddressHandle, Completion, CompletionQueue, Memory, MemoryRegion, Operation, QueuePair,
    RemoteAddress, RequestData, Segment, SendFlags, SendRequest,
};

/// The queue key with which identifiers of [`PortSpace::Udp`](super::PortSpace) send and receive
/// datagrams (`RDMA_UDP_QKEY`).
pub const UDP_QUEUE_KEY: u32 = crate::sys::rdma_cma::RDMA_UDP_QKEY;

impl CmId {
    /// Registers memory to send from and receive into (rdma_reg_msgs(3)).
    ///
    /// # Errors
    /// `EINVAL`: the identifier has no queue pair. Otherwise as [`MemoryRegion::new`].
    pub fn register_messages(&self, memory: impl Into<Memory>) -> Result<Arc<MemoryRegion>> {
        self.register("rdma_reg_msgs", memory, Access::LOCAL_WRITE)
    }

    /// Registers memory that the peer may read (rdma_reg_read(3)).
    ///
    /// # Errors
    /// As [`register_messages`](Self::register_messages).
    pub fn register_read(&self, memory: impl Into<Memory>) -> Result<Arc<MemoryRegion>> {
        self.register("rdma_reg_read", memory, Access::LOCAL_WRITE | Access::REMOTE_READ)
    }

    /// Registers memory that the peer may write (rdma_reg_write(3)).
    ///
    /// # Errors
    /// As [`register_messages`](Self::register_messages).
    pub fn register_write(&self, memory: impl Into<Memory>) -> Result<Arc<MemoryRegion>> {
        self.register("rdma_reg_write", memory, Access::LOCAL_WRITE | Access::REMOTE_WRITE)
    }

    fn register(
        &self,
        call: &'static str,
        memory: impl Into<Memory>,
        access: Access,
    ) -> Result<Arc<MemoryRegion>> {
        let domain = self.domain().ok_or(self.refused(call, libc::EINVAL))?;
        MemoryRegion::new(&domain, memory, access)
    }

    /// Posts a receive (rdma_post_recvv(3)), to the shared receive queue if the queue pair has
    /// one.
    ///
    /// # Errors
    /// `EINVAL`: the identifier has no queue pair. Otherwise as [`QueuePair::post_receive`].
    pub fn post_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        if let Some(shared) = self.shared_receive_queue() {
            return shared.post_receive(id, segments);
        }
        let queue_pair = self.need_queue_pair("rdma_post_recv")?;
        match queue_pair.shared_receive_queue() {
            Some(shared) => shared.post_receive(id, segments),
            None => queue_pair.post_receive(id, segments),
        }
    }

    /// Posts a message (rdma_post_sendv(3)).
    ///
    /// # Errors
    /// `EINVAL`: the identifier has no queue pair. Otherwise as [`QueuePair::post_send`].
    pub fn post_send(&self, id: u64, segments: &[Segment], flags: SendFlags) -> Result<()> {
        let (operation, data) = (Operation::Send, RequestData::Segments(segments));
        self.post("rdma_post_send", &SendRequest { id, operation, data, flags })
    }

    /// Posts an RDMA read into the segments (rdma_post_readv(3)).
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn post_read(
        &self,
        id: u64,
        segments: &[Segment],
        flags: SendFlags,
        from: RemoteAddress,
    ) -> Result<()> {
        let (operation, data) = (Operation::Read(from), RequestData::Segments(segments));
        self.post("rdma_post_read", &SendRequest { id, operation, data, flags })
    }

    /// Posts an RDMA write of the segments (rdma_post_writev(3)).
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn post_write(
        &self,
        id: u64,
        segments: &[Segment],
        flags: SendFlags,
        to: RemoteAddress,
    ) -> Result<()> {
        let (operation, data) = (Operation::Write(to), RequestData::Segments(segments));
        self.post("rdma_post_write", &SendRequest { id, operation, data, flags })
    }

    /// Posts a datagram to a queue pair with the queue key of the connection manager
    /// (rdma_post_ud_send(3)).
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn post_datagram(
        &self,
        id: u64,
        segments: &[Segment],
        flags: SendFlags,
        handle: &Arc<AddressHandle>,
        queue_pair: u32,
    ) -> Result<()> {
        let queue_key = UDP_QUEUE_KEY;
        let operation = Operation::Datagram { handle, queue_pair, queue_key, immediate: None };
        let data = RequestData::Segments(segments);
        self.post("rdma_post_ud_send", &SendRequest { id, operation, data, flags })
    }

    fn post(&self, call: &'static str, request: &SendRequest<'_>) -> Result<()> {
        self.need_queue_pair(call)?.post_send(request)
    }

    /// Waits for the next completion of a request (rdma_get_send_comp(3)).
    ///
    /// # Errors
    /// `EINVAL`: there is no queue pair, or its completion queue has no channel. Otherwise as
    /// [`CompletionQueue::wait`].
    pub fn send_completion(&self) -> Result<Completion> {
        let queue_pair = self.need_queue_pair("rdma_get_send_comp")?;
        self.wait(0, queue_pair.send_queue())
    }

    /// Waits for the next completion of a receive (rdma_get_recv_comp(3)).
    ///
    /// # Errors
    /// As [`send_completion`](Self::send_completion).
    pub fn receive_completion(&self) -> Result<Completion> {
        let queue_pair = self.need_queue_pair("rdma_get_recv_comp")?;
        self.wait(1, queue_pair.receive_queue())
    }

    fn wait(&self, side: usize, queue: &CompletionQueue) -> Result<Completion> {
        let _waiting = self.inner.waiting[side].lock();
        queue.wait()
    }

    fn need_queue_pair(&self, call: &'static str) -> Result<Arc<QueuePair>> {
        self.queue_pair().ok_or_else(|| self.refused(call, libc::EINVAL))
    }
}
