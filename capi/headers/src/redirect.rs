//! The macros that call a provider through the table that a handle points to: one for each slot
//! of the table, with the arguments of its function.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use syn::{Fields, Item, Type};

use crate::plan::Version;
use crate::source;

/// Slots that only the registry may call: what it knows of open adapters would be wrong.
const REGISTRY_ONLY: &[&str] = &["ia_open_func", "ia_close_func"];

/// How long lines get, without the backslash at their end.
const LINE: usize = 97;

/// All macros of a version; `slots` are the sources of the types of slots.
pub(crate) fn text(
    capi: &Path,
    version: Version,
    slots: &[PathBuf],
) -> Result<String, Box<dyn Error>> {
    let mut arguments = BTreeMap::new();
    for path in slots {
        for item in source::items(path, version)? {
            if let Item::Type(pointer) = item
                && let Some(names) = source::arguments(&pointer)
            {
                arguments.insert(pointer.ident.to_string(), names);
            }
        }
    }
    let mut out = String::new();
    for path in source::files(capi, source::TYPES, version, "provider") {
        for item in source::items(&path, version)? {
            let Item::Struct(table) = item else { continue };
            let Fields::Named(slots) = table.fields else { continue };
            for slot in slots.named {
                let (Some(field), Type::Path(pointer)) = (slot.ident, slot.ty) else { continue };
                let field = field.to_string();
                let Some(call) = field.strip_suffix("_func") else { continue };
                if REGISTRY_ONLY.contains(&field.as_str()) {
                    continue;
                }
                let pointer = pointer.path.segments.last().map(|last| last.ident.to_string());
                let names = pointer
                    .and_then(|pointer| arguments.get(&pointer))
                    .ok_or_else(|| format!("the function of slot {field} is unknown"))?;
                out.push_str(&macro_for(call, &field, names)?);
            }
        }
    }
    Ok(out)
}

fn macro_for(call: &str, field: &str, names: &[String]) -> Result<String, Box<dyn Error>> {
    let handle = names.first().ok_or_else(|| format!("slot {field} takes no handle"))?;
    let head = format!("#define DAT_{}(", call.to_uppercase());
    let slot = format!("    DAT_HANDLE_TO_PROVIDER({handle})->{field}(");
    let passed: Vec<String> = names.iter().map(|name| format!("({name})")).collect();
    let mut out = list(&head, names, " \\\n");
    out.push_str(&list(&slot, &passed, "\n\n"));
    Ok(out)
}

/// `start`, the items with commas between them, `)` and `end`; broken where lines get too long.
fn list(start: &str, items: &[String], end: &str) -> String {
    let mut out = start.to_owned();
    let mut column = start.len();
    for (i, item) in items.iter().enumerate() {
        let close = if i + 1 == items.len() { ")" } else { "," };
        let space = if i == 0 { "" } else { " " };
        if column + space.len() + item.len() + close.len() > LINE {
            out.push_str(" \\\n        ");
            column = 8;
        } else {
            out.push_str(space);
            column += space.len();
        }
        out.push_str(item);
        out.push_str(close);
        column += item.len() + close.len();
    }
    out + end
}
