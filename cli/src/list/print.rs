//! The listing for people: what can be opened, what is broken, and which lines are not used.

use dat_core::registry::{Entry, EntryOrigin, EntryStatus};

use super::Programs;
use crate::error::CliError;
use crate::output::{Align, Output, Paint, Table, clean};

/// Names of a group of lines that are shown at most.
const NAMES: usize = 4;

/// Prints all entries.
pub(super) fn entries(entries: &[Entry], all: bool, output: &mut Output) {
    let (mut usable, rest): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.status.is_usable());
    // Lines name adapters a second time.
    usable.sort_by_key(|entry| entry.origin != EntryOrigin::Discovered);
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("ORIGIN", Align::Left),
        ("PROVIDER", Align::Left),
        ("VERSION", Align::Left),
        ("API", Align::Left),
        ("DESCRIPTION", Align::Left),
    ]);
    for entry in &usable {
        table.row(vec![
            entry.name.clone(),
            origin(&entry.origin),
            entry.library.clone(),
            entry.provider_version.as_ref().map_or_else(String::new, ToString::to_string),
            api(entry),
            describe(entry),
        ]);
    }
    if usable.is_empty() {
        output.line("No adapter can be opened.");
    } else {
        table.print("", output);
    }
    let (broken, lines): (Vec<_>, Vec<_>) = rest.into_iter().partition(|entry| is_broken(entry));
    if !broken.is_empty() {
        title("Cannot be opened:", output);
    }
    for entry in broken {
        print_entry(entry, output);
    }
    if lines.is_empty() {
        return;
    }
    if all {
        title("Lines that are not used:", output);
        lines.into_iter().for_each(|entry| print_entry(entry, output));
    } else {
        title("Lines that are not used, by reason (--all shows each):", output);
        groups(&lines).iter().for_each(|group| print_group(group, output));
    }
}

fn title(text: &str, output: &mut Output) {
    output.line("");
    output.line(output.paint(Paint::Strong, text));
}

/// Returns true if the entry is meant to work here: an adapter of this machine, a line of a
/// built-in provider, or a line or file with an error.
fn is_broken(entry: &Entry) -> bool {
    match &entry.status {
        EntryStatus::Usable | EntryStatus::Shadowed(_) => false,
        EntryStatus::Unusable(_) => {
            let is_own =
                dat_builtin_providers::all().iter().any(|it| it.describe().name == entry.library);
            let is_kernel = entry.api_version.is_some_and(|it| it.to_string().starts_with('k'));
            let is_line = matches!(entry.origin, EntryOrigin::Line { .. });
            !is_line || entry.syntax_error.is_some() || (is_own && !is_kernel)
        }
    }
}

fn print_entry(entry: &Entry, output: &mut Output) {
    output.line("");
    let name = if entry.name.is_empty() { String::new() } else { format!("{}  ", entry.name) };
    let title = clean(&format!("{name}{}", origin(&entry.origin)));
    output.line(format!("  {}", output.paint(Paint::Mark, title)));
    print_fate(entry, output);
}

/// Lines with the same reason, apart from the library that the reason names.
fn groups<'a>(lines: &[&'a Entry]) -> Vec<Vec<&'a Entry>> {
    let mut groups: Vec<(String, Vec<&Entry>)> = Vec::new();
    for entry in lines {
        let reason = match &entry.status {
            EntryStatus::Unusable(error) => error.reason().replace(&entry.library, "LIBRARY"),
            EntryStatus::Shadowed(_) => "shadowed".to_owned(),
            EntryStatus::Usable => String::new(),
        };
        match groups.iter_mut().find(|(of, _)| *of == reason) {
            Some((_, group)) => group.push(entry),
            None => groups.push((reason, vec![entry])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn print_group(group: &[&Entry], output: &mut Output) {
    let [first, rest @ ..] = group else { return };
    if rest.is_empty() {
        print_entry(first, output);
        return;
    }
    output.line("");
    let mut names: Vec<&str> = group.iter().take(NAMES).map(|entry| entry.name.as_str()).collect();
    let more = format!("and {} more", group.len() - names.len());
    if group.len() > names.len() {
        names.push(&more);
    }
    let mut files: Vec<String> = group.iter().map(|entry| file(&entry.origin)).collect();
    files.dedup();
    let heading = format!("{} lines of {}: {}", group.len(), files.join(", "), names.join(", "));
    output.line(format!("  {}", output.paint(Paint::Mark, clean(&heading))));
    let mut libraries: Vec<&str> = rest.iter().map(|entry| entry.library.as_str()).collect();
    libraries.sort_unstable();
    libraries.dedup();
    libraries.retain(|library| *library != first.library);
    match &first.status {
        EntryStatus::Shadowed(_) => {
            output.line("    overridden by earlier entries with the same names");
            output.line("    -> nothing to do, unless you want these lines to be used");
        }
        _ => {
            print_fate(first, output);
            if !libraries.is_empty() {
                output.line(clean(&format!("    the same for {}", libraries.join(", "))));
            }
        }
    }
}

/// The file of a line.
fn file(origin: &EntryOrigin) -> String {
    match origin {
        EntryOrigin::Line { file, .. } => file.display().to_string(),
        other => self::origin(other),
    }
}

fn print_fate(entry: &Entry, output: &mut Output) {
    if let Some(error) = &entry.syntax_error {
        for line in error.caret().lines() {
            output.line(format!("    | {line}"));
        }
    }
    match &entry.status {
        EntryStatus::Usable => {}
        EntryStatus::Unusable(error) => {
            let error = CliError::from(error.clone());
            output.line(format!("    {}", clean(&error.reason)));
            output.line(format!("    -> {}", clean(&error.advice)));
        }
        EntryStatus::Shadowed(earlier) => {
            output.line(format!("    overridden by {}", clean(&origin(earlier))));
            output.line("    -> nothing to do, unless you want this line to be used");
        }
    }
}

fn origin(origin: &EntryOrigin) -> String {
    match origin {
        EntryOrigin::Discovered => "discovered".to_owned(),
        EntryOrigin::Registered => "registered".to_owned(),
        origin => origin.to_string(),
    }
}

fn api(entry: &Entry) -> String {
    entry.api_version.map_or_else(|| "any".to_owned(), |version| version.to_string())
}

/// The provider's description, and the parameters of the line.
fn describe(entry: &Entry) -> String {
    let mut words = Vec::new();
    if !entry.summary.is_empty() {
        words.push(entry.summary.clone());
    }
    if !entry.parameters.is_empty() {
        words.push(format!("with {}", entry.parameters));
    }
    if !entry.is_default {
        words.push("nondefault".to_owned());
    }
    words.join(", ")
}

/// Prints the names that C programs see.
pub(super) fn programs(programs: &Programs, all: bool, output: &mut Output) {
    let Programs { v1, v2 } = programs;
    let mut print = |title: &str, names: &[String]| {
        output.line("");
        output.line(clean(&format!("{title}: {}", enumerate(names, all))));
    };
    if v1 == v2 {
        print("C programs see", v2);
    } else {
        print("C programs of DAT 2.0 see", v2);
        print("C programs of DAT 1.2 see", v1);
    }
}

/// The names, or the first of many.
fn enumerate(names: &[String], all: bool) -> String {
    match names {
        [] => "nothing".to_owned(),
        names if all || names.len() <= 2 * NAMES => names.join(", "),
        names => format!(
            "{}, and {} more (--all shows each)",
            names[..NAMES].join(", "),
            names.len() - NAMES
        ),
    }
}
