//! What is wrong with a line of dat.conf, and where.

use std::fmt;

/// A line of dat.conf that does not have the form; it is skipped, and only it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    line: usize,
    column: usize,
    expected: Box<str>,
    found: Box<str>,
    hint: Option<Box<str>>,
    name: Option<Box<str>>,
    text: Box<[u8]>,
}

impl SyntaxError {
    /// An error at a column, of a line that [`Self::of_line`] fills in.
    pub(super) fn at(
        column: usize,
        expected: impl Into<Box<str>>,
        found: impl Into<Box<str>>,
    ) -> Self {
        Self {
            line: 0,
            column,
            expected: expected.into(),
            found: found.into(),
            hint: None,
            name: None,
            text: Box::default(),
        }
    }

    /// Says what would make the line right.
    pub(super) fn hinted(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the line: its number, its bytes and the IA name where one was read.
    pub(super) fn of_line(mut self, number: usize, text: &[u8], name: Option<&str>) -> Self {
        self.line = number;
        self.text = text.into();
        self.name = name.map(Into::into);
        self
    }

    /// The number of the line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column of the line, in bytes from 1; one past the end where something is missing.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The IA name, where the first field could be read.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What would make the line right, where that can be guessed.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// A copy of the line for people: bytes that are no text, and controls, are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        printable(&self.text)
    }

    /// What was expected and what was found, without the place.
    #[must_use]
    pub fn message(&self) -> String {
        format!("expected {}, found {}", self.expected, self.found)
    }

    /// The line and, below it, a `^` under the column.
    ///
    /// ```
    /// use dat_core::registry::Line;
    ///
    /// let error = Line::parse(1, b"loopback 2.0 threadsafe").unwrap_err();
    /// assert_eq!(error.caret(), "loopback 2.0 threadsafe\n         ^");
    /// ```
    #[must_use]
    pub fn caret(&self) -> String {
        let before = &self.text[..self.text.len().min(self.column.saturating_sub(1))];
        let margin: String =
            printable(before).chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{margin}^", self.text())
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message())?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for SyntaxError {}

/// Bytes as text that moves no cursor: a control but the tab becomes its picture.
fn printable(bytes: &[u8]) -> String {
    let picture = |c: char| match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    String::from_utf8_lossy(bytes).chars().map(picture).collect()
}
