//! The operations whose instructions are counted.

/// An operation, named after its function in C and in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A dequeue that finds nothing.
    EmptyDequeue,
    /// A receive and a send of 64 bytes, and the completions of both.
    SendCycle,
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
    /// A connect, its accept, a disconnect, the reset of both endpoints, and the five events. In C only.
    ConnectCycle,
    /// A dequeue that finds nothing, of an adapter over shared memory that is connected. In C only.
    ShmEmptyDequeue,
    /// A receive and a send of 64 bytes over shared memory and the completions of both, with several
    /// messages in flight. In C only.
    ShmStream,
    /// A dequeue that finds nothing, of an adapter over TCP that is connected. In C only.
    TcpEmptyDequeue,
}

impl Operation {
    pub(crate) const ALL: [Self; 11] = [
        Self::EmptyDequeue,
        Self::SendCycle,
        Self::RdmaWrite,
        Self::RdmaRead,
        Self::WaitAtOnce,
        Self::HandleType,
        Self::EpStatus,
        Self::ConnectCycle,
        Self::ShmEmptyDequeue,
        Self::ShmStream,
        Self::TcpEmptyDequeue,
    ];

    /// Returns true if there is the same operation in Rust.
    pub(crate) const fn is_in_rust(self) -> bool {
        !matches!(self, Self::ConnectCycle) && !self.has_link()
    }

    /// Returns true if the thread of the provider reads a link meanwhile.
    const fn has_link(self) -> bool {
        matches!(self, Self::ShmEmptyDequeue | Self::ShmStream | Self::TcpEmptyDequeue)
    }

    /// How many times it runs under callgrind, and how many repetitions a run has. They make the extra work of the
    /// first less than one instruction of each. A poll of a link takes up to 20 % more instructions while the
    /// thread of the provider reads it, which takes turns with the caller because polls are slow under callgrind.
    /// So one of many short runs, the one that counts, has the link throughout.
    pub(crate) const fn counted_runs(self) -> (usize, u64) {
        if self.has_link() { (40, 200) } else { (1, 4000) }
    }

    /// By how many percent a count may exceed the table, since compilers and systems differ slightly. On a busy
    /// machine the thread of the provider takes the lock of a link so often that the caller has it without bias in
    /// every run, which costs 8 %.
    pub(crate) const fn slack_percent(self) -> u64 {
        if self.has_link() { 10 } else { 5 }
    }

    /// The name of its function.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EmptyDequeue => "empty_dequeue",
            Self::SendCycle => "send_cycle",
            Self::RdmaWrite => "rdma_write",
            Self::RdmaRead => "rdma_read",
            Self::WaitAtOnce => "wait_at_once",
            Self::HandleType => "handle_type",
            Self::EpStatus => "ep_status",
            Self::ConnectCycle => "connect_cycle",
            Self::ShmEmptyDequeue => "shm_empty_dequeue",
            Self::ShmStream => "shm_stream",
            Self::TcpEmptyDequeue => "tcp_empty_dequeue",
        }
    }

    /// The calls that one operation consists of.
    pub(crate) const fn calls(self) -> &'static [&'static str] {
        match self {
            Self::EmptyDequeue | Self::ShmEmptyDequeue | Self::TcpEmptyDequeue => {
                &["dat_evd_dequeue"]
            }
            Self::SendCycle | Self::ShmStream => {
                &["dat_ep_post_recv", "dat_ep_post_send", "dat_evd_dequeue", "dat_evd_dequeue"]
            }
            Self::RdmaWrite => &["dat_ep_post_rdma_write", "dat_evd_dequeue"],
            Self::RdmaRead => &["dat_ep_post_rdma_read", "dat_evd_dequeue"],
            Self::WaitAtOnce => &["dat_ep_post_rdma_write", "dat_evd_wait"],
            Self::HandleType => &["dat_get_handle_type"],
            Self::EpStatus => &["dat_ep_get_status"],
            Self::ConnectCycle => &[
                "dat_ep_connect",
                "dat_cr_accept",
                "dat_ep_disconnect",
                "dat_ep_reset",
                "dat_evd_wait",
            ],
        }
    }
}
