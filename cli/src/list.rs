//! `dat list`: what can be opened, and why the rest can't.

use dat_core::error::Error;
use dat_core::registry::{ApiVersion, Entry, Fate, Origin};
use serde::Serialize;

use crate::fault::Fault;
use crate::output::{Align, Output, Paint, Table, clean, complain};
use crate::{EXIT_CODES, Verdict, providers};

/// Lists what can be opened now, and why the rest can't.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat list
  dat list --json
  dat list --line loopback                          a line for dat.conf
  dat list --line 'loopback?max_eps=4' >> dat.conf  one with parameters

Lines are read from the file that DAT_OVERRIDE names, else from /etc/dat.conf and
/etc/dat.conf.d/*.conf. Adapters that providers find need no line. A line that can't be
used is no failure of the list.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Prints the line of dat.conf that gives, or would give, this name
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let registry = providers::registry();
    let entries = registry.list();
    if let Some(name) = &args.line {
        let Some(line) = line_for(name, &entries) else {
            let reason = match registry.resolve(name, ApiVersion::ANY) {
                Err(error) => error,
                // The name was given in a form that only a look-up understands.
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
        output.json(&Listing { entries: entries.iter().map(Item::new).collect() });
    } else {
        print(&entries, output);
    }
    Verdict::Well
}

/// The line for a name, of which a part after `?` becomes parameters of the line.
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
        ("WHAT IT IS", Align::Left),
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
        output.line("Nothing can be opened.");
    } else {
        table.print("", output);
    }
    if !rest.is_empty() {
        output.line("");
        output.line(output.paint(Paint::Strong, "Not usable:"));
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
            let fault = Fault::from(error.clone());
            output.line(format!("    {}", clean(&fault.reason)));
            output.line(format!("    -> {}", clean(&fault.advice)));
        }
        Fate::Shadowed(earlier) => {
            output.line(format!("    {} goes before it", clean(&origin(earlier))));
            output.line("    -> nothing to do, unless this one was meant");
        }
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Discovered => "found".to_owned(),
        Origin::Registered => "registered".to_owned(),
        origin => origin.to_string(),
    }
}

fn api(entry: &Entry) -> String {
    entry.api_version.map_or_else(|| "any".to_owned(), |version| version.to_string())
}

/// What the provider says of it, and what its line passes to the provider.
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

#[derive(Serialize)]
struct Listing {
    entries: Vec<Item>,
}

/// An entry for programs.
#[derive(Serialize)]
pub(crate) struct Item {
    name: String,
    origin: Place,
    usable: bool,
    fate: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
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
    /// All that is known of an entry.
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
            error: entry.fate.reason().cloned().map(Fault::from),
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
