//! What packages install with the command: shell completions and manual pages.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{COMMANDS, run};

#[test]
fn every_shell_gets_a_script_with_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{shell}");
        for command in COMMANDS {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
}

/// What bash completes the last of the words to.
fn bash_completes(words: &str, function: &str) -> String {
    let script = run(&["completions", "bash"]).out;
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_dat")).parent().expect("a folder");
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-e"])
        .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
        .env("DAT_OVERRIDE", "/nonexistent/dat.conf")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tests need bash anyway");
    let last = words.split(' ').next_back().unwrap_or_default();
    let index = words.split(' ').count() - 1;
    let ask = format!(
        "COMP_WORDS=({words}) COMP_CWORD={index}\n{function} dat {last} x || true\necho \"${{COMPREPLY[@]}}\"\n"
    );
    let mut input = bash.stdin.take().expect("piped");
    write!(input, "{script}\n{ask}").expect("it reads");
    drop(input);
    let answer = bash.wait_with_output().expect("it ends");
    assert!(answer.status.success());
    String::from_utf8_lossy(&answer.stdout).into_owned()
}

#[test]
fn bash_completes_by_its_script() {
    assert_eq!(bash_completes("dat per", "_dat"), "perf\n");
}

#[test]
fn bash_completes_the_names_of_adapters() {
    assert_eq!(bash_completes("dat ping loop", "_dat_adapters"), "loopback\n");
    assert_eq!(bash_completes("dat explain loop", "_dat_adapters"), "\n");
}

#[test]
fn each_command_has_a_manual_page() {
    let place = std::env::temp_dir().join(format!("dat-man-{}", std::process::id()));
    let folder = place.join("man1");
    let name = folder.to_str().expect("plain");
    for _ in 0..2 {
        // Into a new folder, and over what is there.
        let ran = run(&["man", name]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        assert_eq!(ran.out.lines().count(), COMMANDS.len() + 1);
    }
    let page = |file: &str| std::fs::read_to_string(folder.join(file)).expect("written");
    let whole = page("dat.1");
    for command in COMMANDS {
        assert!(whole.contains(command), "{command}");
        let own = page(&format!("dat-{command}.1"));
        for part in [".TH", "EXAMPLES", "EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"] {
            assert!(own.contains(part), "{part}: {own}");
        }
    }
    std::fs::remove_dir_all(&place).expect("made here");
}

#[test]
fn a_folder_that_can_not_be_made_is_said() {
    let ran = run(&["man", "/proc/no/such/folder"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("/proc/no/such/folder"), "{}", ran.err);
}
