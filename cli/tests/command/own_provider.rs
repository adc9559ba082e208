//! `dat_cli::run` with a provider of one's own: the example is the `dat` command for it.

use std::path::Path;
use std::process::Command;

use crate::common::{Ran, finish};

/// Runs the example. Cargo builds it with the tests, unless only some of them were selected.
fn run(arguments: &[&str]) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_dat")).with_file_name("examples/own_provider");
    if !program.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "dat-cli", "--example", "own_provider"]);
        assert!(build.status().expect("cargo runs").success());
    }
    finish(Command::new(program).env("DAT_OVERRIDE", "/dev/null").args(arguments))
}

#[test]
fn the_commands_work_with_its_adapter() {
    let ran = run(&["list"]);
    assert!(
        ran.out.contains("mine") && ran.out.contains("an example of a provider"),
        "{}",
        ran.out
    );
    let is_tcp = |line: &str| line.starts_with("tcp-");
    assert!(!ran.out.lines().any(is_tcp), "only what the program registered: {}", ran.out);
    let ran = run(&["ping", "mine"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let ran = run(&["perf", "mine", "--quick", "--sizes", "64", "--json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(ran.json()["latency"].as_array().map(Vec::len), Some(3));
    let ran = run(&["conformance", "mine", "pz::"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("0 failed"), "{}", ran.out);
}
