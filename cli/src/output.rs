//! What is printed: colour where it is wanted, columns, and an end that no closed pipe disturbs.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// The standard output. A reader that went away is no error: the rest is not written.
#[derive(Debug)]
pub(crate) struct Output {
    colour: bool,
    error: Option<io::Error>,
}

/// What a piece of text is, for those who see colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// It works.
    Good,
    /// It doesn't.
    Bad,
    /// It was not tried.
    Quiet,
    /// A heading, or the point of it all.
    Strong,
    /// A place to look at.
    Mark,
}

impl Output {
    /// The standard output, in colour only for a terminal that has it and a user who wants it.
    pub(crate) fn stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_some_and(|value| value != "dumb");
        Self { colour: wanted && able && io::stdout().is_terminal(), error: None }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        if self.error.is_none() {
            let mut stdout = io::stdout().lock();
            self.error = writeln!(stdout, "{text}").and_then(|()| stdout.flush()).err();
        }
    }

    /// Prints a file as it is.
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

    /// The text in the colour of what it is.
    pub(crate) fn paint(&self, paint: Paint, text: impl Display) -> String {
        let code = match paint {
            Paint::Good => "32",
            Paint::Bad => "1;31",
            Paint::Quiet => "2",
            Paint::Strong => "1",
            Paint::Mark => "33",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// What went wrong with the output, if its reader would have wanted to read on.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.error {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

/// Says on the standard error what went wrong.
pub(crate) fn complain(text: &str) {
    // Nobody is left to tell when this fails.
    let _ = writeln!(io::stderr(), "dat: {}", clean(text));
}

/// Text of others with what could move the cursor made visible.
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

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// Rows of cells in columns as wide as they need to be.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| clean(cell)).collect());
    }

    /// Prints the heading and the rows, behind a margin.
    pub(crate) fn print(&self, margin: &str, output: &mut Output) {
        let heading: Vec<String> = self.columns.iter().map(|column| column.0.to_owned()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&heading]);
            cells.filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
        let text = |row: &[String]| {
            let mut line = margin.to_owned();
            for ((cell, width), (_, align)) in row.iter().zip(&widths).zip(&self.columns) {
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            line.trim_end().to_owned()
        };
        if heading.iter().any(|title| !title.is_empty()) {
            output.line(output.paint(Paint::Strong, text(&heading)));
        }
        for row in &self.rows {
            output.line(text(row));
        }
    }
}

/// A line on the standard error that shows how far things are, for a person who waits.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: usize,
    wanted: bool,
}

impl Progress {
    /// Shows something only on a terminal.
    pub(crate) fn new() -> Self {
        Self { shown: 0, wanted: io::stderr().is_terminal() }
    }

    /// Replaces what is shown.
    pub(crate) fn show(&mut self, text: &str) {
        if self.wanted {
            let width = self.shown;
            let _ = write!(io::stderr(), "\r{text:<width$}").and_then(|()| io::stderr().flush());
            self.shown = text.chars().count();
        }
    }

    /// Takes away what is shown.
    pub(crate) fn clear(&mut self) {
        if self.shown > 0 {
            self.show("");
            let _ = write!(io::stderr(), "\r");
            self.shown = 0;
        }
    }
}
