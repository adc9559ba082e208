//! The parameters `monitor` and `counters` of an adapter.

use std::path::PathBuf;

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::registry::take_parameter;

/// The values of the parameters, before they are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MonitorChoice {
    monitor: Option<String>,
    counters: Option<String>,
}

/// Where readers see an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shown {
    /// In the page of its process.
    #[default]
    InPage,
    /// Nowhere.
    Nowhere,
    /// In the page, and in a file of metrics.
    InFile(PathBuf),
}

impl MonitorChoice {
    /// Extracts the choice from IA parameters; the rest goes to the provider.
    pub(crate) fn split(parameters: &str) -> (Self, String) {
        let (monitor, rest) = take_parameter(parameters, "monitor");
        let (counters, rest) = take_parameter(&rest, "counters");
        (Self { monitor, counters }, rest)
    }

    /// Where readers see the adapter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the value is neither a word nor the path of a file.
    pub(crate) fn shown(&self) -> Result<Shown> {
        match self.monitor.as_deref() {
            None => Ok(Shown::default()),
            Some(value) => match switch(value) {
                Some(true) => Ok(Shown::InPage),
                Some(false) => Ok(Shown::Nowhere),
                None if value.contains('/') => Ok(Shown::InFile(value.into())),
                None => Err(invalid(
                    format!("monitor={value} is neither yes or no nor the path of a file"),
                    "set monitor to yes (also on, true, 1), no (off, false, 0) or a path with a slash, such as ./FILE",
                )),
            },
        }
    }

    /// Returns true if the counters of all objects are started when the objects are created.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the value is not a word for yes or no.
    pub(crate) fn counts_all(&self) -> Result<bool> {
        let Some(value) = self.counters.as_deref() else { return Ok(false) };
        switch(value).ok_or_else(|| {
            let cause = format!("counters={value} is neither yes nor no");
            invalid(cause, "set counters to yes (also on, true, 1) or no (off, false, 0)")
        })
    }
}

/// IA parameters without `monitor` and `counters`, which providers do not know. A device that is [shown](super::show) passes
/// the rest to its provider.
#[doc(hidden)]
#[must_use]
pub fn without_choice(parameters: &str) -> String {
    MonitorChoice::split(parameters).1
}

/// A value that is a word for yes or no. An empty value is yes.
fn switch(value: &str) -> Option<bool> {
    match value {
        "" | "yes" | "on" | "true" | "1" => Some(true),
        "no" | "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

fn invalid(cause: String, advice: &'static str) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(cause).advise(advice)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn shown(parameters: &str) -> Result<Shown> {
        MonitorChoice::split(parameters).0.shown()
    }

    #[test]
    fn words_choose_and_other_values_without_a_slash_are_errors() {
        for word in ["yes", "on", "true", "1", ""] {
            assert_eq!(shown(&format!("monitor={word}")), Ok(Shown::InPage));
        }
        for word in ["no", "off", "false", "0"] {
            assert_eq!(shown(&format!("monitor={word}")), Ok(Shown::Nowhere));
        }
        assert_eq!(shown(""), Ok(Shown::InPage));
        for path in ["/run/x", "./off", "a/b"] {
            assert_eq!(shown(&format!("monitor={path}")), Ok(Shown::InFile(path.into())));
        }
        for wrong in ["Off", "none", "sizes", "-", "metrics.prom"] {
            let error = shown(&format!("monitor={wrong}")).expect_err(wrong).to_string();
            assert!(error.contains(wrong) && error.contains("yes") && error.contains("./FILE"));
        }
    }

    #[test]
    fn counters_are_a_choice_of_their_own_and_both_are_removed() {
        let (choice, rest) = MonitorChoice::split("a=1,counters=on,monitor=no,b=2");
        assert_eq!((choice.shown(), choice.counts_all()), (Ok(Shown::Nowhere), Ok(true)));
        assert_eq!(rest, "a=1,b=2");
        let counts_all = |parameters| MonitorChoice::split(parameters).0.counts_all();
        assert_eq!((counts_all("a=1"), counts_all("counters=off")), (Ok(false), Ok(false)));
        let error = counts_all("counters=/x").expect_err("not a word").to_string();
        assert!(error.contains("/x") && error.contains("yes"), "{error}");
    }
}
