//! One header, put together.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::plan::{Header, Part, Pick, SLOT_NOUNS, Version};
use crate::{generate, redirect, source};

/// The text of a header of a version.
pub(crate) fn text(
    capi: &Path,
    version: Version,
    header: &Header,
) -> Result<String, Box<dyn Error>> {
    let guard = format!("{}_{}", version.folder(), header.name.replace('.', "_")).to_uppercase();
    let mut out = String::new();
    writeln!(out, "/*\n * {}\n *", header.about)?;
    writeln!(out, " * Part of DAT {}. Made by capi/headers: changes go there.", version.number())?;
    writeln!(out, " *\n * SPDX-License-Identifier: MIT OR Apache-2.0\n */\n")?;
    writeln!(out, "#ifndef {guard}\n#define {guard}\n")?;
    for include in header.includes {
        if include.starts_with('<') {
            writeln!(out, "#include {include}")?;
        } else {
            writeln!(out, "#include <{}/{include}>", version.folder())?;
        }
    }
    let mut body = String::new();
    for part in header.parts {
        body.push_str(&part_text(capi, version, part)?);
    }
    if !body.is_empty() {
        writeln!(out, "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n")?;
        out.push_str(&body);
        writeln!(out, "#ifdef __cplusplus\n}}\n#endif")?;
    }
    writeln!(out, "\n#endif")?;
    Ok(out)
}

fn part_text(capi: &Path, version: Version, part: &Part) -> Result<String, Box<dyn Error>> {
    match part {
        Part::Types { title, nouns, pick } => {
            section(title, &files(capi, "abi", "common", version, nouns), pick)
        }
        Part::Calls { title, nouns, pick } => {
            section(title, &files(capi, "exports", "", version, nouns), pick)
        }
        Part::Redirections => redirect::text(capi, version, SLOT_NOUNS),
        Part::Fragment(name) => fragment(capi, version, name),
    }
}

fn files(capi: &Path, kind: &str, common: &str, version: Version, nouns: &[&str]) -> Vec<PathBuf> {
    nouns.iter().flat_map(|noun| source::files(capi, kind, common, version, noun)).collect()
}

fn section(title: &str, files: &[PathBuf], pick: &Pick) -> Result<String, Box<dyn Error>> {
    let text = generate::text(files, pick)?;
    Ok(if text.is_empty() { text } else { format!("/* ---- {title} ---- */\n\n{text}\n") })
}

/// Both versions' text first, then the one's own; at least one must exist.
fn fragment(capi: &Path, version: Version, name: &str) -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    for folder in ["common", version.sources()] {
        let path = capi.join("headers/fragments").join(folder).join(format!("{name}.h"));
        if path.is_file() {
            let text =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            write!(out, "{}\n\n", text.trim_end())?;
        }
    }
    if out.is_empty() {
        return Err(format!("there is no fragment {name}").into());
    }
    Ok(out)
}
