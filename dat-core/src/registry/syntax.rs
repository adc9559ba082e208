//! What is wrong with a line of dat.conf, and where.

/// A syntax error in a line of dat.conf; only that line is skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}{}", suffix(.hint))]
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
    /// An error at a column; [`Self::of_line`] adds the line.
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

    /// Adds a hint how to correct the line.
    pub(super) fn hinted(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the line: its number, its bytes, and the IA name if it could be read.
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

    /// The column in the line, in bytes from 1; one past the end if something is missing.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The IA name, if the first field could be read.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// How to correct the line, if that can be guessed.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// A printable copy of the line: invalid UTF-8 and control characters are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        printable(&self.text)
    }

    /// What was expected and what was found, without the position.
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

/// The hint as the end of the message.
fn suffix(hint: &Option<Box<str>>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"))
}

/// Text that moves no cursor: a control character, except the tab, becomes its Unicode picture.
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
