//! A test in a network namespace of its own, whose limits it may change.

use std::process::Command;

use crate::process;

/// The command that runs a shell script and then an ignored test of this program, in new namespaces of users
/// and networks. The script has the rights of root there, and `lo` is up.
fn unshared(script: &str, test: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-ec"]);
    command.arg(format!("ip link set lo up\n{script}\nexec \"$@\"")).arg("sh");
    let program = process::command(test);
    command.arg(program.get_program()).args(program.get_args());
    command
}

/// Runs an ignored test in a network of its own that a shell script has prepared; the test must pass. Where such
/// a network is not possible, it does not run.
///
/// # Panics
/// If the test fails.
pub fn run(script: &str, test: &str) {
    let tried = unshared(script, test).arg("--list").output();
    if !tried.is_ok_and(|ran| ran.status.success()) {
        println!("NOT RUN: a network namespace with {script:?} is not possible here");
        return;
    }
    process::passes(&mut unshared(script, test));
}
