//! The other process of a test: the test program again, with the name of one ignored test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process, set_parent_process_death_signal,
    setrlimit,
};

/// The variable with the program that other processes run, if it is another build of this one: for a processor of 32 or
/// of 64 bits.
const OTHER_BUILD: &str = "DAT_TEST_OTHER_BUILD";

/// The command that runs an ignored test of this program in a process of its own.
///
/// # Panics
/// If the program does not know its own path.
#[must_use]
pub fn command(test: &str) -> Command {
    let other = std::env::var_os(OTHER_BUILD).map(Into::into);
    let program = other.unwrap_or_else(|| std::env::current_exe().expect("a test"));
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command
}

/// Runs an ignored test in a process of its own, which must pass, and returns what it printed.
///
/// # Panics
/// If it fails.
pub fn run(test: &str) -> String {
    passes(&mut command(test))
}

/// As [`run`], for a command that runs the test.
///
/// # Panics
/// If it fails.
pub fn passes(command: &mut Command) -> String {
    let ran = command.output().expect("a process");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&ran.stdout);
    assert!(ran.status.success(), "{printed}{}", text(&ran.stderr));
    printed
}

/// Starts a test that calls [`announce`]. Returns the process, whose standard input is open, and
/// its port.
///
/// # Panics
/// If it ends before it announces its port.
#[must_use]
pub fn start(test: &str) -> (Child, u64) {
    let (child, port) = started(&mut command(test));
    (child, port.expect("the peer listens"))
}

/// Like [`start`], with any command that runs the test. There is no port if it ends without
/// announcing one.
///
/// # Panics
/// If the command cannot be run.
pub fn started(command: &mut Command) -> (Child, Option<u64>) {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = output.by_ref().lines().map_while(Result::ok);
    let port = lines.find_map(|line| line.strip_prefix("port ")?.parse().ok());
    // Kept open, since the process may print more.
    child.stdout = Some(output.into_inner());
    (child, port)
}

/// In the other process: prints the port to connect to. From then on, the process ends with its
/// parent.
///
/// # Panics
/// If the system refuses this.
pub fn announce(port: u64) {
    set_parent_process_death_signal(Some(Signal::KILL)).expect("Linux");
    println!("\nport {port}");
}

/// The process identifier of a child.
///
/// # Panics
/// Never: process identifiers are positive.
#[must_use]
pub fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("not 0")
}

/// Stops a child, and returns when each of its threads has stopped.
///
/// # Panics
/// If the system refuses that.
pub fn stop(child: &Child) {
    kill_process(pid(child), Signal::STOP).expect("a child");
    let tasks = format!("/proc/{}/task", child.id());
    let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.expect("a task").path().join("stat"));
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    };
    dat_conformance::until("it has stopped", || {
        std::fs::read_dir(&tasks).expect("a child").all(is_stopped)
    });
}

/// Continues a child.
///
/// # Panics
/// If the system refuses that.
pub fn go_on(child: &Child) {
    kill_process(pid(child), Signal::CONT).expect("a child");
}

/// The number of open descriptors of this process.
///
/// # Panics
/// If /proc can't be read.
#[must_use]
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// Raises the limit of descriptors of this process to the hard limit, which adapters leave alone.
///
/// # Panics
/// If the system refuses this.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("not above");
}

/// Maximum number of memory files of ended connections that an adapter `shm` keeps mapped: this many that it has created,
/// and this many that its peers have created.
pub const MOST_KEPT: usize = 4;

/// The number of memory files that this process has mapped.
///
/// # Panics
/// If /proc can't be read.
#[must_use]
pub fn mapped_files() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    maps.lines().filter(|line| line.contains("/memfd:dat-")).count()
}
