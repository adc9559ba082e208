//! Flags of registrations and of posts.

use crate::sys::verbs as sys;

bitflags::bitflags! {
    /// The accesses permitted to a memory region or window, or over a queue pair (ibv_reg_mr(3)).
    /// Local reads are always allowed.
    ///
    /// ```
    /// use rdma_verbs::verbs::Access;
    ///
    /// let exposed = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE;
    /// assert!(!exposed.contains(Access::REMOTE_ATOMIC));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// The device may write for receives, RDMA reads and atomics of this side.
        const LOCAL_WRITE = sys::IBV_ACCESS_LOCAL_WRITE;
        /// The peer may write. A region needs [`LOCAL_WRITE`](Self::LOCAL_WRITE) as well.
        const REMOTE_WRITE = sys::IBV_ACCESS_REMOTE_WRITE;
        /// The peer may read.
        const REMOTE_READ = sys::IBV_ACCESS_REMOTE_READ;
        /// The peer may do atomic operations. A region needs
        /// [`LOCAL_WRITE`](Self::LOCAL_WRITE) as well.
        const REMOTE_ATOMIC = sys::IBV_ACCESS_REMOTE_ATOMIC;
        /// Windows can be bound to the region.
        const WINDOW_BIND = sys::IBV_ACCESS_MW_BIND;
        /// Pages are not pinned, but faulted in when the device needs them.
        const ON_DEMAND = sys::IBV_ACCESS_ON_DEMAND;
        /// The memory lies on huge pages; only with [`ON_DEMAND`](Self::ON_DEMAND).
        const HUGE_PAGES = sys::IBV_ACCESS_HUGETLB;
        /// The device may reorder its accesses to the memory.
        const RELAXED_ORDERING = sys::IBV_ACCESS_RELAXED_ORDERING;
    }
}

bitflags::bitflags! {
    /// How a request is sent (ibv_post_send(3)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SendFlags: u32 {
        /// The device starts the request after earlier RDMA reads and atomics are complete.
        const FENCE = sys::IBV_SEND_FENCE;
        /// The request generates a completion even if it succeeds.
        const SIGNALED = sys::IBV_SEND_SIGNALED;
        /// The completion of the peer's receive is a solicited one.
        const SOLICITED = sys::IBV_SEND_SOLICITED;
    }
}
