//! A case: one rule of the documents, proved on the adapter under test.

use std::panic::panic_any;

/// One rule, and the function that proves it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The rule, as `noun::rule`.
    pub name: &'static str,
    /// The manual page (3DAT) or the reading that states the rule.
    pub source: &'static str,
    /// Panics if the rule does not hold.
    pub run: fn(),
}

/// Why a case cannot run on the adapter: the panic payload of [`skip`].
#[derive(Clone, Debug)]
pub(crate) struct Skipped(pub(crate) String);

/// Ends the running case, because it cannot run on this adapter. Reports count and show it.
pub fn skip(reason: impl Into<String>) -> ! {
    panic_any(Skipped(reason.into()))
}

/// The cases of a module: names of functions, grouped by the source of their rule. A source names
/// the call that the cases below it prove; see `tests/documents/coverage.rs`.
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
