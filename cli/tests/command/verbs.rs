//! `dat verbs`: programs over the libraries of `make verbs`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use crate::common::{dat, finish, run};

/// Builds the libraries where the command finds them. Each test is a process of its own, and one of them builds at a time.
pub(crate) fn build_libraries() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let built = Command::new("flock")
            .args(["Makefile", "make", "--no-print-directory", "verbs"])
            .current_dir(workspace)
            .output();
        let built = built.expect("flock and make are installed");
        assert!(built.status.success(), "make verbs: {}", String::from_utf8_lossy(&built.stderr));
    });
}

fn folder() -> PathBuf {
    let command = Path::new(env!("CARGO_BIN_EXE_dat"));
    let target = command.parent().and_then(Path::parent).expect("the folder of the build");
    target.canonicalize().expect("the command was built").join("capi/soft-verbs")
}

#[test]
fn the_list_has_the_device_and_a_gid_of_this_machine() {
    build_libraries();
    let ran = run(&["verbs", "list"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("soft0: "), "{}", ran.out);
    assert!(
        ran.out.lines().any(|line| line.contains("127.0.0.1") && line.ends_with("lo")),
        "{}",
        ran.out
    );
}

#[test]
fn a_wrong_parameter_of_the_device_is_explained() {
    build_libraries();
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    let ran = finish(command.env("SOFT_VERBS", "nosuchif").args(["verbs", "list"]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot open soft0 with SOFT_VERBS=\"nosuchif\""), "{}", ran.err);
}

#[test]
fn the_exit_status_is_that_of_the_program() {
    build_libraries();
    let ran = run(&["verbs", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(7), "out\n", "err\n"));
}

#[test]
fn the_libraries_are_in_front_of_those_of_the_environment() {
    build_libraries();
    let show = ["verbs", "--", "sh", "-c", "echo $LD_LIBRARY_PATH"];
    let ours = folder().display().to_string();
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    let ran = finish(command.env("LD_LIBRARY_PATH", "/opt/lib").args(show));
    assert_eq!(ran.out, format!("{ours}:/opt/lib\n"));
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    let ran = finish(command.env_remove("LD_LIBRARY_PATH").args(show));
    assert_eq!(ran.out, format!("{ours}\n"));
}

#[test]
fn missing_libraries_and_programs_are_reported_with_what_to_do() {
    build_libraries();
    let ran = run(&["verbs", "--libraries", "/nonexistent", "--", "true"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("/nonexistent") && ran.err.contains("make verbs"), "{}", ran.err);
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    let ran = finish(command.env("PATH", "/nonexistent").args(["verbs", "--", "ib_send_bw"]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("ib_send_bw") && ran.err.contains("perftest"), "{}", ran.err);
    assert_eq!(run(&["verbs"]).code, Some(2), "without a program");
}

#[test]
fn the_doctor_finds_the_device_without_the_kernel() {
    build_libraries();
    let command = env!("CARGO_BIN_EXE_dat");
    let ran = run(&["verbs", "--", command, "doctor"]);
    let line = ran.out.lines().find(|line| line.contains("soft0")).unwrap_or_default();
    assert!(line.contains("queue pairs"), "{}", ran.out);
}
