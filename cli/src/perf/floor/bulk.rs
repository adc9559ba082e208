//! Rows of transfers so large that the copy is most of them.

use super::super::Op;
use super::super::lane::Lane;
use super::super::memcpy::Copier;
use super::super::rig::Rig;
use super::super::{bandwidth, plan::Plan};
use super::{Bench, Row, Unit};
use crate::fault::Fault;
use crate::units;

/// Sizes and the part of a copy's bandwidth that is wanted.
const SIZES: [(u64, f64); 3] = [(4 << 10, 0.50), (64 << 10, 0.95), (1 << 20, 0.98)];

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), Fault> {
    let rig = Rig::new(bench.name, bench.patience)?;
    let sizes = SIZES.map(|(size, _)| size);
    let plan = Plan::new(&rig, &[Op::Send, Op::Write, Op::Read], &sizes);
    for (op, size) in plan.cells {
        let lane = Lane::there(&rig, op, size)?;
        let mut copier = Copier::new(lane.size, lane.stride, lane.places);
        let (rate, floor) = bench.both(
            || Ok(bandwidth::round(&lane, bench.round)? / 1e9),
            || Ok(copier.round(bench.round / 2) / 1e9),
        )?;
        let key = match op {
            Op::Send => "bulk_send",
            Op::Write => "bulk_write",
            Op::Read => "bulk_read",
        };
        let target = SIZES.iter().find(|row| row.0 == size).map(|row| row.1);
        let what = format!("{} of {}", op.name(), units::bytes(size));
        rows.push(Row::new(key, what, Unit::Gigabytes, &rate, ("memcpy", &floor), target));
    }
    rig.end()
}
