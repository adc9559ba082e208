//! Why a line can't be used, in words: one function a cause.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::calls::LISTING;
use super::entry::Origin;
use super::foreign::{Registration, safety};
use super::line::Line;
use super::scan::shown;
use super::suggest::nearest;
use super::syntax::SyntaxError;
use super::uses::Registered;
use super::version::{ApiVersion, LineVersion};
use crate::error::{Error, ReturnType, Subtype};

/// How many words an error lists before it says how many more there are.
const MOST_WORDS: usize = 16;

/// The beginning of an error that a listing shows for a place in a file.
pub(super) fn listed(place: impl fmt::Display) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered).during(LISTING).on(place)
}

/// A line that does not have the form.
pub(super) fn corrupt(file: &Path, error: &SyntaxError) -> Error {
    let place = format!("{}:{}:{}", file.display(), error.line(), error.column());
    let advice = error.hint().unwrap_or("correct the line; the others are not affected by it");
    listed(place).because(error.message()).advise(advice.to_owned())
}

/// A line for consumers in the kernel.
pub(super) fn kernel(origin: &Origin, line: &Line) -> Error {
    listed(origin)
        .because(format!("{} is for kernel consumers", line.api_version))
        .advise("the API version of a user-space line starts with u")
}

/// A line for consumers of another version.
pub(super) fn other_version(origin: &Origin, offered: LineVersion, asked: ApiVersion) -> Error {
    let subtype =
        if asked.accepts_major(offered) { Subtype::MinorNotFound } else { Subtype::MajorNotFound };
    listed(origin)
        .with_subtype(subtype)
        .because(format!("registered for {offered}, requested {asked}"))
}

/// A line whose library is no provider that was added.
pub(super) fn foreign(origin: &Origin, line: &Line, providers: &[Arc<Registered>]) -> Error {
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

/// A provider of C that was not made for threads, for a consumer that has some.
pub(super) fn unsafe_for_threads(origin: &Origin) -> Error {
    let (is, asked) = (safety(false), safety(true));
    listed(origin)
        .with_subtype(Subtype::ThreadSafetyNotFound)
        .because(format!("registered as {is}, requested {asked}"))
        .advise("open it as nonthreadsafe and use it from one thread at a time")
}

/// A name with IA parameters, for a library that gets its own once, when it is loaded.
pub(super) fn parameters_for_c(origin: &Origin, line: &Line) -> Error {
    listed(origin)
        .because(format!("{} does not accept parameters in the name", shown(&line.library)))
        .advise("remove the ? and what follows; put parameters into the dat.conf line")
}

/// A provider that registered itself with the C library, for a consumer of the Rust API.
pub(super) fn registered_for_c(registration: &Registration) -> Error {
    listed(Origin::Registered)
        .because(format!(
            "the {registration} is a C provider, which only the C library (libdat2) \
             opens"
        ))
        .advise("open it through libdat2")
}

/// Words with commas between, and a number in place of those that are too many.
pub(super) fn listing(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    if words.len() > MOST_WORDS {
        let more = words.len() - MOST_WORDS;
        words.truncate(MOST_WORDS);
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}
