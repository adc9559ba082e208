//! Selects the measurements that the limits of the adapter allow.

use dat_core::Ia;
use serde::Serialize;

use super::Op;
use super::fixture::Fixture;
use crate::units;

/// The measurements to make and to skip.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) cells: Vec<(Op, u64)>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A measurement that the adapter does not support.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LeftOut {
    pub(crate) op: Op,
    pub(crate) size: u64,
    pub(crate) reason: String,
}

/// The limits that decide, in bytes but for the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest message.
    pub(crate) message: u64,
    /// The longest RDMA write or read.
    pub(crate) rdma: u64,
    /// The longest memory region.
    pub(crate) region: u64,
    /// The number of RDMA reads that a connection can have outstanding.
    pub(crate) reads: u64,
}

impl Limits {
    /// The limits of an adapter.
    pub(crate) fn of(ia: &Ia) -> Self {
        let (limits, ep) = (ia.attributes(), ia.default_ep_attributes());
        Self {
            message: limits.max_message_size,
            rdma: limits.max_rdma_size,
            region: limits.max_lmr_block_size,
            reads: ep.max_rdma_read_out.min(ep.max_rdma_read_in).into(),
        }
    }

    /// The common abilities of two adapters.
    pub(crate) fn common(&self, other: &Self) -> Self {
        Self {
            message: self.message.min(other.message),
            rdma: self.rdma.min(other.rdma),
            region: self.region.min(other.region),
            reads: self.reads.min(other.reads),
        }
    }
}

impl Plan {
    /// Selects what the adapter supports, by ascending size.
    pub(crate) fn new(fixture: &Fixture, ops: &[Op], sizes: &[u64]) -> Self {
        let limits = Limits { reads: fixture.reads.into(), ..Limits::of(&fixture.ia) };
        Self::within(&limits, ops, sizes)
    }

    /// Selects what the limits allow, by ascending size.
    pub(crate) fn within(limits: &Limits, ops: &[Op], sizes: &[u64]) -> Self {
        let mut plan = Self { cells: Vec::new(), left_out: Vec::new() };
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        for &size in &sizes {
            for op in Op::ALL {
                if !ops.contains(&op) {
                    continue;
                }
                match obstacle(limits, op, size) {
                    None => plan.cells.push((op, size)),
                    Some(reason) => plan.left_out.push(LeftOut { op, size, reason }),
                }
            }
        }
        plan
    }
}

/// Why the adapter does not support it.
fn obstacle(limits: &Limits, op: Op, size: u64) -> Option<String> {
    if op == Op::Read && limits.reads == 0 {
        return Some("the endpoints cannot have an RDMA read outstanding".to_owned());
    }
    let (name, limit) = match op {
        Op::Send => ("max_message_size", limits.message),
        Op::Write | Op::Read | Op::WriteLat => ("max_rdma_size", limits.rdma),
    };
    for (name, limit) in [(name, limit), ("max_lmr_block_size", limits.region / 2)] {
        if size > limit {
            return Some(format!("{name} is {}", units::bytes(limit)));
        }
    }
    None
}
