//! The flag words of the API, with the values of the C headers.

use bitflags::bitflags;

bitflags! {
    /// How a posted operation completes and notifies (`DAT_COMPLETION_FLAGS`).
    ///
    /// ```
    /// use dat_provider::flags::CompletionFlags;
    ///
    /// // For `post_send`: no event if it succeeds, and the peer's waiter is woken.
    /// let quiet = CompletionFlags::SUPPRESS | CompletionFlags::SOLICITED_WAIT;
    /// assert!(!quiet.contains(CompletionFlags::BARRIER_FENCE));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CompletionFlags: u32 {
        /// A success produces no completion event; an error always does.
        const SUPPRESS = 0x01;
        /// The matching receive on the other side notifies its waiter.
        const SOLICITED_WAIT = 0x02;
        /// The completion does not notify; the endpoint must have the flag too.
        const UNSIGNALLED = 0x04;
        /// The operation starts only after all earlier RDMA reads have completed.
        const BARRIER_FENCE = 0x08;
        /// As an endpoint attribute: the threshold of the waiter decides (the default).
        const EVD_THRESHOLD = 0x10;
        /// Waits for the invalidation of local memory regions; kernel consumers only.
        const LMR_INVALIDATE_FENCE = 0x20;
    }
}

bitflags! {
    /// Permitted accesses to registered memory (`DAT_MEM_PRIV_FLAGS`).
    ///
    /// ```
    /// use dat_provider::flags::Privileges;
    ///
    /// let inbox = Privileges::LOCAL_WRITE; // for receives
    /// let shared = Privileges::REMOTE_READ | Privileges::REMOTE_WRITE;
    /// assert!(!inbox.intersects(Privileges::REMOTE), "the peer cannot address it");
    /// assert!(Privileges::ALL.contains(inbox | shared));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Privileges: u32 {
        /// Local operations may read it: the source of a send or RDMA write.
        const LOCAL_READ = 0x01;
        /// The peer may read it by RDMA read.
        const REMOTE_READ = 0x02;
        /// Local operations may write it: the target of a receive or RDMA read.
        const LOCAL_WRITE = 0x10;
        /// The peer may write it by RDMA write.
        const REMOTE_WRITE = 0x20;
        /// The peer may do atomic operations on it (`DAT_IB_MEM_PRIV_REMOTE_ATOMIC`).
        const REMOTE_ATOMIC = 0x40;
        /// The four privileges of DAT itself (`DAT_MEM_PRIV_ALL_FLAG`): all except atomics.
        const ALL = 0x33;
    }
}

impl Privileges {
    /// The privileges that a peer can use.
    pub const REMOTE: Self = Self::REMOTE_READ.union(Self::REMOTE_WRITE).union(Self::REMOTE_ATOMIC);
}

bitflags! {
    /// The event streams that may feed an event dispatcher (`DAT_EVD_FLAGS`).
    ///
    /// ```
    /// use dat_provider::flags::EvdFlags;
    ///
    /// let server = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION | EvdFlags::DTO;
    /// assert!(EvdFlags::DEFAULT.contains(server));
    /// assert!(!EvdFlags::DEFAULT.contains(EvdFlags::SOFTWARE), "it must be requested");
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct EvdFlags: u32 {
        /// Software events, posted by the consumer.
        const SOFTWARE = 0x001;
        /// Connection requests of service points.
        const CONNECTION_REQUEST = 0x010;
        /// Completions of sends, receives and RDMA.
        const DTO = 0x020;
        /// Connection events of endpoints.
        const CONNECTION = 0x040;
        /// Completions of RMR binds.
        const RMR_BIND = 0x080;
        /// Asynchronous errors of the adapter.
        const ASYNC = 0x100;
        /// All except software events (`DAT_EVD_DEFAULT_FLAG`).
        const DEFAULT = 0x1f0;
    }
}

impl EvdFlags {
    /// The two streams that a completion queue carries.
    pub const COMPLETIONS: Self = Self::DTO.union(Self::RMR_BIND);
}

bitflags! {
    /// The qualities of service that a provider offers (`DAT_QOS`); no bit means best effort.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Qos: u32 {
        /// Throughput comes first.
        const HIGH_THROUGHPUT = 0x1;
        /// Latency comes first.
        const LOW_LATENCY = 0x2;
        /// Cost comes first.
        const ECONOMY = 0x4;
        /// The best service of the transport.
        const PREMIUM = 0x8;
    }
}

impl Qos {
    /// No specific quality (`DAT_QOS_BEST_EFFORT`).
    pub const BEST_EFFORT: Self = Self::empty();
}

bitflags! {
    /// Requirements of a connection (`DAT_CONNECT_FLAGS`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ConnectFlags: u32 {
        /// Use more than one path if possible.
        const MULTIPATH = 0x1;
        /// Use more than one path, or fail.
        const MULTIPATH_REQUIRED = 0x2;
    }
}

bitflags! {
    /// The kinds of memory that a provider registers (a set of `DAT_MEM_TYPE`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct MemoryTypes: u32 {
        /// Virtual memory of the consumer.
        const VIRTUAL = 0x1;
        /// The memory of another local memory region.
        const LMR = 0x2;
        /// Memory shared between processes.
        const SHARED_VIRTUAL = 0x4;
    }
}

/// How a connection or an adapter is closed (`DAT_CLOSE_FLAGS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// Immediately; outstanding operations are flushed.
    Abrupt,
    /// After all posted operations have finished; for an adapter, only if no object of it is left.
    Graceful,
}
