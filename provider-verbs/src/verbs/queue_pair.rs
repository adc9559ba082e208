//! Queue pairs.

use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::memory::{Lender, Lent, handle};
use super::{
    CompletionQueue, Failure, MemoryRegion, MemoryWindow, NOTHING, Plain, Post, ProtectionDomain,
    Result, Sge, SharedReceiveQueue, WindowKind, key_to_pointer, library,
};
use crate::sys::dispatch;
use crate::sys::verbs::{
    self as sys, bind_mw_wr, ibv_mw_bind, ibv_mw_bind_info, ibv_qp, ibv_qp_attr, ibv_qp_cap,
    ibv_qp_init_attr, ibv_recv_wr, ibv_send_wr,
};

/// What a queue pair carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuePairKind {
    /// A reliable connection.
    Connected,
    /// Datagrams.
    Datagram,
}

/// What a queue pair is made from (ibv_create_qp(3)).
pub(crate) struct QueuePairInit<'a> {
    /// What events tell of it by.
    pub(crate) key: u64,
    pub(crate) send_queue: &'a Arc<CompletionQueue>,
    pub(crate) receive_queue: &'a Arc<CompletionQueue>,
    pub(crate) shared: Option<&'a Arc<SharedReceiveQueue>>,
    pub(crate) capabilities: ibv_qp_cap,
    pub(crate) kind: QueuePairKind,
}

impl QueuePairInit<'_> {
    /// The form in C; it borrows the queues.
    pub(crate) fn to_c(&self) -> ibv_qp_init_attr {
        ibv_qp_init_attr {
            qp_context: key_to_pointer(self.key),
            send_cq: self.send_queue.raw(),
            recv_cq: self.receive_queue.raw(),
            srq: self.shared.map_or(null_mut(), |shared| shared.raw()),
            cap: self.capabilities,
            qp_type: match self.kind {
                QueuePairKind::Connected => sys::IBV_QPT_RC,
                QueuePairKind::Datagram => sys::IBV_QPT_UD,
            },
            sq_sig_all: 0,
        }
    }
}

handle! {
    /// A queue pair.
    QueuePair(ibv_qp) {
        number: u32,
        capabilities: ibv_qp_cap,
        domain: Arc<ProtectionDomain>,
        _queues: Vec<Arc<CompletionQueue>>,
        _shared: Option<Arc<SharedReceiveQueue>>,
        lender: Lender,
    }
}

impl QueuePair {
    /// A queue pair in the reset state, with at least those capabilities.
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, init: &QueuePairInit<'_>) -> Result<Self> {
        let mut attributes = init.to_c();
        // SAFETY: the domain and the queues are alive and the place valid.
        let raw = unsafe { (library!(verbs).ibv_create_qp)(domain.raw(), &raw mut attributes) };
        let Some(raw) = NonNull::new(raw) else { return Err(Failure::last("ibv_create_qp")) };
        // SAFETY: it was just made, and its number never changes.
        let number = unsafe { raw.as_ref() }.qp_num;
        Ok(Self {
            raw,
            number,
            capabilities: attributes.cap,
            domain: Arc::clone(domain),
            _queues: vec![Arc::clone(init.send_queue), Arc::clone(init.receive_queue)],
            _shared: init.shared.cloned(),
            lender: None,
        })
    }

    /// A queue pair of the lender's.
    ///
    /// # Safety
    /// It must live as long as its lender.
    pub(crate) unsafe fn lent(
        raw: NonNull<ibv_qp>,
        capabilities: ibv_qp_cap,
        domain: Arc<ProtectionDomain>,
        lender: Lent,
    ) -> Self {
        // SAFETY: the caller answers for it; its number never changes.
        let number = unsafe { raw.as_ref() }.qp_num;
        let lender = Some(lender);
        Self { raw, number, capabilities, domain, _queues: Vec::new(), _shared: None, lender }
    }

    /// Its number on the wire.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What it has, which may be more than was asked for.
    pub(crate) fn capabilities(&self) -> &ibv_qp_cap {
        &self.capabilities
    }

    /// The domain whose memory it reaches.
    pub(crate) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// Changes its attributes, those of the mask (ibv_modify_qp(3)).
    pub(crate) fn modify(&self, attributes: &ibv_qp_attr, mask: i32) -> Result<()> {
        let mut attributes = *attributes;
        // SAFETY: the queue pair is alive and the attributes a copy.
        let code =
            unsafe { (library!(verbs).ibv_modify_qp)(self.raw(), &raw mut attributes, mask) };
        Failure::check("ibv_modify_qp", code)
    }

    /// The state that the device says (ibv_query_qp(3)).
    pub(crate) fn query_state(&self) -> Result<u32> {
        let mut attributes = ibv_qp_attr::default();
        let mut init = MaybeUninit::<ibv_qp_init_attr>::zeroed();
        // SAFETY: the queue pair is alive and the places valid.
        let code = unsafe {
            let call = library!(verbs).ibv_query_qp;
            call(self.raw(), &raw mut attributes, sys::IBV_QP_STATE, init.as_mut_ptr())
        };
        Failure::check("ibv_query_qp", code)?;
        Ok(attributes.qp_state)
    }

    /// Ends all use: what is outstanding is flushed.
    pub(crate) fn set_error(&self) -> Result<()> {
        let attributes = ibv_qp_attr { qp_state: sys::IBV_QPS_ERR, ..ibv_qp_attr::default() };
        self.modify(&attributes, sys::IBV_QP_STATE)
    }

    /// Posts a receive (ibv_post_recv(3)).
    #[inline(always)]
    pub(crate) fn post_receive(&self, id: u64, segments: &[Sge]) -> Result<()> {
        let mut receive = ibv_recv_wr {
            wr_id: id,
            next: null_mut(),
            sg_list: segments.as_ptr().cast_mut(),
            num_sge: i32::try_from(segments.len()).unwrap_or(i32::MAX),
        };
        let mut bad = MaybeUninit::uninit();
        // SAFETY: the queue pair is alive, the receive well formed; the library copies the
        // list, which it does not change. Which one is bad is written, and never read.
        let code = unsafe { dispatch::post_recv(self.raw(), &raw mut receive, bad.as_mut_ptr()) };
        match Failure::check("ibv_post_recv", code) {
            Ok(()) => Ok(()),
            Err(failure) if failure.is_of_nothing(segments) => self.post_receive_of_nothing(id),
            Err(failure) => Err(failure),
        }
    }

    #[cold]
    #[inline(never)]
    fn post_receive_of_nothing(&self, id: u64) -> Result<()> {
        self.post_receive(id, &[NOTHING])
    }

    /// Posts a request (ibv_post_send(3)).
    ///
    /// # Safety
    /// The segments of an inline request must lie in memory that can be read during the call.
    #[inline(always)]
    pub(crate) unsafe fn post(&self, post: &Post<'_>) -> Result<()> {
        let mut request = post.to_c();
        // SAFETY: the request is well formed and what it borrows lives over the call; the
        // caller answers for the memory.
        unsafe { self.post_raw(&mut request) }
    }

    /// The same of the kind that is posted most.
    ///
    /// # Safety
    /// As for [`post`](Self::post).
    #[inline(always)]
    pub(crate) unsafe fn post_plain(
        &self,
        id: u64,
        flags: u32,
        segment: &Sge,
        what: Plain,
    ) -> Result<()> {
        let mut request = MaybeUninit::uninit();
        what.write_c(id, flags, segment, &mut request);
        let mut bad = MaybeUninit::uninit();
        // SAFETY: as for `post`; of the request that is written which one of its kind has.
        let code =
            unsafe { dispatch::post_send(self.raw(), request.as_mut_ptr(), bad.as_mut_ptr()) };
        Failure::check("ibv_post_send", code)
    }

    /// # Safety
    /// The request must be well formed, with all that it points to.
    #[inline]
    unsafe fn post_raw(&self, request: &mut ibv_send_wr) -> Result<()> {
        let mut bad = null_mut();
        // SAFETY: the queue pair is alive; the caller answers for the request.
        let code = unsafe { dispatch::post_send(self.raw(), request, &raw mut bad) };
        Failure::check("ibv_post_send", code)
    }

    /// Posts the bind of a window (ibv_bind_mw(3) for type 1, `IBV_WR_BIND_MW` for type 2) and
    /// returns its new key. Nothing else may bind the window at the same time.
    pub(crate) fn post_bind(&self, bind: &WindowBind<'_>) -> Result<u32> {
        const CALL: &str = "ibv_bind_mw";
        let invalid = Failure { call: CALL, errno: libc::EINVAL };
        let region = bind.region.ok_or(invalid)?;
        if !Arc::ptr_eq(region.domain(), bind.window.domain()) {
            return Err(Failure { call: CALL, errno: libc::EPERM });
        }
        region.with(|region| self.post_bind_raw(bind, region)).unwrap_or(Err(invalid))
    }

    fn post_bind_raw(&self, bind: &WindowBind<'_>, region: *mut sys::ibv_mr) -> Result<u32> {
        let window = bind.window;
        let bind_info = ibv_mw_bind_info {
            mr: region,
            addr: bind.address,
            length: bind.length,
            mw_access_flags: bind.access,
        };
        match window.kind() {
            WindowKind::One => {
                let mut bind = ibv_mw_bind { wr_id: bind.id, send_flags: bind.flags, bind_info };
                // SAFETY: queue pair, window and region are alive; the region is of the
                // window's domain or none.
                let code = unsafe { dispatch::bind_mw(self.raw(), window.raw(), &raw mut bind) };
                Failure::check("ibv_bind_mw", code)?;
                Ok(window.key())
            }
            WindowKind::Two => {
                let key = bind.key;
                let mut request =
                    Post { id: bind.id, flags: bind.flags, segments: &[], what: super::What::Send }
                        .to_c();
                request.opcode = sys::IBV_WR_BIND_MW;
                request.bind_mw = bind_mw_wr { mw: window.raw(), rkey: key, bind_info };
                // SAFETY: as above; the request is well formed.
                unsafe { self.post_raw(&mut request) }?;
                Ok(key)
            }
        }
    }
}

/// The bind of a window.
pub(crate) struct WindowBind<'a> {
    pub(crate) id: u64,
    pub(crate) flags: u32,
    pub(crate) window: &'a MemoryWindow,
    /// Without one there is no bind: some libraries take it for granted.
    pub(crate) region: Option<&'a MemoryRegion>,
    pub(crate) address: u64,
    pub(crate) length: u64,
    /// A set of `IBV_ACCESS_…`.
    pub(crate) access: u32,
    /// The new key of a window of type 2.
    pub(crate) key: u32,
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if self.lender.is_none() {
            // SAFETY: it is ours and destroyed once; events are acknowledged as they are taken,
            // so this does not wait.
            let _ = unsafe { (library!(verbs).ibv_destroy_qp)(self.raw()) };
        }
    }
}
