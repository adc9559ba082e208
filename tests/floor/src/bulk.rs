//! Rows of large transfers, whose time is mostly the copy.

use super::bench::Bench;
use super::report::{Row, Unit};
use dat_cli::error::CliError;
use dat_cli::perf::Op;
use dat_cli::perf::buffers::Buffers;
use dat_cli::perf::fixture::Fixture;
use dat_cli::perf::memcpy::Copier;
use dat_cli::perf::{bandwidth, plan::Plan};
use dat_cli::units;

/// Sizes, and the target as a fraction of the bandwidth of a copy.
const SIZES: [(u64, f64); 3] = [(4 << 10, 0.50), (64 << 10, 0.95), (1 << 20, 0.98)];

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let sizes = SIZES.map(|(size, _)| size);
    let plan = Plan::new(&fixture, &[Op::Send, Op::Write, Op::Read], &sizes);
    for (op, size) in plan.cells {
        let buffers = Buffers::there(&fixture, op, size)?;
        let mut copier = Copier::new(buffers.size, buffers.stride, buffers.slots);
        let (rate, floor) = bench.both(
            || Ok(bandwidth::round(&buffers, bench.round)? / 1e9),
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
    fixture.end()
}
