//! `dat completions`: prints shell completion scripts.

use clap::Command;
use clap_complete::Shell;

use crate::output::Output;
use crate::{EXIT_CODES, Verdict};

/// Prints a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat completions bash > ~/.local/share/bash-completion/completions/dat
  dat completions zsh > ~/.zfunc/_dat   where ~/.zfunc is in fpath
  dat completions fish > ~/.config/fish/completions/dat.fish
  source <(dat completions bash)        for this shell

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: Command, output: &mut Output) -> Verdict {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output.file(&script);
    Verdict::Well
}
