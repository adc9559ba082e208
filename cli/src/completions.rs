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
    output.file(with_adapters(args.shell, &script).as_bytes());
    Verdict::Passed
}

/// The end of the generated script: the shell asks `dat list` for the names of the adapters.
const BASH_ADAPTERS: &str = r#"
_dat_adapters() {
    _dat "$@"
    case "${COMP_WORDS[1]}" in
        info|ping|perf|conformance)
            if [[ "${COMP_WORDS[COMP_CWORD]}" != -* ]]; then
                COMPREPLY+=($(compgen -W "$(dat list --names 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
            fi
            ;;
    esac
}
complete -F _dat_adapters -o bashdefault -o default dat
"#;
const ZSH_ADAPTERS: &str = r#"
_dat_adapters() {
    local -a names
    names=("${(@f)$(dat list --names 2>/dev/null)}")
    compadd -a names
}
"#;
const FISH_ADAPTERS: &str = r#"
complete -c dat -n "__fish_seen_subcommand_from info ping perf conformance" -f -a "(dat list --names 2>/dev/null)"
"#;

/// The script with completion of adapter names, for the shells that have functions for it.
fn with_adapters(shell: Shell, script: &[u8]) -> String {
    let script = String::from_utf8_lossy(script);
    match shell {
        Shell::Bash => format!("{script}{BASH_ADAPTERS}"),
        Shell::Fish => format!("{script}{FISH_ADAPTERS}"),
        // The function is defined before the last lines, which call the completion.
        Shell::Zsh => {
            let script = script
                .replace("as `dat list` shows it:_default", "as `dat list` shows it:_dat_adapters");
            match script.rfind("\nif [") {
                Some(end) => format!("{}{ZSH_ADAPTERS}{}", &script[..end], &script[end..]),
                None => format!("{script}{ZSH_ADAPTERS}"),
            }
        }
        _ => script.into_owned(),
    }
}
