//! The errors of unreadable files, and of lines and names that cannot be opened: one function per cause.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use super::catalog::{Match, Opener, RequestedName};
use super::entry::{ConfigItem, Entry, EntryOrigin, OVERRIDE};
use super::line::{ApiVersion, ConsumerSpace, Line, LineVersion, MAX_NAME};
use super::providers::{Registered, Registration, safety};
use super::syntax::{SyntaxError, nearest, shown};
use crate::error::{Error, ReturnType, Subtype};

const LISTING: &str = "dat_registry_list_providers";

/// Maximum number of words that an error lists; it counts the others.
const MOST_WORDS: usize = 16;

/// The start of an error for a position in a file, for the listing.
pub(super) fn listed(place: impl fmt::Display) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered).during(LISTING).on(place)
}

/// An empty `DAT_OVERRIDE`.
pub(super) fn empty_override() -> Error {
    listed(OVERRIDE)
        .because("the variable is empty, so no configuration file is read")
        .advise("unset it to read /etc/dat.conf, or set it to a file")
}

/// A file or folder that cannot be read.
pub(super) fn unreadable(file: &Path, overriding: bool, error: &io::Error) -> ConfigItem {
    let file: Arc<Path> = file.into();
    let (what, advice) = if overriding {
        ("cannot read the file that DAT_OVERRIDE names", "correct or unset DAT_OVERRIDE")
    } else {
        ("cannot read the configuration file", "make it readable, or remove it")
    };
    let reason = listed(file.display()).advise(advice);
    let reason = match error.raw_os_error() {
        Some(errno) => reason.because(what).errno(errno),
        None => reason.because(format!("{what}: {error}")),
    };
    ConfigItem::File { file, reason }
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

/// A line whose library is not a registered provider.
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

/// A C provider that is not thread-safe, for a consumer that requires thread safety.
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

/// A comma-separated list of words, which counts those beyond the maximum.
pub(super) fn listing(words: impl IntoIterator<Item = String>) -> String {
    let mut words: Vec<String> = words.into_iter().collect();
    if words.len() > MOST_WORDS {
        let more = words.len() - MOST_WORDS;
        words.truncate(MOST_WORDS);
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// The call that these errors name.
pub(super) const OPEN: &str = "dat_ia_open";

/// The error of a name that no look-up can find.
pub(super) fn bad_name(asked: RequestedName<'_>) -> Option<Error> {
    let error = bad_length(asked.name)?;
    Some(named(error, asked).advise("`dat list` shows the names that can be opened"))
}

/// The error of a name with an impossible length.
pub(super) fn bad_length(name: &str) -> Option<Error> {
    let reason = match name.len() {
        0 => "the name is empty".to_owned(),
        length if length > MAX_NAME => {
            format!("the name has {length} bytes; the maximum is {MAX_NAME}")
        }
        _ => return None,
    };
    Some(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason))
}

/// The error of a name with no usable entry.
pub(super) fn nothing_usable(
    asked: RequestedName<'_>,
    version: ApiVersion,
    found: &[Match],
) -> Error {
    let of_name = |found: &'_ &Match| found.entry.name == asked.name;
    let (corrupt, readable): (Vec<&Entry>, Vec<&Entry>) = found
        .iter()
        .filter(of_name)
        .map(|found| &found.entry)
        .partition(|entry| entry.syntax_error.is_some());
    let error = match (readable.as_slice(), corrupt.as_slice()) {
        ([], []) => unknown(asked, found),
        ([], corrupt) => unusable(corrupt),
        ([Entry { origin: EntryOrigin::Discovered, status, .. }], []) => {
            // The provider knows the reason best, and its code is more precise than "not found".
            status.reason().cloned().unwrap_or_else(|| unusable(&readable))
        }
        (readable, corrupt) => other_versions(version, readable, corrupt)
            .unwrap_or_else(|| unusable(&[readable, corrupt].concat())),
    };
    named(error, asked)
}

/// No entry has the name. Only names that can be opened are suggested. Lines for C libraries are only counted, because
/// the library must be loaded to know whether they can be opened.
fn unknown(asked: RequestedName<'_>, found: &[Match]) -> Error {
    let (mut known, mut libraries): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for Match { entry, server, .. } in found.iter().filter(|it| it.entry.status.is_usable()) {
        let names = match server {
            Some(Opener::Library(_)) => &mut libraries,
            _ => &mut known,
        };
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    libraries.retain(|name| !known.contains(name));
    let mut reason = match known.as_slice() {
        [] if libraries.is_empty() => {
            "no adapter has that name, and no adapter can be opened".to_owned()
        }
        [] => "no adapter has that name, and no built-in provider has an adapter".to_owned(),
        known => format!(
            "no adapter has that name; the adapters that can be opened are {}",
            listing(known.iter().map(|name| shown(name)))
        ),
    };
    match libraries.as_slice() {
        [] => {}
        [one] => reason = format!("{reason}; besides, {} is a line for a C library", shown(one)),
        more => {
            reason = format!("{reason}; besides, {} names are lines for C libraries", more.len());
        }
    }
    for Match { entry, .. } in found {
        if matches!(entry.origin, EntryOrigin::File(_)) {
            reason = format!("{reason}; {}", reason_of(entry));
        }
    }
    let error = not_found(Subtype::NameNotRegistered).because(reason);
    // A name that contains the requested one often belongs to an absent device.
    let wanted = asked.name.to_lowercase();
    let typo = |name: &&str| !name.to_lowercase().contains(&wanted);
    let near = nearest(asked.name, known).or_else(|| nearest(asked.name, libraries).filter(typo));
    match near {
        Some(name) => error.advise(format!("did you mean {}?", shown(name))),
        None => error,
    }
}

/// Entries of the name exist, each with its own reason.
fn unusable(entries: &[&Entry]) -> Error {
    let reasons = listing(entries.iter().map(|entry| reason_of(entry)));
    let threads = |entry: &&Entry| {
        entry.status.reason().is_some_and(|it| it.subtype() == Subtype::ThreadSafetyNotFound)
    };
    let subtype = match entries.iter().all(threads) {
        true => Subtype::ThreadSafetyNotFound,
        false => Subtype::NameNotRegistered,
    };
    let error =
        not_found(subtype).because(format!("no entry with that name can be used here: {reasons}"));
    match entries.iter().find_map(|entry| entry.status.reason()) {
        Some(reason) => error.advise(reason.advice().to_owned()),
        None => error,
    }
}

/// The error if all lines without syntax errors are registered for other versions.
fn other_versions(asked: ApiVersion, entries: &[&Entry], corrupt: &[&Entry]) -> Option<Error> {
    let other = |entry: &&Entry| {
        let version = entry.api_version?;
        (version.space == ConsumerSpace::User && !asked.accepts(version)).then_some(version)
    };
    let offered: Vec<LineVersion> = entries.iter().map(other).collect::<Option<_>>()?;
    let subtype = match offered.iter().any(|&version| asked.accepts_major(version)) {
        true => Subtype::MinorNotFound,
        false => Subtype::MajorNotFound,
    };
    let mut versions: Vec<String> = offered.iter().map(ToString::to_string).collect();
    versions.sort();
    versions.dedup();
    let places = listing(entries.iter().map(|entry| entry.origin.to_string()));
    let mut reason = format!("registered for {}, requested {asked} ({places})", listing(versions));
    for entry in corrupt {
        reason = format!("{reason}; in error: {}", reason_of(entry));
    }
    Some(not_found(subtype).because(reason).advise(format!(
        "request the registered version, or add a line for {asked} to the configuration"
    )))
}

fn not_found(subtype: Subtype) -> Error {
    Error::new(ReturnType::ProviderNotFound, subtype)
}

fn named(error: Error, asked: RequestedName<'_>) -> Error {
    error.during(OPEN).on(format!("IA {}", shown(asked.name)))
}

/// The position of an entry and its reason.
fn reason_of(entry: &Entry) -> String {
    let place = match (&entry.syntax_error, &entry.origin) {
        (Some(error), origin) => format!("{origin}:{}", error.column()),
        (None, EntryOrigin::Discovered) => format!("discovered by {}", entry.library),
        (None, origin) => origin.to_string(),
    };
    match entry.status.reason() {
        Some(reason) => match reason.raw_os_error().map(io::Error::from_raw_os_error) {
            Some(system) => format!("{place}: {} ({system})", reason.reason()),
            None => format!("{place}: {}", reason.reason()),
        },
        None => place,
    }
}
