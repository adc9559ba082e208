//! An open adapter with a connection to itself.

use std::time::Duration;

use dat_core::{Close, CompletionFlags, InterfaceAdapter, ProtectionZone};

use crate::fault::Fault;
use crate::providers;
use crate::session::Pair;

/// Operations that may be under way.
const DEPTH: u32 = 64;

/// What all measurements share.
#[derive(Debug)]
pub(super) struct Rig {
    pub(super) ia: InterfaceAdapter,
    pub(super) pz: ProtectionZone,
    pub(super) pair: Pair,
    /// RDMA reads that may be under way.
    pub(super) reads: u32,
    /// Of how many posted requests one makes a completion, where that is left open.
    pub(super) signal_every: u32,
}

impl Rig {
    /// Opens the adapter and connects two endpoints of it.
    pub(super) fn new(name: &str, patience: Duration) -> Result<Self, Fault> {
        let ia = providers::open(name)?;
        let pz = ia.pz_create()?;
        let mut pair = Pair::create(&ia, &pz, DEPTH, patience)?;
        pair.listen()?;
        pair.connect(&[], &[])?;
        let attributes = pair.active.ep.query()?.attributes;
        let reads = attributes.max_rdma_read_out.min(attributes.max_rdma_read_in);
        let suppress = CompletionFlags::SUPPRESS;
        let suppresses = ia.provider_attributes().completion_flags_supported.contains(suppress);
        let signal_every = if suppresses { (pair.depth / 2).clamp(1, 16) } else { 1 };
        Ok(Self { ia, pz, pair, reads, signal_every })
    }

    /// Disconnects and closes.
    pub(super) fn end(&self) -> Result<(), Fault> {
        self.pair.disconnect()?;
        Ok(self.ia.close(Close::Abrupt)?)
    }
}
