//! `dat info`: every attribute of an adapter, its provider and its default endpoint.

mod attributes;

use dat_core::Registry;
use serde_json::{Map, Value as Json, json};

use crate::error::CliError;
use crate::output::{Align, Output, Paint, Table, complain};
use crate::{EXIT_CODES, Verdict};
use attributes::{Row, Section, Value};

/// Shows all attributes of an adapter, its provider and its default endpoint.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat info loopback
  dat info 'loopback?max_eps=4'
  dat info loopback --json

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The name of the adapter, as `dat list` shows it
    #[arg(value_name = "IA")]
    name: String,
    /// Prints JSON; sizes are in bytes
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, registry: &Registry, output: &mut Output) -> Verdict {
    let ia = match registry.open(&args.name) {
        Ok(ia) => ia,
        Err(error) if args.json => {
            output.json(&json!({ "name": args.name, "error": CliError::from(error) }));
            return Verdict::Failed;
        }
        Err(error) => {
            complain(&error.to_string());
            return Verdict::Failed;
        }
    };
    let sections = [
        attributes::interface(ia.attributes()),
        attributes::provider(ia.provider_attributes()),
        attributes::endpoint(ia.default_ep_attributes()),
    ];
    if args.json {
        let mut all = Map::new();
        all.insert("name".to_owned(), json!(args.name));
        for section in &sections {
            all.insert(section.key.to_owned(), section.json());
        }
        output.json(&all);
    } else {
        for (index, section) in sections.iter().enumerate() {
            if index > 0 {
                output.line("");
            }
            section.print(output);
        }
    }
    Verdict::Passed
}

impl Section {
    fn json(&self) -> Json {
        let value = |row: &Row| match &row.value {
            Value::Count(count, _) | Value::Bytes(count) => json!(count),
            Value::Address(address) => json!(format!("{address:#x}")),
            Value::Flag(flag) => json!(flag),
            Value::Text(text) => json!(text),
            Value::Words(words) => json!(words),
            Value::Named(named) => {
                named.iter().map(|attr| (attr.name.clone(), json!(attr.value))).collect()
            }
        };
        self.rows.iter().map(|row| (row.key.to_owned(), value(row))).collect()
    }

    fn print(&self, output: &mut Output) {
        output.line(output.paint(Paint::Strong, self.title));
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        for row in &self.rows {
            table.row(vec![row.key.to_owned(), row.value.to_string()]);
        }
        table.print("  ", output);
    }
}
