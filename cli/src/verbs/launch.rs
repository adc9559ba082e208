//! Starts a program with the libraries in front of those of the system, in the place of this process.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const SEARCH_PATH: &str = "LD_LIBRARY_PATH";

/// Starts a program. It returns only if that fails.
///
/// # Errors
/// A text: the program cannot be started.
pub(super) fn program(folder: &Path, command: &[OsString]) -> Result<(), String> {
    let [program, arguments @ ..] = command else { return Err("no program is given".to_owned()) };
    let error = prepared(folder, program).args(arguments).exec();
    let name = program.to_string_lossy();
    Err(match (error.kind(), package(&name)) {
        (ErrorKind::NotFound, Some(package)) => {
            format!(
                "cannot run {name}: it is not installed; on Debian, it is in the package {package}"
            )
        }
        _ => format!("cannot run {name}: {error}"),
    })
}

/// Starts this command again, for what it does with the libraries itself.
///
/// # Errors
/// A text: the command cannot be started.
pub(super) fn this_command(folder: &Path) -> Result<(), String> {
    let command =
        std::env::current_exe().map_err(|error| format!("cannot find this command: {error}"))?;
    let mut listing = prepared(folder, command.as_os_str());
    // A person reads the list, and needs the cause of a failure.
    let error = listing.env("SOFT_VERBS_LOG", "1").args(["verbs", "list", "--loaded"]).exec();
    Err(format!("cannot run {}: {error}", command.display()))
}

fn prepared(folder: &Path, program: &OsStr) -> Command {
    let mut search = folder.as_os_str().to_owned();
    // An empty element would be the current directory.
    if let Some(others) = std::env::var_os(SEARCH_PATH).filter(|others| !others.is_empty()) {
        search.push(":");
        search.push(others);
    }
    let mut command = Command::new(program);
    command.env(SEARCH_PATH, search);
    command
}

/// The Debian package of a well-known program.
fn package(name: &str) -> Option<&'static str> {
    const ADDRESSED: [&str; 10] = [
        "rping",
        "ucmatose",
        "udaddy",
        "mckey",
        "cmtime",
        "rdma_client",
        "rdma_server",
        "rstream",
        "rcopy",
        "udpong",
    ];
    match name {
        "qperf" => Some("qperf"),
        _ if name.starts_with("ibv_") => Some("ibverbs-utils"),
        _ if name.starts_with("ib_") => Some("perftest"),
        _ if ADDRESSED.contains(&name) => Some("rdmacm-utils"),
        _ => None,
    }
}
