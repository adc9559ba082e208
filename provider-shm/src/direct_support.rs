//! Diagnosis of direct access: what the kernel permits, as far as one process can tell.

use rustix::io::Errno;

use crate::cma;

/// The setting of Yama; absent without Yama.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Makes Yama permit every process of the user to access this one, until it ends. Without Yama, there is nothing to
/// permit, and the call fails.
pub(crate) fn allow_any_process() {
    let _ = rustix::process::set_ptracer(rustix::process::PTracer::Any);
}

/// Returns `yes`, or `no` and the reason. `any_tracer` is true if processes permit access by [`allow_any_process`].
pub(crate) fn describe(any_tracer: bool) -> String {
    match obstacle(any_tracer) {
        None => "yes".to_owned(),
        Some(obstacle) => format!("no: {obstacle}"),
    }
}

/// Returns the obstacle to direct access, if any.
fn obstacle(any_tracer: bool) -> Option<String> {
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
    let is_root = rustix::process::geteuid().is_root();
    if is_forbidden(&scope, is_root, any_tracer) {
        let scope = scope.trim();
        let advice = if is_forbidden(scope, is_root, true) {
            ""
        } else {
            "; the parameter ptracer=any of both sides permits it"
        };
        return Some(format!("kernel.yama.ptrace_scope is {scope}{advice}"));
    }
    let is_dumpable = rustix::process::dumpable_behavior()
        .is_ok_and(|behavior| behavior == rustix::process::DumpableBehavior::Dumpable);
    (!is_dumpable).then(|| "the process is not dumpable (PR_SET_DUMPABLE)".to_owned())
}

/// Returns true if a setting of Yama forbids processes to access each other. Root may access any process, unless the
/// setting forbids it for all.
fn is_forbidden(scope: &str, is_root: bool, any_tracer: bool) -> bool {
    match scope.trim() {
        "" | "0" => false,
        "1" => !is_root && !any_tracer,
        "2" => !is_root,
        _ => true,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn yama_forbids_access_as_its_documentation_says() {
        // Each setting, and whether it forbids access to other users, to processes with permission, and to root.
        for (scope, others, permitted, root) in [
            ("", false, false, false),
            ("0\n", false, false, false),
            ("1\n", true, false, false),
            ("2\n", true, true, false),
            ("3\n", true, true, true),
        ] {
            assert_eq!(is_forbidden(scope, false, false), others, "{scope:?}");
            assert_eq!(is_forbidden(scope, false, true), permitted, "{scope:?} with ptracer=any");
            assert_eq!(is_forbidden(scope, true, false), root, "{scope:?} for root");
        }
    }
}
