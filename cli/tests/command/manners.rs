//! Exit codes, help, colour and closed pipes: what scripts rely on.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::common::{COMMANDS, dat, finish, run};

#[test]
fn a_wrong_command_line_is_2() {
    for arguments in [
        &[][..],
        &["lst"],
        &["ping"],
        &["info", "loopback", "--jsn"],
        &["perf", "loopback", "--sizes", "0"],
        &["perf", "loopback", "--sizes", "4X"],
        &["perf", "loopback", "--op", "sned"],
        &["perf", "loopback", "--quick", "--seconds", "3"],
        &["ping", "loopback", "--timeout", "0"],
        &["ping", "loopback", "--timeout", "nan"],
        &["doctor", "loopback"],
        &["explain"],
        &["explain", ""],
        &["explain", "--all", "5"],
        &["ping", "loopback", "--port", "7000"],
        &["perf", "loopback", "--port", "7000"],
        &["verbs"],
        &["verbs", "true"],
        &["completions"],
        &["completions", "csh"],
        &["man"],
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!ran.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    for command in COMMANDS {
        let ran = run(&[command, "--help"]);
        assert_eq!(ran.code, Some(0));
        for part in ["Usage: dat ", "Examples:\n  dat ", "Exit codes:\n  0  success"] {
            assert!(ran.out.contains(part), "{command}: {part}\n{}", ran.out);
        }
    }
    let ran = run(&["--help"]);
    assert!(ran.out.contains("Examples:") && ran.out.contains("Exit codes:"), "{}", ran.out);
}

#[test]
fn what_no_terminal_reads_is_plain_ascii() {
    for arguments in [
        &["list"][..],
        &["doctor"],
        &["info", "loopback"],
        &["ping", "loopback"],
        &["ping", "loopback?max_eps=1"],
        &["perf", "loopback", "--seconds", "0.01", "--sizes", "64"],
        &["explain", "--all"],
        &["explain", "nonsense"],
        &["--help"],
    ] {
        for no_color in [None, Some("1")] {
            let mut command = dat(Path::new("/nonexistent/dat.conf"));
            if let Some(value) = no_color {
                command.env("NO_COLOR", value);
            }
            let ran = finish(command.args(arguments));
            let both = ran.out + &ran.err;
            assert!(both.is_ascii(), "{arguments:?}: {both}");
            let control = |c: char| c.is_ascii_control() && c != '\n';
            assert!(!both.contains(control), "{arguments:?}: {both:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    for arguments in [&["list"][..], &["explain", "--all"], &["ping", "loopback"]] {
        let mut child = dat(Path::new("/nonexistent/dat.conf"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        reader.read_line(&mut line).expect("a line");
        assert!(!line.is_empty());
        drop(reader);
        let ended = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let output = dat(Path::new("/nonexistent/dat.conf"))
        .arg("list")
        .stdout(full)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.starts_with("dat: cannot write the output"), "{err}");
}
