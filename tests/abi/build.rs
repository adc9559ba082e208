//! Generates Rust code that measures the types and members in the tables. Rust has no reflection,
//! so each row becomes an expression.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use dat_abi_table::Tables;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for (version, folder) in [("v1", "dat-1.2"), ("v2", "dat-2.0")] {
        let tables = Tables::read(&Path::new("tables").join(folder))?;
        fs::write(out.join(format!("{version}.rs")), measurements(&tables)?)?;
    }
    Ok(())
}

fn measurements(tables: &Tables) -> Result<String, Box<dyn Error>> {
    let mut out = String::from("measurements! {\n    types {\n");
    for row in &tables.types {
        let form = match row.signedness.as_str() {
            "" => "other",
            _ => "number",
        };
        writeln!(out, "        {form} {};", row.name)?;
    }
    writeln!(out, "    }}\n    fields {{")?;
    for row in &tables.fields {
        writeln!(out, "        {:?} {} ({});", row.field, row.of, path(&row.of, &row.field))?;
    }
    writeln!(out, "    }}\n    constants {{")?;
    for row in &tables.constants {
        let form = match row.c_type.as_str() {
            "string" => "string",
            "void *" => "pointer",
            _ => "number",
        };
        writeln!(out, "        {form} {};", row.name)?;
    }
    writeln!(out, "    }}\n}}")?;
    Ok(out)
}

/// The Rust path of a member: members without a name in C have one in Rust.
fn path(of: &str, field: &str) -> String {
    match (of, field) {
        (_, "type") => "r#type".to_owned(),
        ("DAT_IB_EXTENSION_EVENT_DATA", "(unnamed union 1)") => "peer".to_owned(),
        ("DAT_IB_EXTENSION_EVENT_DATA", "remote_ah" | "coll") => format!("peer.{field}"),
        _ => field.to_owned(),
    }
}
