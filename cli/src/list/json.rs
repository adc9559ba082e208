//! The entries of the registry as JSON.

use dat_core::registry::{Entry, EntryOrigin, EntryStatus};
use serde::Serialize;

use crate::error::CliError;

/// An entry as JSON.
#[derive(Serialize)]
pub(crate) struct Item {
    name: String,
    origin: Place,
    usable: bool,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CliError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syntax_error: Option<Syntax>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<Place>,
    provider: String,
    provider_version: Option<String>,
    api_version: Option<String>,
    thread_safe: bool,
    default: bool,
    parameters: String,
    platform_parameters: String,
    summary: String,
    line: Option<String>,
}

#[derive(Serialize)]
struct Place {
    found: bool,
    file: Option<String>,
    line: Option<usize>,
}

#[derive(Serialize)]
struct Syntax {
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
    text: String,
}

impl Place {
    fn new(origin: &EntryOrigin) -> Self {
        let shown = |file: &std::path::Path| Some(file.display().to_string());
        match origin {
            EntryOrigin::Line { file, line } => {
                Self { found: false, file: shown(file), line: Some(*line) }
            }
            EntryOrigin::File(file) => Self { found: false, file: shown(file), line: None },
            EntryOrigin::Discovered => Self { found: true, file: None, line: None },
            EntryOrigin::Registered => Self { found: false, file: None, line: None },
        }
    }
}

impl Item {
    /// The JSON form of an entry.
    pub(crate) fn new(entry: &Entry) -> Self {
        Self {
            name: entry.name.clone(),
            origin: Place::new(&entry.origin),
            usable: entry.status.is_usable(),
            status: match entry.status {
                EntryStatus::Usable => "usable",
                EntryStatus::Unusable(_) => "unusable",
                EntryStatus::Shadowed(_) => "shadowed",
            },
            error: entry.status.reason().cloned().map(CliError::from),
            syntax_error: entry.syntax_error.as_ref().map(|error| Syntax {
                line: error.line(),
                column: error.column(),
                message: error.message(),
                hint: error.hint().map(str::to_owned),
                text: error.text(),
            }),
            shadowed_by: match &entry.status {
                EntryStatus::Shadowed(earlier) => Some(Place::new(earlier)),
                _ => None,
            },
            provider: entry.library.clone(),
            provider_version: entry.provider_version.as_ref().map(ToString::to_string),
            api_version: entry.api_version.map(|version| version.to_string()),
            thread_safe: entry.thread_safe,
            default: entry.is_default,
            parameters: entry.parameters.clone(),
            platform_parameters: entry.platform_parameters.clone(),
            summary: entry.summary.clone(),
            line: entry.to_line().map(|line| line.to_string()),
        }
    }
}
