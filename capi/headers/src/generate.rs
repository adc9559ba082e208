//! What cbindgen makes of the picked items of some sources.

use std::error::Error;
use std::path::PathBuf;

use cbindgen::{Builder, Config, DocumentationStyle, Language, Layout, SortKey, Style};
use syn::Item;

use crate::calls::Expanded;
use crate::plan::{self, Pick, Version};
use crate::{polish, source};

/// The C text for what is picked from `files`; empty if that is nothing.
pub(crate) fn text(
    files: &[PathBuf],
    pick: &Pick,
    version: Version,
) -> Result<String, Box<dyn Error>> {
    let mut picked = Vec::new();
    let mut others = Vec::new();
    let mut constants = Vec::new();
    let sources =
        files.iter().map(|path| source::items(path, version)).collect::<Result<Vec<_>, _>>()?;
    for items in &sources {
        for item in items {
            let Some(name) = source::name(item) else { continue };
            if !is_picked(&name, pick) {
                others.push(name);
                continue;
            }
            if let Item::Const(constant) = item {
                constants.extend(source::constant(constant));
            }
            picked.push(name);
        }
    }
    if picked.is_empty() {
        return Ok(String::new());
    }
    let mut config = Config {
        language: Language::C,
        style: Style::Type,
        no_includes: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C,
        line_length: 100,
        tab_width: 4,
        sort_by: SortKey::None,
        ..Config::default()
    };
    config.function.args = Layout::Auto;
    config.export.include = picked.clone();
    config.export.exclude = others;
    // Rust has no tags; in C these types have nothing else.
    for tag in ["sockaddr", "sockaddr_in6", "ibv_ah"] {
        config.export.rename.insert(tag.to_owned(), format!("struct {tag}"));
    }
    let expanded = Expanded::new(&sources)?;
    let mut out = Vec::new();
    Builder::new().with_config(config).with_src(&expanded.0).generate()?.write(&mut out);
    let text = polish::polish(&String::from_utf8(out)?, &constants);
    // cbindgen leaves out what it doesn't understand, and says nothing.
    match picked.iter().find(|name| !polish::words(&text).any(|word| word == name.as_str())) {
        Some(name) => Err(format!("nothing was made of {name}").into()),
        None => Ok(text),
    }
}

fn is_picked(name: &str, pick: &Pick) -> bool {
    match pick {
        Pick::Rest => !plan::placed(name) && !plan::slot(name),
        Pick::Slots => plan::slot(name),
        Pick::Only(names) => names.contains(&name),
    }
}
