//! The elements of a plot in SVG.

use std::fmt::Write;

pub(crate) const INK: &str = "#222222";
pub(crate) const FAINT: &str = "#dddddd";
pub(crate) const GREY: &str = "#777777";

/// The beginning of a plot with a white background; it ends with `</svg>`.
pub(crate) fn sheet(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         fill=\"{INK}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    )
}

/// Text at a position; `anchor` is the part of it that is placed there: start, middle or end.
pub(crate) fn text(out: &mut String, (x, y): (f64, f64), size: u32, anchor: &str, words: &str) {
    let mut escaped = String::new();
    for c in words.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{escaped}</text>"
    );
}
