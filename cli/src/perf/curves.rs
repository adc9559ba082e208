//! A plot of latency and bandwidth by transfer size, as SVG.

use std::fmt::Write;

use super::svg::{FAINT, GREY, INK, sheet, text};
use crate::perf::Op;
use crate::perf::report::Report;
use crate::units;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 900.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 150.0;
const PANEL: f64 = 320.0;

/// The points of one curve.
struct Line {
    name: &'static str,
    colour: &'static str,
    dashed: bool,
    points: Vec<(f64, f64)>,
}

/// Maps values to positions in the plot. Both axes are logarithmic.
struct Axes {
    top: f64,
    low: (f64, f64),
    high: (f64, f64),
}

/// The plot.
pub(super) fn svg(report: &Report) -> String {
    let mut latency = Vec::new();
    let mut bandwidth = Vec::new();
    for (op, colour) in [
        (Op::Send, "#0072b2"),
        (Op::Write, "#d55e00"),
        (Op::Read, "#009e73"),
        (Op::WriteLat, "#cc79a7"),
    ] {
        let of_op = report.latency.iter().filter(|row| row.op == op);
        latency.push(line(op.name(), colour, of_op.map(|row| (row.size, row.p50_us))));
        let of_op = report.bandwidth.iter().filter(|row| row.op == op);
        bandwidth.push(line(op.name(), colour, of_op.map(|row| (row.size, row.gb_per_s))));
    }
    let mut copies: Vec<(u64, f64)> = Vec::new();
    for row in &report.bandwidth {
        // Measured once per operation: the best value is what the machine can do.
        match copies.last_mut() {
            Some(last) if last.0 == row.size => last.1 = last.1.max(row.memcpy_gb_per_s),
            _ => copies.push((row.size, row.memcpy_gb_per_s)),
        }
    }
    bandwidth.push(Line { dashed: true, ..line("memcpy", GREY, copies.into_iter()) });

    let title = format!("{} ({})", report.name, report.provider);
    let mut out = sheet(WIDTH, HEIGHT);
    text(&mut out, (LEFT, 34.0), 18, "start", &title);
    panel(&mut out, 86.0, "Latency, median, in microseconds", &latency);
    panel(&mut out, 506.0, "Bandwidth, in GB/s (1 GB = 10^9 bytes)", &bandwidth);
    out.push_str("</svg>\n");
    out
}

fn line(
    name: &'static str,
    colour: &'static str,
    points: impl Iterator<Item = (u64, f64)>,
) -> Line {
    let points = points.filter(|(_, value)| *value > 0.0).map(|(size, value)| (size as f64, value));
    Line { name, colour, dashed: false, points: points.collect() }
}

fn panel(out: &mut String, top: f64, title: &str, lines: &[Line]) {
    text(out, (LEFT, top - 16.0), 14, "start", title);
    let Some(axes) = Axes::around(top, lines) else {
        text(out, (LEFT, top + 30.0), 12, "start", "no measurements");
        return;
    };
    axes.draw(out, lines);
    let mut labels = Vec::new();
    for line in lines.iter().filter(|line| !line.points.is_empty()) {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|point| axes.place(*point))
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let dashes = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dashes}/>",
            points.join(" "),
            line.colour
        );
        for &point in line.points.iter().filter(|_| !line.dashed) {
            let (x, y) = axes.place(point);
            let colour = line.colour;
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some(&last) = line.points.last() {
            labels.push((axes.place(last).1, line));
        }
    }
    label(out, top, labels);
}

/// Labels the curves at their ends, one below the other if the ends are close.
fn label(out: &mut String, top: f64, mut labels: Vec<(f64, &Line)>) {
    const STEP: f64 = 17.0;
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    for index in 1..labels.len() {
        labels[index].0 = labels[index].0.max(labels[index - 1].0 + STEP);
    }
    let beyond = labels.last().map_or(0.0, |last| (last.0 - top - PANEL).max(0.0));
    let x = WIDTH - RIGHT + 14.0;
    for (y, line) in labels {
        let (y, colour) = (y - beyond, line.colour);
        let dashes = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {y:.1}h22\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
        );
        text(out, (x + 28.0, y + 4.5), 13, "start", line.name);
    }
}

impl Axes {
    /// Axes that fit all points; none if there are no points.
    fn around(top: f64, lines: &[Line]) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        points().next()?;
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values
                .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
        };
        let (left, right) = range(&mut points().map(|point| point.0));
        let (bottom, upper) = range(&mut points().map(|point| point.1));
        // A single size is centred.
        let (left, right) = if left < right { (left, right) } else { (left / 2.0, right * 2.0) };
        let decade = |value: f64| 10_f64.powf(value);
        let bottom = decade(bottom.log10().floor());
        let upper = decade(upper.log10().ceil()).max(bottom * 10.0);
        Some(Self { top, low: (left, bottom), high: (right, upper) })
    }

    /// A position in the plot.
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |value: f64, low: f64, high: f64| (value / low).ln() / (high / low).ln();
        let across = part(x, self.low.0, self.high.0) * (WIDTH - LEFT - RIGHT);
        let up = part(y, self.low.1, self.high.1) * PANEL;
        (LEFT + across, self.top + PANEL - up)
    }

    /// Lines and labels of both axes.
    fn draw(&self, out: &mut String, lines: &[Line]) {
        let (bottom, right) = (self.top + PANEL, WIDTH - RIGHT);
        let decades = (self.high.1 / self.low.1).log10().round() as i32;
        for decade in 0..=decades {
            let value = self.low.1 * 10_f64.powi(decade);
            let y = self.place((self.low.0, value)).1;
            let _ = writeln!(out, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"{FAINT}\"/>");
            text(out, (LEFT - 10.0, y + 4.0), 12, "end", &number(value));
        }
        let mut sizes: Vec<f64> =
            lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let mut free = f64::MIN;
        for size in sizes {
            let x = self.place((size, self.low.1)).0;
            let top = self.top;
            let _ = writeln!(out, "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{FAINT}\"/>");
            if x >= free {
                text(out, (x, bottom + 20.0), 12, "middle", &units::bytes(size as u64));
                free = x + 52.0;
            }
        }
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {:.1}V{bottom:.1}H{right}\" fill=\"none\" stroke=\"{INK}\"/>",
            self.top
        );
        text(out, ((LEFT + right) / 2.0, bottom + 42.0), 12, "middle", "transfer size");
    }
}

/// A power of ten as text.
fn number(value: f64) -> String {
    let decimals = (-value.log10().round()).max(0.0) as usize;
    format!("{value:.decimals$}")
}
