//! The Rust types and constants agree with the tables.

use dat_abi::VERSIONS;
use dat_abi::rust_types::Measured;

#[test]
fn the_types_are_what_the_tables_say() {
    for version in VERSIONS {
        let differences = Measured::of(version).differences(&version.tables());
        assert!(differences.is_empty(), "{version:?}: {differences:#?}");
    }
}

/// Every row is checked: with every row changed, each one is reported.
#[test]
fn wrong_rows_are_noticed() {
    for version in VERSIONS {
        let mut tables = version.tables();
        for row in &mut tables.constants {
            row.value_dec = row.value_dec.map(|value| value + 1);
            row.string.push('?');
        }
        tables.types.iter_mut().for_each(|row| row.align *= 2);
        tables.fields.iter_mut().for_each(|row| row.offset += 1);
        let differences = Measured::of(version).differences(&tables);
        let rows = tables.constants.len() + tables.types.len() + tables.fields.len();
        assert_eq!(differences.len(), rows, "{version:?}");
        let mut tables = version.tables();
        tables.types.iter_mut().for_each(|row| row.size += 1);
        tables.fields.iter_mut().for_each(|row| row.size += 1);
        let differences = Measured::of(version).differences(&tables);
        assert_eq!(differences.len(), tables.types.len() + tables.fields.len(), "{version:?}");
    }
}
