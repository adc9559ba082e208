//! The errors of lines that cannot be used: one function per cause.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::c_provider::{Registration, safety};
use super::entry::EntryOrigin;
use super::line::Line;
use super::provider_use::Registered;
use super::scan::shown;
use super::suggest::nearest;
use super::syntax::SyntaxError;
use super::version::{ApiVersion, LineVersion};
use crate::error::{Error, ReturnType, Subtype};

const LISTING: &str = "dat_registry_list_providers";

/// Maximum number of words in the list of an error; then it gives the number of the others.
const MOST_WORDS: usize = 16;

/// The start of an error that a listing shows for a position in a file.
pub(super) fn listed(place: impl fmt::Display) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered).during(LISTING).on(place)
}

/// A line with a syntax error.
pub(super) fn corrupt(file: &Path, error: &SyntaxError) -> Error {
    let place = format!("{}:{}:{}", file.display(), error.line(), error.column());
    let advice = error.hint().unwrap_or("correct the line; the others are not affected by it");
    listed(place).because(error.message()).advise(advice.to_owned())
}

/// A line for kernel consumers.
pub(super) fn kernel(origin: &EntryOrigin, line: &Line) -> Error {
    listed(origin)
        .because(format!("{} is for kernel consumers", line.api_version))
        .advise("the API version of a user-space line starts with u")
}

/// A line for consumers of another API version.
pub(super) fn other_version(
    origin: &EntryOrigin,
    offered: LineVersion,
    asked: ApiVersion,
) -> Error {
    let subtype =
        if asked.accepts_major(offered) { Subtype::MinorNotFound } else { Subtype::MajorNotFound };
    listed(origin)
        .with_subtype(subtype)
        .because(format!("registered for {offered}, requested {asked}"))
}

/// A line whose library is not a provider that was added.
pub(super) fn foreign(origin: &EntryOrigin, line: &Line, providers: &[Arc<Registered>]) -> Error {
    let library = shown(&line.library);
    let names = || providers.iter().map(|provider| provider.name());
    let advice = match nearest(&line.library, names()) {
        Some(name) => format!("did you mean the provider \"{name}\"?"),
        None if providers.is_empty() => "open it through libdat2".to_owned(),
        None => format!(
            "open it through libdat2, or name a provider as library: {}",
            listing(names().map(shown))
        ),
    };
    listed(origin)
        .because(format!(
            "{library} is not a built-in provider but a shared object, which only the C library \
             (libdat2) loads"
        ))
        .advise(advice)
}

/// A C provider that is not thread-safe, for a consumer that requires it.
pub(super) fn unsafe_for_threads(origin: &EntryOrigin) -> Error {
    let (is, asked) = (safety(false), safety(true));
    listed(origin)
        .with_subtype(Subtype::ThreadSafetyNotFound)
        .because(format!("registered as {is}, requested {asked}"))
        .advise("open it as nonthreadsafe and use it from one thread at a time")
}

/// A name with IA parameters, for a C library that gets its parameters once, when it is loaded.
pub(super) fn parameters_for_c(origin: &EntryOrigin, line: &Line) -> Error {
    listed(origin)
        .because(format!("{} does not accept parameters in the name", shown(&line.library)))
        .advise("remove the ? and what follows; put parameters into the dat.conf line")
}

/// A provider that registered itself with the C library, for a consumer of the Rust API.
pub(super) fn registered_for_c(registration: &Registration) -> Error {
    listed(EntryOrigin::Registered)
        .because(format!(
            "the {registration} is a C provider, which only the C library (libdat2) \
             opens"
        ))
        .advise("open it through libdat2")
}

/// A comma-separated list of words, with a number in place of those beyond the maximum.
pub(super) fn listing(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    if words.len() > MOST_WORDS {
        let more = words.len() - MOST_WORDS;
        words.truncate(MOST_WORDS);
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}
