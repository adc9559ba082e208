//! Decorators: tracing, and decorators around decorators.

mod stacks;
mod trace;

/// Number of lines that contain a text.
fn seen(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}
