//! `dat list`: the adapters that can be opened, and why the others cannot.

mod json;
mod print;

use dat_core::Registry;
use dat_core::error::Error;
use dat_core::registry::{ApiVersion, Entry, EntryStatus, ListedAdapter};
use serde::Serialize;

pub(crate) use json::Item;

use crate::output::{Output, complain};
use crate::{EXIT_CODES, Verdict, providers};

/// Lists the adapters that can be opened, and why the others cannot.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat list
  dat list --all                                    each line that is not used, with its reason
  dat list --json
  dat list --line loopback                          a line for dat.conf
  dat list --line 'loopback?max_eps=4' >> dat.conf  the same, with parameters

Lines are read from the file that DAT_OVERRIDE names, or from /etc/dat.conf and
/etc/dat.conf.d/*.conf. Adapters that providers discover need no line. A line that cannot be
used does not make the command fail. Each adapter that is listed as usable has been opened and
closed again.

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
    /// Shows each line that is not used; by default lines with the same reason are grouped
    #[arg(long)]
    all: bool,
    /// Prints only the names, one in a line, without opening the adapters: for completion
    #[arg(long, conflicts_with_all = ["line", "all", "json"])]
    names: bool,
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
        return Verdict::Passed;
    }
    if args.names {
        let mut names: Vec<String> = entries
            .into_iter()
            .filter(|entry| entry.status.is_usable())
            .map(|it| it.name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names.iter().for_each(|name| output.line(name));
        return Verdict::Passed;
    }
    let entries: Vec<Entry> = entries.into_iter().map(|entry| tried(entry, registry)).collect();
    if args.json {
        let entries = entries.iter().map(Item::new).collect();
        output.json(&Listing { entries, programs: Programs::new() });
    } else {
        print::entries(&entries, args.all, output);
        print::programs(&Programs::new(), args.all, output);
    }
    Verdict::Passed
}

/// The entry, with the error of opening it if it is not as usable as it seems: the device of a line
/// may be absent, a parameter wrong, or a permission missing.
fn tried(mut entry: Entry, registry: &Registry) -> Entry {
    if entry.status.is_usable() {
        if let Err(error) = registry.open_query(&entry.name) {
            entry.status = EntryStatus::Unusable(error);
        }
    }
    entry
}

/// The line for a name; parameters after a `?` are added to those of the line.
fn line_for(name: &str, entries: &[Entry]) -> Option<String> {
    let of = |name: &str| {
        let mut named: Vec<&Entry> = entries.iter().filter(|entry| entry.name == name).collect();
        named.sort_by_key(|entry| !entry.status.is_usable());
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
        let registry = providers::registry().allow_c_providers();
        let names = |version| {
            let listed = registry.listed_adapters(version).into_iter();
            listed.map(|ListedAdapter { name, .. }| name).collect()
        };
        Self { v1: names(ApiVersion::V1_2), v2: names(ApiVersion::V2_0) }
    }
}

#[derive(Serialize)]
struct Listing {
    entries: Vec<Item>,
    programs: Programs,
}
