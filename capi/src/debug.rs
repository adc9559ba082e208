//! Debug output, which the environment enables.
//!
//! `DAT_DBG_TYPE` is the sum of the kinds to print, `DAT_DBG_DEST` the sum of the destinations;
//! decimal, octal or hexadecimal as in C. Without the first nothing is printed; without the second
//! the output goes to standard output.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long};
use std::os::unix::ffi::OsStringExt;

use dat_sync::Lazy;

use crate::self_map;

/// Kinds of lines.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Failed calls and operations, with the reason.
    Error = 0x01,
    /// The configuration: what is loaded for it, and what cannot be.
    Static = 0x04,
    /// Providers that are added and removed.
    Dynamic = 0x08,
    /// Calls to providers.
    Provider = 0x10,
    /// Calls of programs that open and close adapters.
    Consumer = 0x20,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Static => "configuration",
            Self::Dynamic => "providers",
            Self::Provider => "provider call",
            Self::Consumer => "program call",
        }
    }
}

const STDOUT: c_long = 0x1;
const SYSLOG: c_long = 0x2;

struct Settings {
    /// The requested kinds; none if there is no number.
    kinds: Option<c_long>,
    places: c_long,
}

static SETTINGS: Lazy<Settings> = Lazy::new(|| {
    let kinds = number("DAT_DBG_TYPE");
    let places = number("DAT_DBG_DEST").unwrap_or(STDOUT);
    for variable in ["DAT_DBG_TYPE", "DAT_DBG_DEST"] {
        if let Some(value) = std::env::var_os(variable).filter(|value| !is_number(value)) {
            let text = format!(
                "{variable}={value:?} is not a number; use a sum of the values in docs/c-providers.md"
            );
            print(STDOUT, &line(Kind::Error.word(), &text));
        }
    }
    Settings { kinds, places }
});

/// Returns true if a value begins with a number, as C reads it; an empty one is the same as none.
fn is_number(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    let digits = text.trim_start().trim_start_matches(['+', '-']);
    text.is_empty() || digits.starts_with(|it: char| it.is_ascii_digit())
}

fn number(variable: &str) -> Option<c_long> {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty() && is_number(value))?;
    let text = CString::new(value.into_vec()).ok()?;
    Some(parse(&text))
}

/// Parses a number as C does, with the base given by its prefix; 0 if it is not a number.
fn parse(text: &CStr) -> c_long {
    // SAFETY: the text is zero-terminated, and NULL means that the end of the number is not
    // returned.
    unsafe { libc::strtol(text.as_ptr(), std::ptr::null_mut(), 0) }
}

/// Prints a line if its kind is enabled.
#[inline]
pub(crate) fn say(kind: Kind, text: impl FnOnce() -> String) {
    let settings = &*SETTINGS;
    if settings.prints(kind) {
        print(settings.places, &line(kind.word(), &text()));
    }
}

impl Settings {
    fn prints(&self, kind: Kind) -> bool {
        self.kinds.unwrap_or(0) & kind as c_long != 0
    }
}

/// Prints a line on standard error, unless the user wants no output or gets all errors anyway.
pub(crate) fn hint(text: &str) {
    let settings = &*SETTINGS;
    if settings.kinds != Some(0) && !settings.prints(Kind::Error) {
        write_line(libc::STDERR_FILENO, &line("hint", text));
    }
}

/// Formats the text as one line.
fn line(word: &str, text: &str) -> String {
    let text = text.replace(|c: char| c.is_control(), " ");
    format!("DAT {word}: {text}")
}

fn print(places: c_long, line: &str) {
    if places & STDOUT != 0 {
        write_line(libc::STDOUT_FILENO, line);
    }
    if places & SYSLOG != 0 {
        let Ok(line) = CString::new(line) else { return };
        const FORMAT: *const c_char = c"%s".as_ptr();
        // SAFETY: the format has one `%s`, which matches the one string argument.
        unsafe { libc::syslog(libc::LOG_USER | libc::LOG_DEBUG, FORMAT, line.as_ptr()) };
    }
}

/// Writes a line. One write, so that lines of several threads do not mix. A line that cannot be
/// written is lost, because there is no other way to report it.
fn write_line(fd: c_int, line: &str) {
    let line = format!("{line}\n");
    dat_sync::without_signals(|| {
        // SAFETY: the buffer has `line.len()` readable bytes.
        let _ = unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
    });
}

/// Sends panic messages, which no call lets through, to the debug output and not to standard error.
/// Only if this library has its own copy of the standard library: that of a Rust program belongs to
/// the program.
pub(crate) fn take_panics() {
    if !cfg!(test) && self_map::is_shared_object() {
        std::panic::set_hook(Box::new(|panic| say(Kind::Error, || panic.to_string())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_in_c() {
        for (text, value) in [
            (c"0xff", 255),
            (c"12", 12),
            (c"010", 8),
            (c" 3 4", 3),
            (c"-1", -1),
            (c"all", 0),
            (c"", 0),
        ] {
            assert_eq!(parse(text), value, "{text:?}");
        }
    }

    #[test]
    fn a_word_is_not_a_number() {
        for text in ["1", "0xff", " 3", "-1", "", "12 34"] {
            assert!(is_number(OsStr::new(text)), "{text:?}");
        }
        for text in ["abc", "x1", " ", "all"] {
            assert!(!is_number(OsStr::new(text)), "{text:?}");
        }
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line("error", "two\nlines\u{1b}[1m"), "DAT error: two lines [1m");
    }
}
