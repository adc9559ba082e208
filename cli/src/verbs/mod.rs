//! `dat verbs`: runs verbs programs without an RDMA device, and lists what they find.

mod folder;
mod launch;
mod list;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Verdict;
use crate::output::{Output, complain};

/// Runs a verbs program without an RDMA device
///
/// The program finds the libraries libibverbs.so.1 and librdmacm.so.1 of soft-verbs before those of the system, and in
/// them the device soft0, which reaches other processes over shared memory and TCP. Its exit status is that of the
/// program. Nothing is installed or configured, and neither root nor a kernel module is needed.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "dat verbs [OPTIONS] -- COMMAND [ARGUMENT]...\n       dat verbs list",
    after_help = "\
Examples:
  dat verbs list                    the device, and its GIDs with their network interfaces
  dat verbs -- ibv_devinfo -v       what it can do
  dat verbs -- ib_send_bw           a server; its client, here or on another machine:
  dat verbs -- ib_send_bw 192.0.2.7

The environment variable SOFT_VERBS has parameters for the device, as in soft-verbs(7);
with SOFT_VERBS_LOG=1, failures are explained on standard error.

Exit codes:
  0  success
  1  the libraries are not found, or the program cannot be run; otherwise the status
     of the program
  2  the command line is wrong"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// The folder of the two libraries, if it is not the one next to this command
    #[arg(long, value_name = "FOLDER")]
    libraries: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Lists the devices that a verbs program finds, and their GIDs
    List {
        /// The libraries are loaded already; the command starts itself with this
        #[arg(long, hide = true)]
        loaded: bool,
    },
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let result = match &args.what {
        Some(What::List { loaded: true }) => list::print(output),
        what => folder::find(args.libraries.as_deref()).and_then(|folder| match what {
            None => launch::program(&folder, &args.command),
            Some(What::List { .. }) => launch::this_command(&folder),
        }),
    };
    match result {
        Ok(()) => Verdict::Passed,
        Err(reason) => {
            complain(&reason);
            Verdict::Failed
        }
    }
}
