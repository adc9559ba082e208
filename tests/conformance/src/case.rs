//! A case: one rule of the documents, tried on the adapter under test.

use std::panic::panic_any;

/// One rule, and what tries it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The rule, as `noun::rule`.
    pub name: &'static str,
    /// The manual page or the reading that the rule stands in.
    pub source: &'static str,
    /// Tries it; panics when it does not hold.
    pub run: fn(),
}

/// Why a case can't be tried on the adapter; what [`skip`] throws.
#[derive(Clone, Debug)]
pub(crate) struct Skipped(pub(crate) String);

/// Ends the running case: it can't be tried on this adapter. It is counted and shown.
pub fn skip(reason: impl Into<String>) -> ! {
    panic_any(Skipped(reason.into()))
}

/// The cases of a module: functions by name, grouped by the source of their rule.
macro_rules! cases {
    ($($source:literal: $($case:ident),+ $(,)?;)+) => {
        /// The cases of this noun.
        pub(crate) const CASES: &[$crate::Case] = &[$($(
            $crate::Case {
                name: concat!(module_path!(), "::", stringify!($case)),
                source: $source,
                run: $case,
            },
        )+)+];
    };
}
pub(crate) use cases;

impl Case {
    /// The name without the path of the crate: `noun::rule`.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit_once("cases::").map_or(self.name, |(_, name)| name)
    }
}
