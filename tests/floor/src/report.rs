//! The rows of the benchmark, as text and as JSON.

use serde::Serialize;

use super::bench::Samples;
use dat_cli::output::{Align, Output, Paint, Table};
use dat_cli::perf::fixture::Fixture;
use dat_cli::units;

/// The unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    /// Nanoseconds; lower is better.
    #[serde(rename = "ns")]
    Nanos,
    /// Millions per second; higher is better.
    #[serde(rename = "M/s")]
    Millions,
    /// Gigabytes per second; higher is better.
    #[serde(rename = "GB/s")]
    Gigabytes,
    /// Bytes; lower is better.
    #[serde(rename = "B")]
    Bytes,
}

impl Unit {
    fn is_rate(self) -> bool {
        matches!(self, Self::Millions | Self::Gigabytes)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Millions => "M/s",
            Self::Gigabytes => "GB/s",
            Self::Bytes => "B",
        }
    }
}

/// One result with its floor.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// A stable identifier for programs.
    key: &'static str,
    what: String,
    unit: Unit,
    median: f64,
    worst: f64,
    best: f64,
    floor: String,
    floor_median: f64,
    floor_worst: f64,
    floor_best: f64,
    /// The median divided by the floor's median.
    ratio: f64,
    /// The target for the ratio: a maximum or, for rates, a minimum.
    target: Option<f64>,
    reached: Option<bool>,
}

impl Row {
    /// A row from the samples of a measurement and of its floor.
    pub(super) fn new(
        key: &'static str,
        what: impl Into<String>,
        unit: Unit,
        rounds: &Samples,
        (floor, floor_rounds): (&str, &Samples),
        target: Option<f64>,
    ) -> Self {
        // The worst and the best round.
        let range = |rounds: &Samples| match unit.is_rate() {
            true => (rounds.least(), rounds.most()),
            false => (rounds.most(), rounds.least()),
        };
        let ((worst, best), (floor_worst, floor_best)) = (range(rounds), range(floor_rounds));
        let (median, floor_median) = (rounds.median(), floor_rounds.median());
        let ratio = median / floor_median;
        let reached =
            target.map(|target| if unit.is_rate() { ratio >= target } else { ratio <= target });
        Self {
            key,
            what: what.into(),
            unit,
            median,
            worst,
            best,
            floor: floor.to_owned(),
            floor_median,
            floor_worst,
            floor_best,
            ratio,
            target,
            reached,
        }
    }
}

/// What the bar chart needs.
impl Row {
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn unit(&self) -> &'static str {
        self.unit.name()
    }

    /// The medians of the row and of its floor.
    pub(super) fn medians(&self) -> (f64, f64) {
        (self.median, self.floor_median)
    }

    /// The cost as a multiple of the floor; higher is worse, for rates as well.
    pub(super) fn cost(&self) -> f64 {
        self.cost_of(self.ratio)
    }

    /// The target for the cost.
    pub(super) fn target_cost(&self) -> Option<f64> {
        self.target.map(|target| self.cost_of(target))
    }

    pub(super) fn reached(&self) -> Option<bool> {
        self.reached
    }

    fn cost_of(&self, ratio: f64) -> f64 {
        if self.unit.is_rate() { 1.0 / ratio } else { ratio }
    }
}

/// All rows of a run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    name: String,
    provider: String,
    /// How many processors this process may use.
    processors: usize,
    rows: Vec<Row>,
}

impl Report {
    pub(super) fn new(name: &str, fixture: &Fixture, rows: Vec<Row>) -> Self {
        let provider = fixture.ia.provider_attributes();
        let (major, minor) = provider.provider_version;
        Self {
            name: name.to_owned(),
            provider: format!("{} {major}.{minor}", provider.provider_name),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            rows,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Prints the table.
    pub(super) fn print(&self, output: &mut Output) {
        output.line(format!("{}: {}, {} processors", self.name, self.provider, self.processors));
        output.line("");
        let mut table = Table::new(&[
            ("WHAT", Align::Left),
            ("MEDIAN", Align::Right),
            ("", Align::Left),
            ("WORST", Align::Right),
            ("BEST", Align::Right),
            ("FLOOR", Align::Right),
            ("RATIO", Align::Right),
            ("TARGET", Align::Right),
            ("OF WHAT", Align::Left),
        ]);
        for row in &self.rows {
            let target = row.target.map_or(String::new(), |target| format!("{target:.2}"));
            table.row(vec![
                row.what.clone(),
                units::figures(row.median),
                row.unit.name().to_owned(),
                units::figures(row.worst),
                units::figures(row.best),
                units::figures(row.floor_median),
                format!("{:.2}", row.ratio),
                target,
                row.floor.clone(),
            ]);
        }
        table.print("  ", output);
        let judged = self.rows.iter().filter_map(|row| row.reached);
        let (reached, all) = (judged.clone().filter(|reached| *reached).count(), judged.count());
        output.line("");
        let line = format!("{reached} of {all} targets are reached");
        let paint = if reached == all { Paint::Good } else { Paint::Mark };
        output.line(output.paint(paint, line));
    }
}
