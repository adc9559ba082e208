//! The file of metrics.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dat_core::monitor::Watch;
use dat_core::{Close, Registry};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::pair::Pair;
use crate::{alone, open, own, pages};

/// A path for a file that is removed again.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dat-monitor-{name}-{}", std::process::id()))
}

#[test]
fn metrics_are_in_a_file_from_open_to_close() {
    let _alone = alone();
    let path = scratch("metrics");
    let pair = Pair::connect(&format!("loopback?monitor={}", path.display()));
    let second = open(&format!("loopback?monitor={}", path.display()));
    let other = open("loopback");
    own(&mut Watch::new());
    let text = std::fs::read_to_string(&path).expect("written");
    let count = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!((count("dat_endpoints{"), count("dat_requests{"), count("dat_stalled{")), (2, 2, 2));
    let expected = format!("dat_endpoints{{adapter=\"loopback\",ia=\"{}\"}} 2", pair.ia.id());
    assert!(text.lines().any(|line| line == expected), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once("} ").expect(line);
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    drop(second);
    assert!(path.exists());
    pair.ia.close(Close::Abrupt).expect("it is open");
    assert!(!path.exists());
    drop(other);
}

#[test]
fn a_metrics_file_that_cannot_be_written_is_an_error_of_the_open() {
    let _alone = alone();
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    let error = registry.open("loopback?monitor=/proc/no/such/file").expect_err("no folder");
    assert!(error.to_string().contains("/proc/no/such/file"), "{error}");
    assert_eq!(pages("self").len(), 0);
}

/// The folder of a test in a process of its own.
const FOLDER: &str = "DAT_TEST_FOLDER";

/// Writes metrics to a file while `begin` makes that fail, until `end`. The failure is said, the file keeps the last
/// metrics that fitted, the connection works, and then the file has the metrics of now.
fn survives(path: &Path, failure: &str, mut begin: impl FnMut(), end: impl FnOnce()) {
    let pair = Pair::connect(&format!("loopback?monitor={}", path.display()));
    let mut watch = Watch::new();
    let mut look_until = |is_right: &mut dyn FnMut(&str, &str) -> bool| {
        // A sample has the failure of the one before it, and comes late on a busy machine.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let trouble = own(&mut watch).adapters.remove(0).trouble;
            let text = std::fs::read_to_string(path).expect("there is always one");
            if is_right(&trouble, &text) {
                return text;
            }
            assert!(Instant::now() < deadline, "{trouble:?}: {text}");
        }
    };
    look_until(&mut |trouble, text| trouble.is_empty() && text.contains("dat_endpoints{"));
    let last = look_until(&mut |trouble, _| {
        // Again, because a file that was being written may have released the one before.
        begin();
        trouble.contains(failure)
    });
    assert!(last.contains("dat_endpoints{"), "{last}");
    pair.server.receive(&[pair.lmr.triplet(8, 8).expect("in it")], 2).expect("connected");
    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("connected");
    pair.take(2);
    let has_sent = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("dat_sent_requests_total{") && line.ends_with(" 1"))
    };
    assert!(!has_sent(&look_until(&mut |trouble, _| trouble.contains(failure))));
    end();
    look_until(&mut |trouble, text| trouble.is_empty() && has_sent(text));
}

/// This program, to run one of its ignored tests in a process of its own, after other arguments.
fn add_test<'a>(command: &'a mut Command, test: &str) -> &'a mut Command {
    command.args(["--exact", test, "--ignored", "--nocapture"])
}

/// Runs a command that must succeed within two minutes.
fn passes(command: &mut Command) {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.expect("a process");
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ran = child.wait_with_output().expect("a child");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}: {}{}", ran.status, text(&ran.stdout), text(&ran.stderr));
}

/// In mount and user namespaces of its own, where anyone may mount a small file system. A limit of file sizes, which
/// needs no privilege, tests the same below.
#[test]
fn a_full_disk_is_said_and_the_program_goes_on() {
    let _alone = alone();
    let folder = scratch("full");
    std::fs::create_dir_all(&folder).expect("a folder");
    let small = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
        command.arg("mount -t tmpfs -o size=64k none \"$0\"; exec \"$@\"").arg(&folder);
        command.env(FOLDER, &folder).arg(std::env::current_exe().expect("this program"));
        add_test(&mut command, "metrics::on_a_full_disk");
        command
    };
    let tried = small().arg("--list").output();
    if tried.as_ref().is_ok_and(|ran| ran.status.success()) {
        passes(&mut small());
    } else {
        // Directly, so that the test runner does not capture it.
        let _ = writeln!(std::io::stderr(), "NOT RUN: a full disk: no namespaces: {tried:?}");
    }
    std::fs::remove_dir(&folder).expect("it is empty here");
}

#[test]
#[ignore = "the process of the test above"]
fn on_a_full_disk() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the test above sets it"));
    let name = folder.join("ballast");
    let mut ballast = std::fs::File::create(&name).expect("there is space");
    // It takes all pages that the file does not have.
    let fill = || while ballast.write_all(&[1; 512]).is_ok() {};
    let release = || std::fs::File::create(&name).map(drop).expect("it exists");
    survives(&folder.join("metrics"), "No space left on device", fill, release);
}

#[test]
fn a_limit_of_file_sizes_is_said_and_the_program_goes_on() {
    let _alone = alone();
    let folder = scratch("limited");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    passes(add_test(command.env(FOLDER, &folder), "metrics::with_a_limit_of_file_sizes"));
    std::fs::remove_dir(&folder).expect("the metrics are removed");
}

#[test]
#[ignore = "the process of the test above, because the limit is one of the process"]
fn with_a_limit_of_file_sizes() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the test above sets it"));
    let before = getrlimit(Resource::Fsize);
    let set = |limit| setrlimit(Resource::Fsize, limit).expect("not above the maximum");
    let short = Rlimit { current: Some(16), ..before };
    survives(&folder.join("metrics"), "File too large", || set(short), || set(before));
}
