//! The output of the command: lines, colours, tables and the progress bar.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, TableComponent, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Standard output. If the reader closes the pipe, the rest is discarded; that is not an error.
#[derive(Debug)]
pub(crate) struct Output {
    error: Option<io::Error>,
}

/// The meaning of a text, which selects its style on a terminal with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// A skipped step.
    Quiet,
    /// A heading or a conclusion.
    Strong,
    /// Emphasis: a warning or a heading.
    Mark,
}

impl Paint {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Quiet => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Mark => AnsiColor::Yellow.on_default(),
        }
    }
}

impl Output {
    /// Standard output. Colours are removed unless it is a terminal and the user wants them.
    #[must_use]
    pub(crate) fn stdout() -> Self {
        Self { error: None }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        if self.error.is_none() {
            let mut stdout = anstream::stdout().lock();
            self.error = writeln!(stdout, "{text}").and_then(|()| stdout.flush()).err();
        }
    }

    /// Returns true unless a write has failed, for example because the reader has closed the pipe.
    pub(crate) fn is_open(&self) -> bool {
        self.error.is_none()
    }

    /// Prints bytes unchanged.
    pub(crate) fn file(&mut self, content: &[u8]) {
        if self.error.is_none() {
            let mut stdout = io::stdout().lock();
            self.error = stdout.write_all(content).and_then(|()| stdout.flush()).err();
        }
    }

    /// Prints a value as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.line(text),
            Err(error) => self.error = self.error.take().or(Some(error.into())),
        }
    }

    /// The text with the style of its meaning.
    pub(crate) fn paint(&self, paint: Paint, text: impl Display) -> String {
        let style = paint.style();
        format!("{style}{text}{style:#}")
    }

    /// The error that ended the output, unless the reader closed the pipe.
    ///
    /// # Errors
    /// The first failed write.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.error {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

/// Prints a message on standard error.
pub(crate) fn complain(text: &str) {
    // There is no other place to report a failure of this.
    let _ = writeln!(io::stderr(), "dat: {}", clean(text));
}

/// The text with control characters escaped, so that it cannot control the terminal.
#[must_use]
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            cleaned.extend(c.escape_default());
        } else {
            cleaned.push(c);
        }
    }
    cleaned
}

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// For text.
    Left,
    /// For figures.
    Right,
}

/// A table without borders.
#[derive(Debug)]
pub(crate) struct Table {
    table: comfy_table::Table,
    headed: bool,
}

impl Table {
    /// A table without rows. It has no heading if all titles are empty.
    #[must_use]
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).remove_style(TableComponent::HeaderLines);
        let headed = columns.iter().any(|(title, _)| !title.is_empty());
        let titles: Vec<&str> = columns.iter().map(|column| column.0).collect();
        if headed {
            table.set_header(titles);
        } else {
            // Creates the columns, so that they can be aligned.
            table.add_row(titles);
        }
        for (column, (_, align)) in table.column_iter_mut().zip(columns) {
            column.set_padding((0, 2));
            if *align == Align::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self { table, headed }
    }

    /// Adds a row with a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells.iter().map(|cell| clean(cell)));
    }

    /// Prints the heading and the rows, indented by `margin`.
    pub(crate) fn print(&self, margin: &str, output: &mut Output) {
        for (index, line) in self.table.lines().enumerate() {
            let line = format!("{margin}{}", line.trim_end());
            match (self.headed, index) {
                (true, 0) => output.line(output.paint(Paint::Strong, line)),
                // The row that created the columns.
                (false, 0) => {}
                _ => output.line(line),
            }
        }
    }
}

/// A progress bar on standard error, shown only on a terminal.
#[must_use]
pub(crate) fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos}/{len}  {msg}");
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
