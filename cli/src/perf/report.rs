//! The results, as text and as JSON.

use std::collections::BTreeMap;

use dat_core::attr::ProviderAttributes;
use serde::Serialize;

use super::Op;
use super::bandwidth::Bandwidth;
use super::latency::Latency;
use super::plan::{LeftOut, Plan};
use crate::output::{Align, Output, Paint, Table};
use crate::units;

/// All results of a run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) name: String,
    /// The listener, if it is another process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    pub(super) provider: String,
    pub(super) latency: Vec<Latency>,
    pub(super) bandwidth: Vec<Bandwidth>,
    left_out: Vec<LeftOut>,
    /// True if Ctrl-C ended the measurements before all were made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
    headline: Headline,
}

/// The two most important results.
#[derive(Debug, Default, Serialize)]
struct Headline {
    /// At 64 bytes, or the smallest size that was measured.
    latency_size: u64,
    /// The median of each operation.
    latency: BTreeMap<Op, Quick>,
    /// At a mebibyte, or the largest size that was measured.
    bandwidth_size: u64,
    bandwidth: BTreeMap<Op, Wide>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Quick {
    p50_us: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Wide {
    gb_per_s: f64,
    /// The ratio of the bandwidth to that of memcpy.
    ratio: Option<f64>,
}

const LATENCY_SIZE: u64 = 64;
const BANDWIDTH_SIZE: u64 = 1 << 20;

impl Report {
    /// A report without results.
    pub(super) fn new(name: &str, provider: &ProviderAttributes, plan: &Plan) -> Self {
        let (major, minor) = provider.provider_version;
        Self {
            name: name.to_owned(),
            host: None,
            provider: format!("{} {major}.{minor}", provider.provider_name),
            latency: Vec::new(),
            bandwidth: Vec::new(),
            left_out: plan.left_out.clone(),
            interrupted: false,
            headline: Headline::default(),
        }
    }

    /// The report with its headline.
    pub(super) fn concluded(mut self) -> Self {
        let sizes = || self.latency.iter().map(|row| row.size);
        let measured = |size| sizes().any(|other| other == size).then_some(size);
        let latency_size = measured(LATENCY_SIZE).or(sizes().min()).unwrap_or(0);
        let bandwidth_size = measured(BANDWIDTH_SIZE).or(sizes().max()).unwrap_or(0);
        let quick = self.latency.iter().filter(|row| row.size == latency_size);
        let wide = self.bandwidth.iter().filter(|row| row.size == bandwidth_size);
        self.headline = Headline {
            latency_size,
            latency: quick.map(|row| (row.op, Quick { p50_us: row.p50_us })).collect(),
            bandwidth_size,
            bandwidth: wide
                .map(|row| (row.op, Wide { gb_per_s: row.gb_per_s, ratio: row.ratio }))
                .collect(),
        };
        self
    }

    /// Prints the tables and the headline.
    pub(super) fn print(&self, output: &mut Output) {
        let to = self.host.as_ref().map(|host| format!(", to {host}")).unwrap_or_default();
        output.line(format!("{}: {}{to}", self.name, self.provider));
        output.line("");
        if self.latency.is_empty() {
            let why = if self.interrupted {
                "Interrupted before the first measurement."
            } else {
                "No size could be measured:"
            };
            output.line(why);
        } else {
            self.print_latency(output);
            if !self.bandwidth.is_empty() {
                output.line("");
                self.print_bandwidth(output);
            }
        }
        if !self.left_out.is_empty() {
            output.line("");
        }
        for left in &self.left_out {
            let (op, size) = (left.op.name(), units::bytes(left.size));
            output.line(format!("skipped: {op} of {size}, because {}", left.reason));
        }
        if !self.latency.is_empty() {
            output.line("");
            self.print_headline(output);
        }
    }

    fn print_latency(&self, output: &mut Output) {
        output.line(output.paint(Paint::Strong, "Latency in microseconds"));
        let mut table = Table::new(&[
            ("OP", Align::Left),
            ("SIZE", Align::Right),
            ("MIN", Align::Right),
            ("P50", Align::Right),
            ("P90", Align::Right),
            ("P99", Align::Right),
            ("MAX", Align::Right),
            ("BATCH", Align::Right),
            ("SAMPLES", Align::Right),
        ]);
        for row in &self.latency {
            let mut cells = vec![row.op.name().to_owned(), units::bytes(row.size)];
            let times = [row.min_us, row.p50_us, row.p90_us, row.p99_us, row.max_us];
            cells.extend(times.map(figures));
            cells.extend([row.batch.to_string(), row.samples.to_string()]);
            table.row(cells);
        }
        table.print("  ", output);
    }

    fn print_bandwidth(&self, output: &mut Output) {
        output.line(output.paint(Paint::Strong, "Bandwidth in GB/s"));
        let mut table = Table::new(&[
            ("OP", Align::Left),
            ("SIZE", Align::Right),
            ("WINDOW", Align::Right),
            ("GB/S", Align::Right),
            ("MEMCPY", Align::Right),
            ("RATIO", Align::Right),
        ]);
        for row in &self.bandwidth {
            table.row(vec![
                row.op.name().to_owned(),
                units::bytes(row.size),
                row.window.to_string(),
                figures(row.gb_per_s),
                figures(row.memcpy_gb_per_s),
                row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            ]);
        }
        table.print("  ", output);
        if self.bandwidth.iter().any(|row| row.ratio.is_none()) {
            output.line("  A ratio of - was not steady: other programs use the processors.");
        }
    }

    fn print_headline(&self, output: &mut Output) {
        let Headline { latency_size, latency, bandwidth_size, bandwidth } = &self.headline;
        let quick: Vec<String> = latency
            .iter()
            .map(|(op, quick)| format!("{} {} us", op.name(), figures(quick.p50_us)))
            .collect();
        let wide: Vec<String> = bandwidth
            .iter()
            .map(|(op, Wide { gb_per_s: rate, ratio })| {
                let ratio = ratio.map(|ratio| format!(" ({:.0} % of memcpy)", ratio * 100.0));
                format!("{} {} GB/s{}", op.name(), figures(*rate), ratio.unwrap_or_default())
            })
            .collect();
        let title = format!("{} latency:", units::bytes(*latency_size));
        output.line(format!("{} {}", output.paint(Paint::Strong, title), quick.join(", ")));
        if self.bandwidth.is_empty() {
            return;
        }
        let title = format!("{} bandwidth:", units::bytes(*bandwidth_size));
        output.line(format!("{} {}", output.paint(Paint::Strong, title), wide.join(", ")));
    }
}

/// A number with three digits, even if it is small.
fn figures(value: f64) -> String {
    if value > 0.0 && value < 1.0 {
        let zeros = (-value.log10()).floor().clamp(0.0, 6.0) as usize;
        return format!("{value:.*}", zeros + 3);
    }
    units::figures(value)
}
