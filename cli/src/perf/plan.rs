//! Selects the measurements that the limits of the adapter allow.

use serde::Serialize;

use super::Op;
use super::fixture::Fixture;
use crate::units;

/// The measurements to make and to skip.
#[derive(Debug)]
pub struct Plan {
    pub cells: Vec<(Op, u64)>,
    pub left_out: Vec<LeftOut>,
}

/// A measurement that the adapter does not support.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    pub op: Op,
    pub size: u64,
    pub reason: String,
}

impl Plan {
    /// Selects what the adapter supports, by ascending size.
    pub fn new(fixture: &Fixture, ops: &[Op], sizes: &[u64]) -> Self {
        let mut plan = Self { cells: Vec::new(), left_out: Vec::new() };
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        for &size in &sizes {
            for op in [Op::Send, Op::Write, Op::Read] {
                if !ops.contains(&op) {
                    continue;
                }
                match obstacle(fixture, op, size) {
                    None => plan.cells.push((op, size)),
                    Some(reason) => plan.left_out.push(LeftOut { op, size, reason }),
                }
            }
        }
        plan
    }
}

/// Why the adapter does not support it.
fn obstacle(fixture: &Fixture, op: Op, size: u64) -> Option<String> {
    let limits = fixture.ia.attributes();
    if op == Op::Read && fixture.reads == 0 {
        return Some("the endpoints cannot have an RDMA read outstanding".to_owned());
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
