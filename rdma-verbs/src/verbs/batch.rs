//! Extended posts: requests that are passed to the device together (ibv_wr_post(3)).

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::in_flight::{Posted, Posting, Uses};
use super::memory::{NO_MEMORY, reserved};
use super::post::Checked;
use super::region::RegionUse;
use super::{
    Access, Error, MemoryWindow, Operation, ProtectionDomain, QueuePair, QueuePairInit,
    RequestData, Result, Segment, SendFlags, SendRequest, WindowType, field, library,
};
use crate::sys::extended::{extended, ibv_qp_init_attr_ex, ibv_rx_hash_conf, verbs_context};
use crate::sys::verbs::{self as sys, ibv_mw_bind_info, ibv_qp, ibv_qp_cap, ibv_qp_ex};

bitflags::bitflags! {
    /// The operations of a queue pair with extended posts (ibv_create_qp_ex(3)).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SendOperations: u64 {
        /// [`Operation::Write`](super::Operation::Write)
        const WRITE = sys::IBV_QP_EX_WITH_RDMA_WRITE;
        /// [`Operation::WriteImmediate`](super::Operation::WriteImmediate)
        const WRITE_IMMEDIATE = sys::IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
        /// [`Operation::Send`](super::Operation::Send), and datagrams.
        const SEND = sys::IBV_QP_EX_WITH_SEND;
        /// [`Operation::SendImmediate`](super::Operation::SendImmediate), and datagrams with
        /// immediate data.
        const SEND_IMMEDIATE = sys::IBV_QP_EX_WITH_SEND_WITH_IMM;
        /// [`Operation::Read`](super::Operation::Read)
        const READ = sys::IBV_QP_EX_WITH_RDMA_READ;
        /// [`Operation::CompareSwap`](super::Operation::CompareSwap)
        const COMPARE_SWAP = sys::IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
        /// [`Operation::FetchAdd`](super::Operation::FetchAdd)
        const FETCH_ADD = sys::IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
        /// [`Operation::Invalidate`](super::Operation::Invalidate)
        const INVALIDATE = sys::IBV_QP_EX_WITH_LOCAL_INV;
        /// [`SendBatch::bind_window`]
        const BIND = sys::IBV_QP_EX_WITH_BIND_MW;
        /// [`Operation::SendInvalidate`](super::Operation::SendInvalidate)
        const SEND_INVALIDATE = sys::IBV_QP_EX_WITH_SEND_WITH_INV;
    }
}

/// Creates a queue pair with extended posts.
pub(super) fn create(
    domain: &Arc<ProtectionDomain>,
    init: &QueuePairInit<'_>,
    operations: SendOperations,
) -> Result<(NonNull<ibv_qp>, NonNull<ibv_qp_ex>, ibv_qp_cap)> {
    const CALL: &str = "ibv_create_qp_ex";
    init.check_device(CALL, domain)?;
    let missing = Error::new(CALL, libc::EOPNOTSUPP);
    let context = domain.context().raw();
    let field = std::mem::offset_of!(verbs_context, create_qp_ex);
    // SAFETY: the context is open.
    let tail = unsafe { extended(context, field) }.ok_or(missing)?;
    // SAFETY: the context reaches to this field, which never changes.
    let create = unsafe { (*tail).create_qp_ex }.ok_or(missing)?;
    let cast = library!(verbs).ibv_qp_to_qp_ex.ok_or(missing)?;
    let plain = init.to_c();
    let mut attributes = ibv_qp_init_attr_ex {
        qp_context: plain.qp_context,
        send_cq: plain.send_cq,
        recv_cq: plain.recv_cq,
        srq: plain.srq,
        cap: plain.cap,
        qp_type: plain.qp_type,
        sq_sig_all: plain.sq_sig_all,
        comp_mask: sys::IBV_QP_INIT_ATTR_PD | sys::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        pd: domain.raw(),
        xrcd: null_mut(),
        create_flags: 0,
        max_tso_header: 0,
        rwq_ind_tbl: null_mut(),
        rx_hash_conf: ibv_rx_hash_conf {
            rx_hash_function: 0,
            rx_hash_key_len: 0,
            rx_hash_key: null_mut(),
            rx_hash_fields_mask: 0,
        },
        source_qpn: 0,
        send_ops_flags: operations.bits(),
    };
    // SAFETY: the domain and the queues are alive and of one device, and the attributes valid.
    let raw = unsafe { create(context, &raw mut attributes) };
    let raw = NonNull::new(raw).ok_or_else(|| Error::last(CALL))?;
    // SAFETY: the queue pair was created with extended posts.
    match NonNull::new(unsafe { cast(raw.as_ptr()) }) {
        Some(extended) => Ok((raw, extended, attributes.cap)),
        None => {
            // SAFETY: it was just created, and nothing refers to it.
            let _ = unsafe { (library!(verbs).ibv_destroy_qp)(raw.as_ptr()) };
            Err(missing)
        }
    }
}

/// Requests that are passed to the device together, when the batch is [completed](Self::complete).
/// Dropping the batch discards them.
///
/// Until then the send queue is locked. Other threads that post requests to the queue pair, or poll
/// their completions, wait. This thread would deadlock: it must do neither.
///
/// ```
/// use rdma_verbs::verbs::{Operation, QueuePair, RequestData, Segment, SendRequest};
///
/// fn send_all(queue_pair: &QueuePair, messages: &[Segment]) -> rdma_verbs::Result<()> {
///     let mut batch = queue_pair.start_batch()?;
///     for (id, message) in (0..).zip(messages.chunks(1)) {
///         batch.push(&SendRequest::new(id, Operation::Send, RequestData::Segments(message)))?;
///     }
///     batch.complete()
/// }
/// ```
#[derive(Debug)]
pub struct SendBatch<'a> {
    queue_pair: &'a QueuePair,
    raw: NonNull<ibv_qp_ex>,
    posting: Posting<'a>,
    count: usize,
    /// The window bindings that the batch starts.
    bound: Vec<(Arc<MemoryWindow>, RegionUse)>,
    is_open: bool,
}

impl QueuePair {
    /// Begins a batch of requests (ibv_wr_start(3)).
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the queue pair was not created by [`new_extended`](Self::new_extended);
    /// `ENOTCONN`: it is not ready to send.
    pub fn start_batch(&self) -> Result<SendBatch<'_>> {
        const CALL: &str = "ibv_wr_start";
        let missing = Error::new(CALL, libc::EOPNOTSUPP).on(self.error_object());
        let raw = self.extended.ok_or(missing)?;
        self.check_can_send(CALL)?;
        // SAFETY: the queue pair is alive, and the field never changes.
        let start = unsafe { (*raw.as_ptr()).wr_start }.ok_or(missing)?;
        let posting = self.records().sends.begin();
        // SAFETY: the queue pair is alive, and the lock of its record prevents other batches.
        unsafe { start(raw.as_ptr()) };
        let bound = Vec::new();
        Ok(SendBatch { queue_pair: self, raw, posting, count: 0, bound, is_open: true })
    }
}

/// Calls a function of the extended queue pair, or returns "not supported".
macro_rules! call {
    ($batch:ident.$function:ident($($argument:expr),*)) => {{
        let raw = $batch.raw.as_ptr();
        // SAFETY: the queue pair is alive, and the field never changes.
        match unsafe { (*raw).$function } {
            // SAFETY: the batch is open, and the arguments are checked or borrowed over the call.
            Some(function) => Ok(unsafe { function(raw, $($argument),*) }),
            None => Err($batch.not_supported(concat!("ibv_", stringify!($function)))),
        }
    }};
}

impl SendBatch<'_> {
    /// Adds a request.
    ///
    /// # Errors
    /// The errors of [`QueuePair::post_send`] that are found before the device sees the request;
    /// `EINVAL`: the data is [`Unrecorded`](super::Unrecorded); `EOPNOTSUPP`: the queue pair was not
    /// created with this operation. The batch is then unchanged.
    pub fn push(&mut self, request: &SendRequest<'_>) -> Result<()> {
        let checked = request.check(self.queue_pair, "ibv_wr_send")?;
        self.check_operation(request.operation)?;
        let mut bytes = Vec::new();
        if let (true, RequestData::Inline(parts)) = (checked.is_inline, request.data) {
            bytes = reserved(parts.iter().map(|part| part.len()).sum())?;
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
        }
        self.posting.reserve()?;
        self.begin(request.flags.with_inline(checked.is_inline));
        self.operation(request.operation)?;
        self.data(request, &checked, bytes)?;
        self.record(request.id, checked.uses);
        Ok(())
    }

    /// Adds the bind of a window of type 2, and returns the key by which the peer reaches it.
    ///
    /// # Errors
    /// `EINVAL`: the window is of type 1. Otherwise as [`QueuePair::bind_window`].
    pub fn bind_window(
        &mut self,
        id: u64,
        window: &Arc<MemoryWindow>,
        to: &Segment,
        access: Access,
        flags: SendFlags,
    ) -> Result<u32> {
        const CALL: &str = "ibv_wr_bind_mw";
        let refused = |errno| Error::new(CALL, errno).on(self.queue_pair.error_object());
        let region = to.region();
        if window.window_type() != WindowType::Two {
            return Err(refused(libc::EINVAL));
        }
        if region.domain() != window.domain() || !window.is_on_device_of(self.queue_pair.domain()) {
            return Err(refused(libc::EPERM));
        }
        let binding = RegionUse::new(region, CALL)?;
        self.posting.reserve()?;
        self.bound.try_reserve(1).map_err(|_| NO_MEMORY)?;
        let key = window.take_key();
        self.begin(flags.bits());
        let call = |mr| {
            let (addr, length) = (to.address(), to.len() as u64);
            let info = ibv_mw_bind_info { mr, addr, length, mw_access_flags: access.bits() };
            call!(self.wr_bind_mw(window.raw(), key, &raw const info))
        };
        region.with(call).unwrap_or(Err(refused(libc::EINVAL)))?;
        self.record(id, Uses { _window: Some(Arc::clone(window)), ..Uses::default() });
        self.bound.push((Arc::clone(window), binding));
        Ok(key)
    }

    /// Passes the requests to the device (ibv_wr_complete(3)).
    ///
    /// # Errors
    /// `ENOMEM`: the send queue does not have that many free entries; none of the requests was
    /// posted.
    pub fn complete(mut self) -> Result<()> {
        let code = call!(self.wr_complete())?;
        self.is_open = false;
        if let Err(error) = Error::check("ibv_wr_complete", code) {
            self.posting.pop(self.count);
            return Err(error.on(self.queue_pair.error_object()));
        }
        for (window, binding) in self.bound.drain(..) {
            let before = window.bound().replace(binding);
            drop(before);
        }
        Ok(())
    }

    fn begin(&mut self, flags: u32) {
        let raw = self.raw.as_ptr();
        let id = self.posting.next();
        // SAFETY: the queue pair is alive, and the open batch is the only user of the field.
        unsafe { (*raw).wr_id = id };
        // SAFETY: the queue pair is alive, and the open batch is the only user of the field.
        unsafe { (*raw).wr_flags = flags };
    }

    fn record(&mut self, id: u64, uses: Uses) {
        self.posting.push(Posted { id, _uses: uses });
        self.count += 1;
    }

    fn operation(&self, operation: Operation<'_>) -> Result<()> {
        match operation {
            Operation::Send => call!(self.wr_send()),
            Operation::SendImmediate(data) => call!(self.wr_send_imm(data.to_be())),
            Operation::SendInvalidate(key) => call!(self.wr_send_inv(key)),
            Operation::Write(to) => call!(self.wr_rdma_write(to.key, to.address)),
            Operation::WriteImmediate(to, data) => {
                call!(self.wr_rdma_write_imm(to.key, to.address, data.to_be()))
            }
            Operation::Read(from) => call!(self.wr_rdma_read(from.key, from.address)),
            Operation::FetchAdd { remote, add } => {
                call!(self.wr_atomic_fetch_add(remote.key, remote.address, add))
            }
            Operation::CompareSwap { remote, compare, swap } => {
                call!(self.wr_atomic_cmp_swp(remote.key, remote.address, compare, swap))
            }
            Operation::Invalidate(key) => call!(self.wr_local_inv(key)),
            Operation::Datagram { handle, queue_pair, queue_key, immediate } => {
                match immediate {
                    None => call!(self.wr_send())?,
                    Some(data) => call!(self.wr_send_imm(data.to_be()))?,
                }
                call!(self.wr_set_ud_addr(handle.raw(), queue_pair, queue_key))
            }
        }
    }

    /// Checks that the queue pair was created with the operation, and has the functions for it.
    fn check_operation(&self, operation: Operation<'_>) -> Result<()> {
        let raw = self.raw.as_ptr();
        let has = match operation {
            Operation::Send => field!(raw, wr_send).is_some(),
            Operation::SendImmediate(_) => field!(raw, wr_send_imm).is_some(),
            Operation::SendInvalidate(_) => field!(raw, wr_send_inv).is_some(),
            Operation::Write(_) => field!(raw, wr_rdma_write).is_some(),
            Operation::WriteImmediate(..) => field!(raw, wr_rdma_write_imm).is_some(),
            Operation::Read(_) => field!(raw, wr_rdma_read).is_some(),
            Operation::FetchAdd { .. } => field!(raw, wr_atomic_fetch_add).is_some(),
            Operation::CompareSwap { .. } => field!(raw, wr_atomic_cmp_swp).is_some(),
            Operation::Invalidate(_) => field!(raw, wr_local_inv).is_some(),
            Operation::Datagram { immediate, .. } => {
                let send = match immediate {
                    None => field!(raw, wr_send).is_some(),
                    Some(_) => field!(raw, wr_send_imm).is_some(),
                };
                send && field!(raw, wr_set_ud_addr).is_some()
            }
        };
        let has = has
            && field!(raw, wr_set_sge_list).is_some()
            && field!(raw, wr_set_inline_data).is_some();
        if has { Ok(()) } else { Err(self.not_supported("ibv_wr_send")) }
    }

    /// Passes the data of a request; `bytes` are those of inline data.
    fn data(&self, request: &SendRequest<'_>, checked: &Checked, mut bytes: Vec<u8>) -> Result<()> {
        let sges = &checked.sges;
        if matches!(request.operation, Operation::Invalidate(_)) {
            return Ok(());
        }
        if !checked.is_inline {
            return call!(self.wr_set_sge_list(sges.len(), sges.as_ptr()));
        }
        // The call for several buffers accepts only one in some libraries (librxe of rdma-core 44).
        call!(self.wr_set_inline_data(bytes.as_mut_ptr().cast(), bytes.len()))
    }

    #[cold]
    fn not_supported(&self, call: &'static str) -> Error {
        Error::new(call, libc::EOPNOTSUPP).on(self.queue_pair.error_object())
    }
}

impl Drop for SendBatch<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.posting.pop(self.count);
            let _ = call!(self.wr_abort());
        }
    }
}
