//! dat.conf: its files, and the status of each line.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dat_core::registry::{
    ConfigItem, Configuration, ConsumerSpace, Entry, EntryOrigin, EntryStatus,
};

use super::interface;
use super::libraries;
use super::loader::Loader;
use super::machine::Machine;
use super::report::{Check, Finding, plural};
use super::system::System;
use crate::error::CliError;
use crate::list::Item;
use crate::providers;

/// Reads the configuration of the system.
pub(super) fn read(system: &System, overriding: Option<&OsStr>) -> Configuration {
    let file = overriding.map(|file| match system.is_copy() {
        true if !file.is_empty() => system.place(file).into_os_string(),
        _ => file.to_owned(),
    });
    let etc = if system.is_copy() { system.place("/etc") } else { PathBuf::from("/etc") };
    Configuration::from_paths(file.as_deref(), &etc)
}

/// Reports the status of each line.
pub(super) fn check(
    machine: &Machine,
    loader: &Loader<'_>,
    configuration: &Configuration,
    entries: &[Entry],
    overriding: Option<&OsStr>,
) -> Check {
    let mut findings = vec![source(configuration, overriding)];
    let of_file =
        |entry: &&Entry| matches!(entry.origin, EntryOrigin::Line { .. } | EntryOrigin::File(_));
    for entry in entries.iter().filter(of_file) {
        findings.push(judge(machine, loader, entry).fact("entry", Item::new(entry)));
    }
    Check { key: "configuration", title: "Configuration (dat.conf)", findings }
}

/// Reports the configuration files.
fn source(configuration: &Configuration, overriding: Option<&OsStr>) -> Finding {
    let mut files: Vec<&Path> = Vec::new();
    let mut lines = 0;
    for item in configuration.items() {
        if let ConfigItem::Line { file, .. } = item {
            lines += 1;
            if files.last() != Some(&file.as_ref()) {
                files.push(file);
            }
        }
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut found = match files.as_slice() {
        [] => "no lines, and none are needed: adapters are discovered automatically".to_owned(),
        files => format!("{lines} line{} in {}", plural(lines), files.join(", ")),
    };
    if let Some(file) = overriding {
        found = format!("{found}; DAT_OVERRIDE is set to {}", file.to_string_lossy());
    }
    Finding::ok("dat.conf", found)
        .fact("files", files)
        .fact("lines", lines)
        .fact("override", overriding.map(OsStr::to_string_lossy))
}

fn judge(machine: &Machine, loader: &Loader<'_>, entry: &Entry) -> Finding {
    let name = if entry.name.is_empty() { "a line" } else { &entry.name };
    let name = if matches!(entry.origin, EntryOrigin::File(_)) { "a file" } else { name };
    let place = &entry.origin;
    match &entry.status {
        EntryStatus::Usable => {
            let mut words = vec![entry.library.clone()];
            words.extend(entry.provider_version.as_ref().map(ToString::to_string));
            words.extend(entry.api_version.map(|version| version.to_string()));
            if !entry.parameters.is_empty() {
                words.push(format!("with {}", entry.parameters));
            }
            Finding::ok(name, format!("{place}: {}", words.join(", ")))
        }
        EntryStatus::Shadowed(earlier) => {
            Finding::note(name, format!("{place}: not used: overridden by {earlier}"))
                .advise("nothing to do, unless you want this line to be used")
        }
        EntryStatus::Unusable(reason) => {
            let error = CliError::from(reason.clone());
            if let Some(syntax) = &entry.syntax_error {
                let found = format!("{place}:{}: {}", syntax.column(), error.reason);
                return Finding::problem(name, found).excerpt(&syntax.caret()).advise(error.advice);
            }
            if entry.api_version.is_some_and(|version| version.space == ConsumerSpace::Kernel) {
                return Finding::note(name, format!("{place}: {}", error.reason));
            }
            let of_c = !matches!(entry.origin, EntryOrigin::File(_))
                && !providers::all().iter().any(|it| it.describe().name == entry.library);
            if of_c {
                return library(machine, loader, entry);
            }
            Finding::problem(name, format!("{place}: {}", error.reason)).advise(error.advice)
        }
    }
}

/// A line with a shared object that the C libraries load.
fn library(machine: &Machine, loader: &Loader<'_>, entry: &Entry) -> Finding {
    let (name, place, library) = (entry.name.as_str(), &entry.origin, &entry.library);
    // Packages ship lines for all kinds of devices; lines for absent devices do no harm.
    if let Some(device) = absent(machine, &entry.parameters) {
        let found = format!(
            "{place}: for {device:?}, which is not a device or interface of this \
             machine"
        );
        return Finding::note(name, found).advise("remove such lines, unless they name a host");
    }
    let object = match loader.find(library) {
        Ok(object) => object,
        Err(reason) => {
            let names =
                providers::all().iter().map(|it| it.describe().name).collect::<Vec<_>>().join(", ");
            return Finding::problem(name, format!("{place}: {library}: {reason}")).advise(
                format!(
                    "install the package that contains it, remove the line, or name a built-in \
                     provider: {names}"
                ),
            );
        }
    };
    let missing = loader.missing(library, &object);
    if !missing.is_empty() {
        let missing = libraries::list(&missing);
        let found = format!("{place}: {library} cannot be loaded without {missing}");
        return Finding::problem(name, found)
            .advise("install the packages with these libraries, then as root: ldconfig");
    }
    let found = format!("{place}: for C programs, through {}", object.path.display());
    Finding::ok(name, found)
}

/// The device or interface that the parameters name first, if it does not exist.
fn absent(machine: &Machine, parameters: &str) -> Option<String> {
    let word = parameters.split_whitespace().next()?;
    let there = word.parse::<IpAddr>().is_ok()
        || machine.devices.iter().any(|device| device.name == word)
        || interface::exists(&machine.system, word);
    (!there).then(|| word.to_owned())
}
