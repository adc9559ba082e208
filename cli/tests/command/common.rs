//! Runs the command as a person or a script would.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The subcommands.
pub(crate) const COMMANDS: [&str; 11] = [
    "list",
    "doctor",
    "info",
    "ping",
    "perf",
    "explain",
    "conformance",
    "top",
    "verbs",
    "completions",
    "man",
];

/// How the command ended and what it wrote.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// The command, with a configuration that no file of the machine can change.
pub(crate) fn dat(configuration: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dat"));
    command
        .env("DAT_OVERRIDE", configuration)
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

/// Runs the command without a configuration.
pub(crate) fn run(arguments: &[&str]) -> Ran {
    finish(dat(Path::new("/nonexistent/dat.conf")).args(arguments))
}

/// Runs the command with the text of a configuration file; its name comes back too.
pub(crate) fn run_with(configuration: &str, arguments: &[&str]) -> (Ran, String) {
    let file = Scratch::new("conf");
    std::fs::write(&file.0, configuration).expect("a temporary file");
    let ran = finish(dat(&file.0).args(arguments));
    (ran, file.0.display().to_string())
}

pub(crate) fn finish(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// A name for a file that is taken away again.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(end: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dat-cli-{}-{count}.{end}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Waits until a process handles SIGINT, and sends it.
pub(crate) fn interrupt(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let handles = || {
        let text = std::fs::read_to_string(&status).expect("it runs");
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        u64::from_str_radix(mask.trim(), 16).expect("a mask") & 1 << (Signal::SIGINT as u32 - 1)
            != 0
    };
    while !handles() {
        std::thread::yield_now();
    }
    let id = i32::try_from(child.id()).expect("a process");
    kill(Pid::from_raw(id), Signal::SIGINT).expect("it runs");
}
