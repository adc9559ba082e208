//! The operations that are measured.

use serde::Serialize;

/// An operation, named after its function in C and in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// A dequeue that finds nothing.
    EmptyDequeue,
    /// A receive and a send of 64 bytes, and the completions of both.
    SendCycle,
    /// The same on pairs of 100 connected endpoints, in random order.
    #[serde(rename = "send_cycle_among_100")]
    SendCycleAmong100,
    /// On pairs of 10,000 connected endpoints, in random order.
    #[serde(rename = "send_cycle_among_10000")]
    SendCycleAmong10000,
    /// An RDMA write of 64 bytes and its completion.
    RdmaWrite,
    /// An RDMA read of 64 bytes and its completion.
    RdmaRead,
    /// An RDMA write of 64 bytes, and a wait that finds its completion at once.
    WaitAtOnce,
    /// The type of the object behind a handle, which Rust knows without a call.
    HandleType,
    /// The state of an endpoint.
    EpStatus,
    /// A dequeue that finds nothing, of an adapter over shared memory that is connected. In C only.
    ShmEmptyDequeue,
    /// A receive and a send of 64 bytes over shared memory and the completions of both, with several
    /// messages in flight. In C only.
    ShmStream,
    /// A dequeue that finds nothing, of an adapter over TCP that is connected. In C only.
    TcpEmptyDequeue,
    /// A connection without a time-out: connect, accept, disconnect, and reset on both sides, with
    /// all events.
    ConnectEndless,
    /// The same with a time-out of ten seconds.
    ConnectTimed,
    /// The registration of a page of memory. In C, it is malloc'd memory, which is checked.
    LmrCreate,
    /// The system call of that check, alone.
    CheckFloor,
    /// The end of a registration.
    LmrFree,
    /// The membarrier system call, alone.
    FenceFloor,
    /// The creation of an endpoint.
    EpCreate,
    /// The end of an endpoint that was never connected.
    EpFree,
}

impl Operation {
    pub(crate) const ALL: [Self; 20] = [
        Self::EmptyDequeue,
        Self::SendCycle,
        Self::SendCycleAmong100,
        Self::SendCycleAmong10000,
        Self::RdmaWrite,
        Self::RdmaRead,
        Self::WaitAtOnce,
        Self::HandleType,
        Self::EpStatus,
        Self::ShmEmptyDequeue,
        Self::ShmStream,
        Self::TcpEmptyDequeue,
        Self::ConnectEndless,
        Self::ConnectTimed,
        Self::LmrCreate,
        Self::CheckFloor,
        Self::LmrFree,
        Self::FenceFloor,
        Self::EpCreate,
        Self::EpFree,
    ];

    /// The operations whose instructions are counted. With many endpoints the counts are the same
    /// as with two, and calls off the data path have no bound.
    pub(crate) fn counted() -> impl Iterator<Item = Self> {
        let counted = |it: &Self| !it.is_among_many() && *it <= Self::TcpEmptyDequeue;
        Self::ALL.into_iter().filter(counted)
    }

    /// Those that are timed: in Rust and in C.
    pub(crate) fn timed() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|it| it.is_in_rust())
    }

    /// Whether there is the same operation in Rust.
    pub(crate) const fn is_in_rust(self) -> bool {
        !matches!(self, Self::ShmEmptyDequeue | Self::ShmStream | Self::TcpEmptyDequeue)
    }

    /// How many times it runs under callgrind, and how many repetitions a run has. They make the extra work of the
    /// first less than one instruction of each. A poll of a link takes up to 20 % more instructions while the
    /// thread of the provider reads it, which takes turns with the caller because polls are slow under callgrind.
    /// So one of many short runs, the one that counts, has the link throughout.
    pub(crate) const fn counted_runs(self) -> (usize, u64) {
        if self.is_in_rust() { (1, 4000) } else { (40, 200) }
    }

    /// By how many percent a count may exceed the table, since compilers and systems differ slightly. On a busy
    /// machine the thread of the provider takes the lock of a link so often that the caller has it without bias in
    /// every run, which costs 8 %.
    pub(crate) const fn slack_percent(self) -> u64 {
        if self.is_in_rust() { 5 } else { 10 }
    }

    /// Whether it works on many endpoints, whose memory exceeds the caches.
    pub(crate) const fn is_among_many(self) -> bool {
        matches!(self, Self::SendCycleAmong100 | Self::SendCycleAmong10000)
    }

    /// The name of its function.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EmptyDequeue => "empty_dequeue",
            Self::SendCycle => "send_cycle",
            Self::SendCycleAmong100 => "send_cycle_among_100",
            Self::SendCycleAmong10000 => "send_cycle_among_10000",
            Self::RdmaWrite => "rdma_write",
            Self::RdmaRead => "rdma_read",
            Self::WaitAtOnce => "wait_at_once",
            Self::HandleType => "handle_type",
            Self::EpStatus => "ep_status",
            Self::ShmEmptyDequeue => "shm_empty_dequeue",
            Self::ShmStream => "shm_stream",
            Self::TcpEmptyDequeue => "tcp_empty_dequeue",
            Self::ConnectEndless => "connect_endless",
            Self::ConnectTimed => "connect_timed",
            Self::LmrCreate => "lmr_create",
            Self::CheckFloor => "check_floor",
            Self::LmrFree => "lmr_free",
            Self::FenceFloor => "fence_floor",
            Self::EpCreate => "ep_create",
            Self::EpFree => "ep_free",
        }
    }

    /// The calls that one operation consists of.
    pub(crate) const fn calls(self) -> &'static [&'static str] {
        match self {
            Self::EmptyDequeue | Self::ShmEmptyDequeue | Self::TcpEmptyDequeue => {
                &["dat_evd_dequeue"]
            }
            Self::SendCycle
            | Self::SendCycleAmong100
            | Self::SendCycleAmong10000
            | Self::ShmStream => {
                &["dat_ep_post_recv", "dat_ep_post_send", "dat_evd_dequeue", "dat_evd_dequeue"]
            }
            Self::RdmaWrite => &["dat_ep_post_rdma_write", "dat_evd_dequeue"],
            Self::RdmaRead => &["dat_ep_post_rdma_read", "dat_evd_dequeue"],
            Self::WaitAtOnce => &["dat_ep_post_rdma_write", "dat_evd_wait"],
            Self::HandleType => &["dat_get_handle_type"],
            Self::EpStatus => &["dat_ep_get_status"],
            Self::ConnectEndless | Self::ConnectTimed => &[
                "dat_ep_connect",
                "dat_evd_dequeue",
                "dat_cr_accept",
                "dat_evd_dequeue",
                "dat_evd_dequeue",
                "dat_ep_disconnect",
                "dat_evd_dequeue",
                "dat_evd_dequeue",
                "dat_ep_reset",
                "dat_ep_reset",
            ],
            Self::LmrCreate => &["dat_lmr_create"],
            Self::CheckFloor => &["madvise"],
            Self::LmrFree => &["dat_lmr_free"],
            Self::FenceFloor => &["membarrier"],
            Self::EpCreate => &["dat_ep_create"],
            Self::EpFree => &["dat_ep_free"],
        }
    }
}

/// When the untimed work of a round is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

impl When {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}
