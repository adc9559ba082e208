//! `dat doctor`: is this machine fit for use, and if not, what to do about it.
//!
//! A check a file. Checks only look: they load no library and change nothing; what is built in
//! is tried, and adapters are opened and closed.

mod cache;
mod configuration;
mod container;
mod device;
mod environment;
mod image;
mod interface;
mod libraries;
mod loader;
mod machine;
mod memlock;
mod modules;
mod names;
mod nodes;
mod ports;
mod report;
mod system;
mod user;

use std::path::PathBuf;

use crate::output::Output;
use crate::{EXIT_CODES, Verdict, providers};
use loader::Loader;
use machine::Machine;
use report::Report;
use system::System;

/// Checks all that RDMA needs of this machine, and says what to do about what is wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat doctor
  dat doctor --json
  dat doctor --root /mnt/node7

A problem is what keeps something from working that is there or that is configured. A note
is no failure: a machine without RDMA devices is fit for use. Nothing is changed, nothing is
sent to a network, and root is not needed.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Looks at the system that was copied to a folder, or that is mounted there; the
    /// environment is that of this shell, and its files are looked for in the copy
    #[arg(long, value_name = "DIR", value_parser = folder)]
    root: Option<PathBuf>,
    /// Prints JSON; docs/doctor.md has its keys
    #[arg(long)]
    json: bool,
}

fn folder(text: &str) -> Result<PathBuf, String> {
    match std::fs::metadata(text) {
        Ok(metadata) if metadata.is_dir() => Ok(text.into()),
        Ok(_) => Err("it is no folder".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Does what the command is for.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let system = args.root.as_deref().map_or_else(System::here, System::below);
    let machine = Machine::read(system);
    let report = examine(&machine, output);
    if args.json {
        output.json(&report.json(machine.system.root()));
    } else {
        report.print(output);
    }
    if report.is_fit() { Verdict::Well } else { Verdict::Failed }
}

fn examine(machine: &Machine, output: &mut Output) -> Report {
    let variable = |name| std::env::var_os(name);
    let overriding = variable("DAT_OVERRIDE");
    let loader = Loader::new(&machine.system, variable("LD_LIBRARY_PATH").as_deref());
    let configuration = configuration::read(&machine.system, overriding.as_deref());
    let registry = providers::registry_of(configuration.clone());
    let entries = registry.list();
    Report {
        checks: vec![
            container::check(machine),
            modules::check(machine),
            nodes::check(machine),
            ports::check(machine),
            memlock::check(machine),
            libraries::check(machine, &loader),
            environment::check(),
            configuration::check(machine, &loader, &configuration, &entries, overriding.as_deref()),
            names::check(machine, &registry, &entries),
            names::self_test(output),
        ],
    }
}
