//! The operations that `dat perf` measures.

use serde::Serialize;

/// The measured operation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Op {
    /// Sends into posted receives
    #[default]
    Send,
    /// RDMA writes
    Write,
    /// RDMA reads
    Read,
    /// RDMA writes that their target finds in memory: latency only
    #[serde(rename = "write_lat")]
    #[value(name = "write_lat")]
    WriteLat,
}

impl Op {
    /// All operations, in the order of the output; messages between processes have their numbers in it.
    pub(crate) const ALL: [Self; 4] = [Self::Send, Self::Write, Self::Read, Self::WriteLat];

    /// Returns true if its bandwidth is measured, too.
    pub(crate) fn has_bandwidth(self) -> bool {
        self != Self::WriteLat
    }

    /// The name in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Read => "read",
            Self::WriteLat => "write_lat",
        }
    }
}
