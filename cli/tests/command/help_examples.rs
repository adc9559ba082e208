//! Every example of every help text runs. What an example says of another machine, or what would take
//! minutes, is replaced by its like on this one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Scratch, run};

/// The subcommands, as the help of `dat` lists them.
fn subcommands() -> Vec<String> {
    let help = run(&["--help"]).out;
    let commands = help.split("Commands:\n").nth(1).expect("a list of commands");
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // Descriptions of several lines continue further to the right.
    let lines = lines.filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split(' ').next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// The examples of a help text, without their explanations.
fn examples(help: &str) -> Vec<String> {
    let block = help.split("Examples:\n").nth(1).unwrap_or_default();
    let lines = block.lines().take_while(|line| !line.is_empty());
    let lines = lines.map(|line| line.strip_prefix("  ").expect("an indented example"));
    // An explanation is two blanks behind its example.
    lines.map(|line| line.split("  ").next().expect("an example").to_owned()).collect()
}

/// The example as it is run here.
fn here(example: &str, port: u16) -> String {
    let port = format!("--port {port}");
    let mut command = example
        .replace("rxe0-1", "tcp-lo")
        .replace("192.0.2.7", "127.0.0.1")
        .replace("/mnt/node7", "/")
        .replace("conformance mine", "conformance loopback")
        .replace("--seconds 60", "--seconds 1");
    let words: Vec<&str> = example.split(' ').collect();
    match words[1] {
        "perf" if !["--seconds", "--quick", "--listen"].iter().any(|it| example.contains(it)) => {
            command.push_str(" --quick")
        }
        // It would go on until Ctrl-C.
        "top" if !["--once", "--json"].iter().any(|it| example.contains(it)) => {
            command.push_str(" --once")
        }
        // A whole run takes long without optimization.
        "conformance" if !example.contains("::") => command.push_str(" extension::"),
        // The programs may not be installed, and a server would wait for its client.
        "verbs" if command.contains("ib") => {
            crate::verbs::build_libraries();
            return "dat verbs -- true".to_owned();
        }
        "verbs" => crate::verbs::build_libraries(),
        _ => {}
    }
    if command.ends_with("127.0.0.1")
        || command.contains("127.0.0.1 ")
        || example.contains("--listen")
    {
        command.push(' ');
        command.push_str(&port);
    }
    command
}

/// A command line in a shell, in a home directory of its own.
fn shell(line: &str, home: &Path) -> Command {
    let dat = Path::new(env!("CARGO_BIN_EXE_dat")).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a search path");
    let mut command = Command::new("bash");
    command
        .args(["-c", line])
        .current_dir(home)
        .env("HOME", home)
        .env("PATH", format!("{}:{path}", dat.display()))
        .env("DAT_OVERRIDE", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts a listener and waits until it says where it listens.
fn listen(line: &str, home: &Path) -> Child {
    // In place of the shell, so that it ends with the child.
    let mut child = shell(&format!("exec {line}"), home).spawn().expect("bash runs");
    let mut first = String::new();
    let out = child.stdout.as_mut().expect("piped");
    BufReader::new(out).read_line(&mut first).expect("a line");
    assert!(first.contains("listening at"), "{line}: {first}");
    child
}

#[test]
fn every_example_of_every_help_text_runs() {
    let home = Scratch::new("home");
    for folder in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"]
    {
        std::fs::create_dir_all(home.0.join(folder)).expect("a temporary directory");
    }
    std::fs::write(home.0.join("mine.txt"), "extension::*  not supported\n").expect("a file");
    let mut port = 27_300;
    let commands = subcommands();
    assert!(commands.len() >= 10, "{commands:?}");
    for name in std::iter::once(None).chain(commands.iter().map(Some)) {
        let arguments: Vec<&str> =
            name.map(String::as_str).into_iter().chain(std::iter::once("--help")).collect();
        let examples = examples(&run(&arguments).out);
        assert!(!examples.is_empty(), "{name:?} has no example");
        let mut listener: Option<Child> = None;
        for example in &examples {
            assert!(example.contains("dat "), "{example}");
            if example.contains("--listen") {
                port += 1;
                listener = Some(listen(&here(example, port), &home.0));
                continue;
            }
            let line = here(example, port);
            let ran = shell(&line, &home.0).output().expect("bash runs");
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            // The doctor's status says whether this machine has a problem.
            let is_well = ran.status.success()
                || example.contains("dat doctor")
                    && ran.status.code() == Some(1)
                    && !out.is_empty();
            assert!(is_well, "{example}, run as {line}: {}\n{out}{err}", ran.status);
            if let Some(mut server) = listener.take() {
                server.kill().expect("a child");
                server.wait().expect("a child");
            }
        }
        assert!(listener.is_none(), "{name:?} has a listener without a client");
    }
    std::fs::remove_dir_all(&home.0).expect("made above");
}
