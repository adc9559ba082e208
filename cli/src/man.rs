//! `dat man`: writes the manual pages of the command.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::Verdict;
use crate::output::{Output, clean, complain};
use crate::verdict::EXIT_CODES;

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
            Verdict::Passed
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
    let names: Vec<String> = command.get_subcommands().filter_map(full_name).collect();
    let all = std::iter::once(&command).chain(command.get_subcommands());
    all.map(|each| {
        let name = full_name(each).unwrap_or_else(|| command.get_name().to_owned());
        let path = folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        render(each, &name, &names, &mut page)?;
        std::fs::write(&path, page)?;
        Ok(path)
    })
    .collect()
}

/// The name of a subcommand's page.
fn full_name(command: &Command) -> Option<String> {
    command.get_display_name().map(str::to_owned)
}

/// The sections that concern every subcommand.
const FILES: &str = r#".SH FILES
.TP
.IR /etc/dat.conf ", " /etc/dat.conf.d/*.conf
Names of adapters (\fBdat.conf\fR(5)).
.SH ENVIRONMENT
.TP
.B DAT_OVERRIDE
The only configuration file to read.
.TP
.B NO_COLOR
If it is set, the output has no colours.
"#;

fn render(command: &Command, name: &str, names: &[String], page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone())
        .title(name)
        .date("2026-11-23")
        .source("DAT")
        .manual("DAT Programmer's Manual");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if command.get_opts().next().is_some() || command.get_positionals().next().is_some() {
        man.render_options_section(page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(page)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    render_help(&help, page)?;
    page.write_all(FILES.as_bytes())?;
    page.write_all(b".SH \"SEE ALSO\"\n")?;
    let others = names.iter().filter(|other| *other != name).map(|other| (other.as_str(), 1));
    let own = (name != "dat").then_some(("dat", 1));
    for (page_name, section) in own.into_iter().chain(others).chain([("dat.conf", 5)]) {
        writeln!(page, ".BR {} ({section}),", page_name.replace('-', "\\-"))?;
    }
    page.write_all(b".BR dat (7)\n")
}

/// The help text behind the options: examples, notes and exit codes. Indented lines are kept as they
/// are.
fn render_help(help: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut has_notes = false;
    for block in help.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let (title, text) = match block.split_once('\n') {
            Some(("Examples:", text)) => ("EXAMPLES", text),
            Some(("Exit codes:", text)) => ("EXIT STATUS", text),
            _ => ("NOTES", block),
        };
        if title != "NOTES" || !has_notes {
            writeln!(page, ".SH \"{title}\"")?;
        } else {
            page.write_all(b".PP\n")?;
        }
        has_notes |= title == "NOTES";
        let mut is_kept = false;
        for line in text.lines() {
            let indented = line.starts_with(' ');
            if indented != is_kept {
                page.write_all(if indented { b".EX\n" } else { b".EE\n" })?;
                is_kept = indented;
            }
            let line = if indented { line.strip_prefix("  ").unwrap_or(line) } else { line };
            writeln!(page, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
        if is_kept {
            page.write_all(b".EE\n")?;
        }
    }
    Ok(())
}
