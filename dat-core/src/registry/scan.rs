//! Splits the bytes of one line into fields: blanks, quotes, comments and columns.

use std::borrow::Cow;

use super::syntax::SyntaxError;

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

    /// The text for an error message: quoted, and truncated if it is long.
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

/// Text for an error message: quoted, and truncated if it is long.
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
