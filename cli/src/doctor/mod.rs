//! `dat doctor`: checks whether this machine is ready for RDMA, and suggests fixes.
//!
//! One file per check. Checks load no library and change nothing. The built-in adapter is
//! tested, adapters are opened and closed, and those over shared memory and TCP
//! connect to themselves.

pub(crate) mod cache;
mod configuration;
mod container;
mod device;
mod direct_access;
mod environment;
pub(crate) mod image;
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
mod shared_memory;
mod sockets;
mod system;
mod user;
mod verbs;

use std::path::PathBuf;

use crate::output::Output;
use crate::{EXIT_CODES, Verdict, providers};
use loader::Loader;
use machine::Machine;
use report::Report;
use system::System;

/// Checks everything that RDMA requires of this machine, and suggests a fix for each problem.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat doctor
  dat doctor --json
  dat doctor --root /mnt/node7

A problem prevents something that is present or configured from working. A note is not a
failure: a machine without RDMA devices is ready for use. The command changes nothing, sends
nothing to other machines and does not need root.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Checks a system that is copied to or mounted on a directory; the environment variables
    /// are those of this shell, and the files that they name are looked up in the copy
    #[arg(long, value_name = "DIR", value_parser = folder)]
    root: Option<PathBuf>,
    /// Prints JSON; see docs/doctor.md for the keys
    #[arg(long)]
    json: bool,
}

fn folder(text: &str) -> Result<PathBuf, String> {
    match std::fs::metadata(text) {
        Ok(metadata) if metadata.is_dir() => Ok(text.into()),
        Ok(_) => Err("not a directory".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let system = args.root.as_deref().map_or_else(System::here, System::below);
    let machine = Machine::read(system);
    let report = examine(&machine, output);
    if args.json {
        output.json(&report.json(machine.system.root()));
    } else {
        report.print(output);
    }
    if report.is_fit() { Verdict::Passed } else { Verdict::Failed }
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
            verbs::check(machine),
            environment::check(),
            configuration::check(machine, &loader, &configuration, &entries, overriding.as_deref()),
            names::check(machine, &registry, &entries),
            shared_memory::check(machine, &entries, output),
            sockets::check(machine, &entries, output),
            names::self_test(output),
        ],
    }
}
