//! The names of calls and constants in errors.
//!
//! The core and the providers write errors with the names of the manual pages, which are those of C.
//! Where an error is shown, the names become those of the program's language.

mod calls;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::flag_names;

/// The language whose names errors and flags show. Each process has one: [`Terms::Rust`], unless the
/// program changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// `Ep::connect`, `EvdFlags::DTO`.
    Rust,
    /// `dat_ep_connect`, `DAT_EVD_DTO_FLAG`, as in the manual pages.
    C,
}

/// The constants and parameters of C that an error may name, except the bits of flags, and what Rust has
/// instead.
const CONSTANTS: &[(&str, &str)] = &[
    ("DAT_CLOSE_ABRUPT_FLAG", "Close::Abrupt"),
    ("DAT_CLOSE_GRACEFUL_FLAG", "Close::Graceful"),
    ("DAT_TIMEOUT_INFINITE", "Timeout::Infinite"),
    ("DAT_PSP_CONSUMER_FLAG", "EpProvision::Consumer"),
    ("DAT_PSP_PROVIDER_FLAG", "EpProvision::Provider"),
    ("DAT_CONNECT_MULTIPATH_FLAG", "ConnectFlags::MULTIPATH"),
    ("DAT_MEM_PRIV_ALL_FLAG", "Privileges::ALL"),
    ("DAT_SERVICE_TYPE_RC", "EpAttributes::SERVICE_CONNECTION"),
    ("DAT_COMPLETION_DEFAULT_FLAG", "CompletionFlags::empty()"),
    ("DAT_MEM_PRIV_NONE_FLAG", "Privileges::empty()"),
    ("DAT_QOS_BEST_EFFORT", "Qos::BEST_EFFORT"),
    ("dup_ep_handle", "other"),
];

static IS_C: AtomicBool = AtomicBool::new(false);

impl Terms {
    /// The language of this process.
    #[must_use]
    pub fn current() -> Self {
        if IS_C.load(Ordering::Relaxed) { Self::C } else { Self::Rust }
    }

    /// Makes this the language of the process. A program that shows errors to users of the C
    /// libraries calls it before its first error.
    pub fn make_current(self) {
        IS_C.store(self == Self::C, Ordering::Relaxed);
    }

    /// The name in this language for a name in C; the same name if it has no other.
    #[must_use]
    pub fn name(self, in_c: &str) -> &str {
        let of = |table: &[(&'static str, &'static str)]| {
            table.iter().find(|(c, _)| *c == in_c).map(|(_, rust)| *rust)
        };
        match self {
            Self::C => in_c,
            Self::Rust => of(calls::CALLS)
                .or_else(|| of(CONSTANTS))
                .or_else(|| flag_names::TERMS.iter().find_map(|flags| of(flags)))
                .unwrap_or(in_c),
        }
    }

    /// A text with the names of this language.
    #[must_use]
    pub fn text(self, in_c: &str) -> Cow<'_, str> {
        if self == Self::C {
            return in_c.into();
        }
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let mut text = String::new();
        let mut rest = in_c;
        while let Some(start) = rest.find(is_part) {
            let (before, after) = rest.split_at(start);
            let end = after.find(|it| !is_part(it)).unwrap_or(after.len());
            let (word, next) = after.split_at(end);
            text.push_str(before);
            text.push_str(self.name(word));
            rest = next;
        }
        text.push_str(rest);
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_rust_and_other_words_stay() {
        let text = "call dat_ep_reset first, or use DAT_CLOSE_ABRUPT_FLAG; dat_xy \u{e9}";
        let rust = "call Ep::reset first, or use Close::Abrupt; dat_xy \u{e9}";
        assert_eq!(Terms::Rust.text(text), rust);
        assert_eq!(Terms::Rust.text(rust), rust, "twice is the same");
        assert_eq!(Terms::C.text(text), text);
        assert_eq!(Terms::Rust.text(""), "");
        assert_eq!(Terms::Rust.name("DAT_EVD_DTO_FLAG"), "EvdFlags::DTO");
    }

    #[test]
    fn a_name_has_one_translation() {
        let all: Vec<&str> = [calls::CALLS, CONSTANTS]
            .iter()
            .chain(flag_names::TERMS)
            .flat_map(|table| table.iter().map(|(c, _)| *c))
            .collect();
        for (index, name) in all.iter().enumerate() {
            assert!(!all[..index].contains(name), "{name} twice");
        }
    }
}
