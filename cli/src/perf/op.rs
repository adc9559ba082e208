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
}

impl Op {
    /// The name in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}
