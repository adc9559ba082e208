//! What to measure within the limits of the adapter.

use serde::Serialize;

use super::Op;
use super::rig::Rig;
use crate::units;

/// What is measured, and what is not.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) cells: Vec<(Op, u64)>,
    pub(super) left_out: Vec<LeftOut>,
}

/// What the adapter doesn't have.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LeftOut {
    pub(super) op: Op,
    pub(super) size: u64,
    pub(super) reason: String,
}

impl Plan {
    /// Sorts out what the adapter can do; sizes ascend.
    pub(super) fn new(rig: &Rig, ops: &[Op], sizes: &[u64]) -> Self {
        let mut plan = Self { cells: Vec::new(), left_out: Vec::new() };
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        for &size in &sizes {
            for op in [Op::Send, Op::Write, Op::Read] {
                if !ops.contains(&op) {
                    continue;
                }
                match obstacle(rig, op, size) {
                    None => plan.cells.push((op, size)),
                    Some(reason) => plan.left_out.push(LeftOut { op, size, reason }),
                }
            }
        }
        plan
    }
}

/// Why the adapter can't do it.
fn obstacle(rig: &Rig, op: Op, size: u64) -> Option<String> {
    let limits = rig.ia.attributes();
    if op == Op::Read && rig.reads == 0 {
        return Some("the endpoints can have no RDMA read outstanding".to_owned());
    }
    let (name, limit) = match op {
        Op::Send => ("max_message_size", limits.max_message_size),
        Op::Write | Op::Read => ("max_rdma_size", limits.max_rdma_size),
    };
    for (name, limit) in [(name, limit), ("max_lmr_block_size", limits.max_lmr_block_size / 2)] {
        if size > limit {
            return Some(format!("{name} is {}", units::bytes(limit)));
        }
    }
    None
}
