//! A test in a network namespace of its own, whose limits it may change.

use std::process::{Child, Command, Stdio};

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

/// Another machine: a network namespace that a wire joins with this one, in which the test has to run.
#[derive(Debug)]
pub struct Machine {
    /// A process in it, which keeps it.
    holder: Child,
}

impl Machine {
    /// The address of this side of the wire, and of the other one.
    pub const NEAR: &str = "192.0.2.1";
    /// The address of the machine.
    pub const FAR: &str = "192.0.2.2";

    /// Creates the machine with its interface `far`; the one of this side is `near`.
    ///
    /// # Panics
    /// If the system refuses that.
    #[must_use]
    pub fn new() -> Self {
        let mut holder = Command::new("unshare");
        let holder = holder.args(["--net", "cat"]).stdin(Stdio::piped()).spawn();
        let machine = Self { holder: holder.expect("unshare") };
        let number = machine.holder.id();
        let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        dat_conformance::until("the network exists", || {
            network(&number.to_string()).is_some_and(|it| Some(it) != network("self"))
        });
        script(
            Command::new("sh"),
            &format!(
                "ip link add near type veth peer name far netns {number}
             ip addr add {}/24 dev near
             ip link set near up",
                Self::NEAR
            ),
        );
        machine.script(&format!(
            "ip addr add {}/24 dev far\nip link set far up\nip link set lo up",
            Self::FAR
        ));
        machine
    }

    /// The command that runs an ignored test of this program there.
    #[must_use]
    pub fn command(&self, test: &str) -> Command {
        let program = process::command(test);
        let mut command = self.enter();
        command.arg(program.get_program()).args(program.get_args());
        command
    }

    /// From now on, nothing that the machine sends arrives.
    pub fn silence(&self) {
        self.script(&format!("ip route add blackhole {}/32", Self::NEAR));
    }

    /// What it sends arrives again.
    pub fn restore(&self) {
        self.script(&format!("ip route del blackhole {}/32", Self::NEAR));
    }

    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.holder.id().to_string()]);
        command
    }

    fn script(&self, text: &str) {
        let mut command = self.enter();
        command.arg("sh");
        script(command, text);
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Runs a shell script by a command that ends in the name of the shell.
fn script(mut shell: Command, text: &str) {
    let ran = shell.args(["-ec", text]).output().expect("a shell");
    assert!(ran.status.success(), "{text}: {}", String::from_utf8_lossy(&ran.stderr));
}
