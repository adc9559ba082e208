//! `dat man`: writes the help texts as manual pages.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::output::{Output, clean, complain};
use crate::{EXIT_CODES, Verdict};

/// Writes the manual pages of this command, dat(1) and one for each of its subcommands
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat man ~/.local/share/man/man1
  dat man debian/tmp/usr/share/man/man1

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The directory; it is created if it does not exist
    folder: PathBuf,
}

pub(crate) fn run(args: &Args, command: Command, output: &mut Output) -> Verdict {
    match write(command, &args.folder) {
        Ok(pages) => {
            for page in pages {
                output.line(clean(&page.to_string_lossy()));
            }
            Verdict::Well
        }
        Err(error) => {
            let folder = args.folder.display();
            complain(&format!("cannot write the manual pages to {folder}: {error}"));
            Verdict::Failed
        }
    }
}

/// The pages that were written.
fn write(command: Command, folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let mut command = command.disable_help_subcommand(true);
    // This gives each subcommand its full name.
    command.build();
    let own = Man::new(command.clone()).generate_to(folder)?;
    let others = command.get_subcommands().cloned().map(|each| Man::new(each).generate_to(folder));
    std::iter::once(Ok(own)).chain(others).collect()
}
