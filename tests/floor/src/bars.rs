//! A bar chart of the results as multiples of the floor.

use std::fmt::Write;

use crate::report::{Report, Row};
use dat_cli::perf::svg::{FAINT, INK, sheet, text};
use dat_cli::units;

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 400.0;
const RIGHT: f64 = 230.0;
const TOP: f64 = 96.0;
const STEP: f64 = 24.0;
const BAR: f64 = 13.0;

const REACHED: &str = "#0072b2";
const MISSED: &str = "#d55e00";

/// Multiples of the floor, on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

/// The plotting area.
pub(super) fn svg(report: &Report) -> String {
    let rows = report.rows();
    let axis = Axis::around(rows);
    let bottom = TOP + STEP * rows.len() as f64;
    let mut out = sheet(WIDTH, bottom + 40.0);
    let title = format!("{} ({})", report.name(), report.provider());
    text(&mut out, (20.0, 34.0), 18, "start", &title);
    let legend = "Times what the machine itself needs; shorter is better. The mark is the target.";
    text(&mut out, (20.0, 58.0), 13, "start", legend);
    axis.draw(&mut out, bottom);
    for (index, row) in rows.iter().enumerate() {
        draw(&mut out, &axis, row, TOP + STEP * index as f64);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, axis: &Axis, row: &Row, top: f64) {
    let (base, end) = (axis.place(1.0), axis.place(row.cost()));
    let (x, width) = (base.min(end), (base - end).abs().max(1.0));
    let colour = if row.reached() == Some(false) { MISSED } else { REACHED };
    let (y, words) = (top + (STEP - BAR) / 2.0, top + STEP / 2.0 + 4.5);
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
    );
    if let Some(target) = row.target_cost() {
        let (x, y, height) = (axis.place(target), y - 3.0, BAR + 6.0);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {y:.1}v{height}\" stroke=\"{INK}\" stroke-width=\"2\"/>"
        );
    }
    text(out, (LEFT - 12.0, words), 13, "end", row.what());
    let (value, floor) = row.medians();
    let figures =
        format!("{} {}, floor {}", units::figures(value), row.unit(), units::figures(floor));
    text(out, (WIDTH - RIGHT + 14.0, words), 13, "start", &figures);
}

impl Axis {
    /// An axis in powers of two that covers all rows and their targets.
    fn around(rows: &[Row]) -> Self {
        let costs = || rows.iter().flat_map(|row| [Some(row.cost()), row.target_cost()]).flatten();
        let sound = || costs().filter(|cost| cost.is_finite() && *cost > 0.0);
        let (low, high) =
            sound().fold((0.5_f64, 2.0_f64), |(low, high), cost| (low.min(cost), high.max(cost)));
        Self { low: low.log2().floor().exp2(), high: high.log2().ceil().exp2() }
    }

    /// The horizontal position of a multiple. Invalid values go to the low end.
    fn place(&self, cost: f64) -> f64 {
        let part = (cost / self.low).ln() / (self.high / self.low).ln();
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    /// Grid lines with labels, at powers of two.
    fn draw(&self, out: &mut String, bottom: f64) {
        let powers = (self.high / self.low).log2().round() as i32;
        for power in 0..=powers {
            let value = self.low * f64::from(power).exp2();
            let x = self.place(value);
            let colour = if value == 1.0 { INK } else { FAINT };
            let _ = writeln!(out, "<path d=\"M{x:.1} {TOP}V{bottom:.1}\" stroke=\"{colour}\"/>");
            text(out, (x, TOP - 8.0), 12, "middle", &format!("{value}"));
        }
    }
}
