//! An open adapter with a connection between two of its endpoints.

use std::time::Duration;

use dat_core::{Close, CompletionFlags, Ia, Pz};

use crate::error::CliError;
use crate::session::Pair;

/// The maximum number of operations in flight.
const DEPTH: u32 = 64;

/// The objects that all measurements share.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) ia: Ia,
    pub(crate) pz: Pz,
    pub(crate) pair: Pair,
    /// The maximum number of RDMA reads in flight.
    pub(crate) reads: u32,
    /// One request in this number is signalled, where the measurement may choose.
    pub(crate) signal_every: u32,
}

impl Fixture {
    /// Connects two endpoints of an open adapter.
    pub(crate) fn new(ia: Ia, timeout: Duration) -> Result<Self, CliError> {
        let pz = ia.pz_create()?;
        let mut pair = Pair::create(&ia, &pz, DEPTH, timeout)?;
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
    pub(crate) fn end(&self) -> Result<(), CliError> {
        self.pair.disconnect()?;
        Ok(self.ia.close(Close::Abrupt)?)
    }
}
