//! The operations that are measured.

use serde::Serialize;

/// An operation, by the name of its function in C and in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// A dequeue that finds nothing.
    EmptyDequeue,
    /// A receive and a send of 64 bytes, and the completions of both.
    SendCycle,
    /// The same on any two of 100 connected endpoints, in random order.
    #[serde(rename = "send_cycle_among_100")]
    SendCycleAmong100,
    /// On any two of 10,000.
    #[serde(rename = "send_cycle_among_10000")]
    SendCycleAmong10000,
    /// An RDMA write of 64 bytes and its completion.
    RdmaWrite,
    /// An RDMA read of 64 bytes and its completion.
    RdmaRead,
    /// What kind of object a handle stands for; Rust knows it without a call.
    HandleType,
    /// The state of an endpoint.
    EpStatus,
}

impl Operation {
    pub(crate) const ALL: [Self; 8] = [
        Self::EmptyDequeue,
        Self::SendCycle,
        Self::SendCycleAmong100,
        Self::SendCycleAmong10000,
        Self::RdmaWrite,
        Self::RdmaRead,
        Self::HandleType,
        Self::EpStatus,
    ];

    /// Those whose instructions are counted: of many endpoints they are those of two.
    pub(crate) fn counted() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|operation| !operation.is_among_many())
    }

    /// Whether it is one on many endpoints, whose memory fills caches.
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
            Self::HandleType => "handle_type",
            Self::EpStatus => "ep_status",
        }
    }

    /// The calls that one operation consists of.
    pub(crate) const fn calls(self) -> &'static [&'static str] {
        match self {
            Self::EmptyDequeue => &["dat_evd_dequeue"],
            Self::SendCycle | Self::SendCycleAmong100 | Self::SendCycleAmong10000 => {
                &["dat_ep_post_recv", "dat_ep_post_send", "dat_evd_dequeue", "dat_evd_dequeue"]
            }
            Self::RdmaWrite => &["dat_ep_post_rdma_write", "dat_evd_dequeue"],
            Self::RdmaRead => &["dat_ep_post_rdma_read", "dat_evd_dequeue"],
            Self::HandleType => &["dat_get_handle_type"],
            Self::EpStatus => &["dat_ep_get_status"],
        }
    }
}
