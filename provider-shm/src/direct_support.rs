//! Whether the kernel lets processes access each other's memory, as far as one process can tell.

use rustix::io::Errno;

use crate::cma;

/// The setting of Yama; absent without Yama.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// `yes`, or `no` and the reason.
pub(crate) fn describe() -> String {
    match obstacle() {
        None => "yes".to_owned(),
        Some(obstacle) => format!("no: {obstacle}"),
    }
}

/// What forbids direct access.
fn obstacle() -> Option<String> {
    let word = 7_u64;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // Ptrace rights do not matter for the memory of this process, so only the system call itself can fail.
    match cma::read::<1>(own, (&raw const word).expose_provenance() as u64) {
        Ok(_) => {}
        Err(Errno::NOSYS) => return Some("the kernel has no process_vm_readv".to_owned()),
        Err(errno) => {
            return Some(format!("process_vm_readv: {errno}; a seccomp profile may forbid it"));
        }
    }
    let scope = std::fs::read_to_string(YAMA).unwrap_or_default();
    if is_forbidden(&scope, rustix::process::geteuid().is_root()) {
        return Some(format!("kernel.yama.ptrace_scope is {}", scope.trim()));
    }
    let is_dumpable = rustix::process::dumpable_behavior()
        .is_ok_and(|behavior| behavior == rustix::process::DumpableBehavior::Dumpable);
    (!is_dumpable).then(|| "the process is not dumpable (PR_SET_DUMPABLE)".to_owned())
}

/// Whether a setting of Yama forbids processes to access each other. Root may access any process,
/// unless no process may.
fn is_forbidden(scope: &str, is_root: bool) -> bool {
    match scope.trim() {
        "" | "0" => false,
        "1" | "2" => !is_root,
        _ => true,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn yama_forbids_access_as_its_documentation_says() {
        // Each setting, with what it means for other users and for root.
        for (scope, others, root) in [
            ("", false, false),
            ("0\n", false, false),
            ("1\n", true, false),
            ("2\n", true, false),
            ("3\n", true, true),
        ] {
            assert_eq!(is_forbidden(scope, false), others, "{scope:?}");
            assert_eq!(is_forbidden(scope, true), root, "{scope:?} for root");
        }
    }
}
