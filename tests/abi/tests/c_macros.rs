//! Every macro of the headers calls the function in the tables, with its arguments in order, and
//! the strings and pointers have the values in the tables.

use std::path::Path;

use dat_abi::{VERSIONS, Version, c_macros, cc};

/// The output of the test program, if it fails.
fn failures(version: Version, name: &str, source: &str) -> Result<String, String> {
    let program = format!("{name}-{}", version.folder());
    cc::run(source, &Path::new(env!("CARGO_TARGET_TMPDIR")).join(program))
}

#[test]
fn macros_are_what_the_tables_say() {
    for version in VERSIONS {
        let tables = version.tables();
        assert!(c_macros::count(&tables) > 60, "{version:?}");
        let source = c_macros::program(version, &tables);
        if let Err(messages) = failures(version, "macros", &source) {
            panic!("{version:?}:\n{messages}");
        }
    }
}

/// A redirection to the wrong slot is noticed, for each of them.
#[test]
fn a_wrong_slot_is_noticed() {
    for version in VERSIONS {
        let tables = version.tables();
        let source = c_macros::program(version, &tables);
        let elsewhere = "static struct { void *slots[100]; } other;\n\
                         #undef DAT_HANDLE_TO_PROVIDER\n\
                         #define DAT_HANDLE_TO_PROVIDER(h) \\\n\
                         (filled((h)), (DAT_PROVIDER *)&other)\n\
                         static DAT_RETURN miss(void);\n\
                         static void filled(void *h)\n\
                         { int i; for (i = 0; i < 100; i++) other.slots[i] = miss; }\n\
                         static int failures";
        let source = source.replacen("static int failures", elsewhere, 1);
        let messages = failures(version, "wrong-slot", &source).unwrap_err();
        for row in tables.macros.iter().filter(|row| row.group == "redirection") {
            let line = format!("FAILED {} the slot", row.name);
            assert!(messages.lines().any(|l| l == line), "no {line}:\n{messages}");
        }
    }
}

/// Wrong operations and arguments of extensions are noticed, in every macro.
#[test]
fn wrong_operations_and_arguments_are_noticed() {
    let version = Version::V2;
    let mut tables = version.tables();
    for row in tables.macros.iter_mut().filter(|row| row.group == "ib_extension") {
        row.op = format!("({} + 1)", row.op);
    }
    let source = c_macros::program(version, &tables);
    let messages = failures(version, "wrong-operation", &source).unwrap_err();
    for row in tables.macros.iter().filter(|row| row.group == "ib_extension") {
        let line = format!("FAILED {} the operation", row.name);
        assert!(messages.lines().any(|l| l == line), "no {line}:\n{messages}");
    }
    let mut tables = version.tables();
    let mut turned = Vec::new();
    for row in tables.macros.iter_mut().filter(|row| row.group == "ib_extension") {
        // Rotated by one, every argument arrives in the wrong place.
        let mut arguments: Vec<&str> = row.arguments.split("; ").collect();
        if arguments.len() > 1 {
            arguments.rotate_left(1);
            row.arguments = arguments.join("; ");
            turned.push(row.name.clone());
        }
    }
    let source = c_macros::program(version, &tables);
    let messages = failures(version, "wrong-arguments", &source).unwrap_err();
    for name in turned {
        let start = format!("FAILED {name} ");
        assert!(messages.lines().any(|l| l.starts_with(&start)), "no {start}:\n{messages}");
    }
}
