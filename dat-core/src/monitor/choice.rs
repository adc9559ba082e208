//! The parameter `monitor` of an adapter.

use std::path::PathBuf;

use crate::registry::own_parameter;

/// Whether an adapter is visible to readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum MonitorChoice {
    /// It is in the page of its process.
    #[default]
    Page,
    /// It is not.
    No,
    /// It is in the page, and in a file of metrics.
    File(PathBuf),
}

impl MonitorChoice {
    /// The key of the parameter.
    const PARAMETER: &'static str = "monitor";

    /// Extracts the choice from IA parameters; the rest goes to the provider.
    pub(crate) fn split(parameters: &str) -> (Self, String) {
        let (value, rest) = own_parameter::take(parameters, Self::PARAMETER);
        (value.as_deref().map_or_else(Self::default, Self::from_value), rest)
    }

    /// The choice with a value.
    fn from_value(value: &str) -> Self {
        match value {
            "no" => Self::No,
            "" | "yes" => Self::Page,
            file => Self::File(file.into()),
        }
    }
}
