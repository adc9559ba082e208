//! The check that the kernel lets a process access the memory of another one, which makes RDMA operations over shared
//! memory independent of the target's process.

use std::io::IoSliceMut;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, geteuid, getpid, getppid};

use super::report::Finding;

const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";
const USERS: &str = "/proc/self/uid_map";

/// An obstacle to access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Kernel,
    Seccomp,
    OtherUser,
    Yama(u32),
    UserNamespace,
    Unknown,
}

impl Obstacle {
    /// Its name among the facts.
    const fn key(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Seccomp => "seccomp",
            Self::OtherUser => "other_user",
            Self::Yama(_) => "yama",
            Self::UserNamespace => "user_namespace",
            Self::Unknown => "unknown",
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Kernel => "the kernel has no process_vm_readv".to_owned(),
            Self::Seccomp => "a seccomp profile forbids process_vm_readv".to_owned(),
            Self::OtherUser => "that process belongs to another user".to_owned(),
            Self::Yama(scope) => format!("kernel.yama.ptrace_scope is {scope}"),
            Self::UserNamespace => "this process is in a user namespace of its own".to_owned(),
            Self::Unknown => {
                "that process is not dumpable, or a security module forbids it".to_owned()
            }
        }
    }

    fn advise(self) -> Option<&'static str> {
        match self {
            Self::Seccomp => Some("allow process_vm_readv and process_vm_writev in the profile"),
            Self::Yama(1) => Some(
                "open the adapter as shm?ptracer=any on both sides, or as root: \
                 sysctl kernel.yama.ptrace_scope=0",
            ),
            Self::Yama(_) => Some("as root: sysctl kernel.yama.ptrace_scope=0"),
            _ => None,
        }
    }
}

/// The facts that decide.
#[derive(Clone, Copy, Debug)]
struct Circumstances {
    /// The result for this process itself, which depends on the system call only.
    own: Option<Errno>,
    is_same_user: bool,
    yama: u32,
    is_in_namespace: bool,
}

impl Circumstances {
    fn of(process: Pid) -> Self {
        let own = [0_u8; 8];
        let users = std::fs::read_to_string(USERS).unwrap_or_default();
        let yama = std::fs::read_to_string(YAMA).unwrap_or_default();
        Self {
            own: read(getpid(), own.as_ptr().expose_provenance()).err(),
            is_same_user: std::fs::metadata(format!("/proc/{process}"))
                .is_ok_and(|found| found.uid() == geteuid().as_raw()),
            yama: yama.trim().parse().unwrap_or(0),
            is_in_namespace: !users.split_ascii_whitespace().eq(["0", "0", "4294967295"]),
        }
    }

    const fn obstacle(self) -> Obstacle {
        match self {
            Self { own: Some(Errno::ENOSYS), .. } => Obstacle::Kernel,
            Self { own: Some(_), .. } => Obstacle::Seccomp,
            Self { yama: scope @ 1.., .. } => Obstacle::Yama(scope),
            Self { is_in_namespace: true, .. } => Obstacle::UserNamespace,
            Self { is_same_user: false, .. } => Obstacle::OtherUser,
            _ => Obstacle::Unknown,
        }
    }
}

/// Tries a child, and the parent, which Yama treats as any other process.
pub(super) fn check() -> [Finding; 2] {
    const CHILD: &str = "memory of a child";
    let child = match waiting_child() {
        Ok(mut child) => {
            let process = i32::try_from(child.id()).unwrap_or_default();
            let finding = finding(CHILD, Pid::from_raw(process));
            let _ = child.kill();
            let _ = child.wait();
            finding
        }
        Err(error) => Finding::note(CHILD, format!("not tried: cannot run cat: {error}")),
    };
    [child, finding("memory of another process", getppid())]
}

/// A process that waits for input.
fn waiting_child() -> std::io::Result<Child> {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

fn finding(subject: &str, process: Pid) -> Finding {
    if process.as_raw() <= 0 {
        return Finding::note(subject, "not tried: no other process is visible");
    }
    // No process has memory there, which the kernel finds only after it has permitted the access.
    match read(process, 0) {
        Ok(()) | Err(Errno::EFAULT) => {
            Finding::ok(subject, "can be accessed directly").fact("permitted", true)
        }
        Err(errno) => {
            let obstacle = Circumstances::of(process).obstacle();
            let found = format!(
                "cannot be accessed directly ({errno}): {}; RDMA operations between such processes are \
                 executed by the target's process",
                obstacle.describe()
            );
            let finding = Finding::note(subject, found)
                .fact("permitted", false)
                .fact("errno", errno as i32)
                .fact("forbidden_by", obstacle.key());
            obstacle.advise().into_iter().fold(finding, Finding::advise)
        }
    }
}

/// Reads a word from a process.
fn read(process: Pid, base: usize) -> Result<(), Errno> {
    let mut word = [0; 8];
    let remote = RemoteIoVec { base, len: word.len() };
    process_vm_readv(process, &mut [IoSliceMut::new(&mut word)], &[remote]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Circumstances =
        Circumstances { own: None, is_same_user: true, yama: 0, is_in_namespace: false };

    #[test]
    fn the_first_obstacle_is_named() {
        for (circumstances, key) in [
            (Circumstances { own: Some(Errno::ENOSYS), ..NONE }, "kernel"),
            (Circumstances { own: Some(Errno::EPERM), yama: 1, ..NONE }, "seccomp"),
            (Circumstances { yama: 1, is_in_namespace: true, ..NONE }, "yama"),
            (Circumstances { is_in_namespace: true, ..NONE }, "user_namespace"),
            (Circumstances { is_same_user: false, ..NONE }, "other_user"),
            (NONE, "unknown"),
        ] {
            assert_eq!(circumstances.obstacle().key(), key, "{circumstances:?}");
        }
        assert!(Obstacle::Yama(2).describe().contains("ptrace_scope is 2"));
        assert!(
            Obstacle::Seccomp.advise().is_some_and(|advice| advice.contains("process_vm_readv"))
        );
    }

    #[test]
    fn the_memory_of_this_process_is_accessible_and_that_of_none_is_not() {
        assert_eq!(read(getpid(), 0), Err(Errno::EFAULT));
        assert_eq!(read(Pid::from_raw(i32::MAX), 0), Err(Errno::ESRCH));
    }
}
