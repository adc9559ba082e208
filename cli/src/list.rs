//! `dat list`: the adapters that can be opened, and why the others cannot.

use dat_core::Registry;
use dat_core::error::Error;
use dat_core::registry::{Announced, ApiVersion, Entry, Fate, Origin};
use serde::Serialize;

use crate::error::CliError;
use crate::output::{Align, Output, Paint, Table, clean, complain};
use crate::{EXIT_CODES, Verdict, providers};

/// Lists the adapters that can be opened, and why the others cannot.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat list
  dat list --json
  dat list --line loopback                          a line for dat.conf
  dat list --line 'loopback?max_eps=4' >> dat.conf  the same, with parameters

Lines are read from the file that DAT_OVERRIDE names, or from /etc/dat.conf and
/etc/dat.conf.d/*.conf. Adapters that providers discover need no line. A line that cannot be
used does not make the command fail.

dat_registry_list_providers gives C programs a shorter list: each name once, RDMA adapters
first, and loopback only if there is no other adapter or a line names it. The last lines of
the output show that list. All names above can be opened, whether programs get them or not.

NAME?compat=ofa, or compat=ofa in the parameters of a line, relaxes rules that other DAT
libraries do not enforce; DAT_COMPAT=ofa does so for every name that a C program opens.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Prints the dat.conf line that defines, or would define, this name
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, registry: &Registry, output: &mut Output) -> Verdict {
    let entries = registry.list();
    if let Some(name) = &args.line {
        let Some(line) = line_for(name, &entries) else {
            let reason = match registry.resolve(name, ApiVersion::ANY) {
                Err(error) => error,
                // The name has a form that only name resolution understands.
                Ok(_) => Error::new(
                    dat_core::ReturnType::ProviderNotFound,
                    dat_core::Subtype::NameNotRegistered,
                ),
            };
            complain(&reason.to_string());
            return Verdict::Failed;
        };
        if args.json {
            output.json(&serde_json::json!({ "name": name, "line": line }));
        } else {
            output.line(line);
        }
        return Verdict::Well;
    }
    if args.json {
        let entries = entries.iter().map(Item::new).collect();
        output.json(&Listing { entries, programs: Programs::new() });
    } else {
        print(&entries, output);
        print_programs(&Programs::new(), output);
    }
    Verdict::Well
}

/// The line for a name; parameters after a `?` are added to those of the line.
fn line_for(name: &str, entries: &[Entry]) -> Option<String> {
    let of = |name: &str| {
        let mut named: Vec<&Entry> = entries.iter().filter(|entry| entry.name == name).collect();
        named.sort_by_key(|entry| !entry.fate.is_usable());
        named.into_iter().find_map(Entry::to_line)
    };
    if let Some(line) = of(name) {
        return Some(line.to_string());
    }
    let (name, parameters) = name.split_once('?')?;
    let mut line = of(name)?;
    if !line.parameters.is_empty() && !parameters.is_empty() {
        line.parameters.push(' ');
    }
    line.parameters.push_str(parameters);
    Some(line.to_string())
}

fn print(entries: &[Entry], output: &mut Output) {
    let (usable, rest): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.fate.is_usable());
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
    if !rest.is_empty() {
        output.line("");
        output.line(output.paint(Paint::Strong, "Cannot be opened:"));
    }
    for entry in rest {
        output.line("");
        let name = if entry.name.is_empty() { String::new() } else { format!("{}  ", entry.name) };
        let title = clean(&format!("{name}{}", origin(&entry.origin)));
        output.line(format!("  {}", output.paint(Paint::Mark, title)));
        print_fate(entry, output);
    }
}

fn print_fate(entry: &Entry, output: &mut Output) {
    if let Some(error) = &entry.syntax_error {
        for line in error.caret().lines() {
            output.line(format!("    | {line}"));
        }
    }
    match &entry.fate {
        Fate::Usable => {}
        Fate::Unusable(error) => {
            let error = CliError::from(error.clone());
            output.line(format!("    {}", clean(&error.reason)));
            output.line(format!("    -> {}", clean(&error.advice)));
        }
        Fate::Shadowed(earlier) => {
            output.line(format!("    overridden by {}", clean(&origin(earlier))));
            output.line("    -> nothing to do, unless you want this line to be used");
        }
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Discovered => "discovered".to_owned(),
        Origin::Registered => "registered".to_owned(),
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

/// The names that C programs see, in order.
#[derive(Serialize)]
struct Programs {
    #[serde(rename = "1.2")]
    v1: Vec<String>,
    #[serde(rename = "2.0")]
    v2: Vec<String>,
}

impl Programs {
    fn new() -> Self {
        // The C libraries load libraries that this command does not.
        let registry = providers::registry().hosting();
        let names = |version| {
            let announced = registry.announced(version).into_iter();
            announced.map(|Announced { name, .. }| name).collect()
        };
        Self { v1: names(ApiVersion::V1_2), v2: names(ApiVersion::V2_0) }
    }
}

fn print_programs(programs: &Programs, output: &mut Output) {
    let Programs { v1, v2 } = programs;
    let mut told = |title: &str, names: &[String]| {
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        output.line("");
        output.line(clean(&format!("{title}: {names}")));
    };
    if v1 == v2 {
        told("C programs see", v2);
    } else {
        told("C programs of DAT 2.0 see", v2);
        told("C programs of DAT 1.2 see", v1);
    }
}

#[derive(Serialize)]
struct Listing {
    entries: Vec<Item>,
    programs: Programs,
}

/// An entry as JSON.
#[derive(Serialize)]
pub(crate) struct Item {
    name: String,
    origin: Place,
    usable: bool,
    fate: &'static str,
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
    fn new(origin: &Origin) -> Self {
        let shown = |file: &std::path::Path| Some(file.display().to_string());
        match origin {
            Origin::Line { file, line } => {
                Self { found: false, file: shown(file), line: Some(*line) }
            }
            Origin::File(file) => Self { found: false, file: shown(file), line: None },
            Origin::Discovered => Self { found: true, file: None, line: None },
            Origin::Registered => Self { found: false, file: None, line: None },
        }
    }
}

impl Item {
    /// The JSON form of an entry.
    pub(crate) fn new(entry: &Entry) -> Self {
        Self {
            name: entry.name.clone(),
            origin: Place::new(&entry.origin),
            usable: entry.fate.is_usable(),
            fate: match entry.fate {
                Fate::Usable => "usable",
                Fate::Unusable(_) => "unusable",
                Fate::Shadowed(_) => "shadowed",
            },
            error: entry.fate.reason().cloned().map(CliError::from),
            syntax_error: entry.syntax_error.as_ref().map(|error| Syntax {
                line: error.line(),
                column: error.column(),
                message: error.message(),
                hint: error.hint().map(str::to_owned),
                text: error.text(),
            }),
            shadowed_by: match &entry.fate {
                Fate::Shadowed(earlier) => Some(Place::new(earlier)),
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
