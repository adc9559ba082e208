//! The headers agree with the tables: kind, value, size, alignment, offset, type, prototype.

use std::env;

use dat_abi::c_checks::{self, Check};
use dat_abi::{VERSIONS, Version, cc};
use dat_abi_table::Tables;

#[test]
fn the_headers_are_what_the_tables_say() {
    for version in VERSIONS {
        let checks = c_checks::all(&version.tables());
        assert!(checks.len() > 2000, "only {} checks of {version:?}", checks.len());
        if let Err(messages) = cc::assert(&c_checks::program(version, &checks)) {
            panic!("{version:?}:\n{messages}");
        }
    }
}

/// On a 32-bit processor the tables have the layouts of the Rust types; these headers say whether they are right.
#[test]
fn the_headers_of_another_library_have_the_same_layout() {
    let Some(folder) = env::var_os("DAT_OTHER_HEADERS") else {
        println!("NOT RUN: DAT_OTHER_HEADERS names no headers of another DAT 2.0 library");
        return;
    };
    let mut checks = c_checks::all(&Version::V2.tables());
    checks.retain(|check| {
        ["size of ", "alignment of ", "offset of "].iter().any(|kind| check.name.starts_with(kind))
    });
    assert!(checks.len() > 1000, "only {} checks", checks.len());
    if let Err(messages) =
        cc::assert_with(folder.as_ref(), &c_checks::program(Version::V2, &checks))
    {
        panic!("{messages}");
    }
}

/// Every check can fail: with every row changed, each one does.
#[test]
fn wrong_rows_are_noticed() {
    for version in VERSIONS {
        let checks = c_checks::all(&corrupted(version.tables()));
        let messages = cc::assert(&c_checks::program(version, &checks)).unwrap_err();
        let asleep: Vec<&str> = checks
            .iter()
            .filter(|check| !check.failed_in(&messages))
            .map(|check: &Check| check.name.as_str())
            .collect();
        assert!(asleep.is_empty(), "{version:?}: wrong and not noticed: {asleep:#?}");
    }
}

/// The tables with every value of every row changed.
fn corrupted(mut tables: Tables) -> Tables {
    for row in &mut tables.constants {
        // The kind is checked only where ISO C allows an enumerator.
        let number = row.value_dec.is_none_or(|value| i32::try_from(value).is_ok());
        if number || row.kind == "define" {
            row.kind = if row.kind == "enum" { "define" } else { "enum" }.to_owned();
        }
        row.value_dec = row.value_dec.map(|value| value + 1);
    }
    for row in &mut tables.types {
        row.size += 1;
        row.align *= 2;
        row.signedness = match row.signedness.as_str() {
            "signed" => "unsigned".to_owned(),
            "unsigned" => "signed".to_owned(),
            _ => String::new(),
        };
        row.prototype = row.prototype.replacen("(*)(", "(*)(DAT_UVERYLONG, ", 1);
        row.underlying = "struct unknown *".to_owned();
    }
    for row in &mut tables.fields {
        row.offset += 1;
        row.size += 1;
        if !row.c_type.contains('{') {
            row.c_type = "struct unknown *".to_owned();
        }
    }
    for row in &mut tables.slots {
        row.offset += 8;
        row.c_type = "struct unknown *".to_owned();
    }
    for row in &mut tables.arguments {
        row.return_type = "struct unknown *".to_owned();
    }
    tables
}
