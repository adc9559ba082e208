//! The syntax of dat.conf: the fields of a line, syntax errors with their columns, and suggestions for misspelt words.

use std::borrow::Cow;
use std::fmt;

use strsim::osa_distance;

/// A field as written in the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    /// The column where it starts, including its quote, in bytes from 1.
    pub(super) column: usize,
    raw: &'a [u8],
    quoted: bool,
}

impl<'a> Field<'a> {
    /// The text of the field.
    ///
    /// # Errors
    /// The column of the first byte that is not UTF-8.
    pub(super) fn text(&self) -> Result<Cow<'a, str>, SyntaxError> {
        match std::str::from_utf8(self.raw) {
            Ok(raw) => Ok(self.unescaped(Cow::Borrowed(raw))),
            Err(error) => {
                let offset = error.valid_up_to();
                let column = self.column + usize::from(self.quoted) + offset;
                let found = format!("the byte {:#04x}", self.raw[offset]);
                Err(SyntaxError::at(column, "UTF-8 text", found))
            }
        }
    }

    /// The text of a field whose value does not matter: invalid UTF-8 is replaced.
    pub(super) fn lossy(&self) -> Cow<'a, str> {
        self.unescaped(String::from_utf8_lossy(self.raw))
    }

    /// Formats the text for an error message: quoted, and truncated if it is long.
    pub(super) fn shown(&self) -> String {
        shown(&self.lossy())
    }

    fn unescaped(&self, raw: Cow<'a, str>) -> Cow<'a, str> {
        if !self.quoted || !raw.contains('\\') {
            return raw;
        }
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw.chars().peekable();
        while let Some(c) = rest.next() {
            match (c, rest.peek()) {
                ('\\', Some(&escaped @ ('"' | '\\'))) => {
                    text.push(escaped);
                    rest.next();
                }
                _ => text.push(c),
            }
        }
        Cow::Owned(text)
    }
}

/// Formats text for an error message: quoted, and truncated if it is long.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Splits a line into fields, from left to right.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Creates a scanner of a line without its newline.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// The column of the next byte, from 1.
    pub(super) fn column(&self) -> usize {
        self.at + 1
    }

    /// The next field; `None` at the end of the line or at a comment.
    ///
    /// # Errors
    /// A carriage return, an unterminated quote, or text directly after a closing quote.
    pub(super) fn field(&mut self) -> Result<Option<Field<'a>>, SyntaxError> {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
        match self.peek() {
            None | Some(b'#') => Ok(None),
            Some(b'"') => self.quoted().map(Some),
            Some(_) => self.word().map(Some),
        }
    }

    fn word(&mut self) -> Result<Field<'a>, SyntaxError> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\r' => return Err(self.carriage_return()),
                byte if is_blank(byte) => break,
                _ => self.at += 1,
            }
        }
        let raw = &self.line[start..self.at];
        Ok(Field { column: start + 1, raw, quoted: false })
    }

    fn quoted(&mut self) -> Result<Field<'a>, SyntaxError> {
        let column = self.column();
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                None => {
                    let expected = "a closing quote for the quote that opens here";
                    return Err(SyntaxError::at(column, expected, "the end of the line")
                        .hinted("write \\\" for a quote that is part of the text"));
                }
                Some(b'\r') => return Err(self.carriage_return()),
                Some(b'"') => break,
                Some(b'\\') if matches!(self.line.get(self.at + 1), Some(b'"' | b'\\')) => {
                    self.at += 2;
                }
                Some(_) => self.at += 1,
            }
        }
        let raw = &self.line[start..self.at];
        self.at += 1;
        match self.peek() {
            Some(b'\r') => Err(self.carriage_return()),
            Some(byte) if !is_blank(byte) => {
                let after = Field { column, raw: &self.line[self.at..], quoted: false };
                let expected = "a blank or a tab after the closing quote";
                Err(SyntaxError::at(self.column(), expected, after.shown()))
            }
            _ => Ok(Field { column, raw, quoted: true }),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn carriage_return(&self) -> SyntaxError {
        SyntaxError::at(self.column(), "a line without a carriage return", "a carriage return")
            .hinted("convert the file to Unix line endings")
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A syntax error in a line of dat.conf; only that line is skipped.
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

    /// A correction of the line, if one can be guessed.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// A printable copy of the line: invalid UTF-8 and control characters are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        printable(&self.text)
    }

    /// The expected and the actual text, without the position.
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
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for SyntaxError {}

/// Makes text safe to print: a control character, except the tab, becomes its Unicode picture.
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

/// Returns the known word closest to `wanted`, if one is close enough to be a misspelling.
///
/// Case is ignored. A wrong, missing, extra or swapped letter costs one, and about a third of the
/// letters may be wrong. If no word is that close, the result is the shortest word that contains
/// `wanted` (`ofa-v2-ib0` for `ib0`). Of equally good words the first wins.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = wanted.to_lowercase();
    let letters = folded.chars().count();
    let limit = (letters / 3).clamp(1, 3).min(letters.saturating_sub(1));
    let mut near: Option<(usize, &str)> = None;
    let mut around: Option<&str> = None;
    for word in known {
        let other = word.to_lowercase();
        let cost = osa_distance(&folded, &other);
        if cost <= limit && near.is_none_or(|(best, _)| cost < best) {
            near = Some((cost, word));
        }
        let contains = letters >= 3 && other.contains(&folded);
        if contains && around.is_none_or(|best| word.len() < best.len()) {
            around = Some(word);
        }
    }
    near.map(|(_, word)| word).or(around)
}
