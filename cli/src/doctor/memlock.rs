//! The limit of locked memory, which registered memory counts against.

use super::container;
use super::machine::Machine;
use super::report::{Check, Finding};
use super::system::Limit;
use super::user::User;
use crate::units;

/// Below this limit, a few connections with their queues and buffers exceed it.
const LITTLE: u64 = 64 << 20;

/// Below this limit, Intel MPI does not start over any adapter, whatever the capabilities of the user are.
const INTEL_MPI: u64 = 32 << 20;

/// Checks the limits of this process.
pub(super) fn check(machine: &Machine) -> Check {
    let findings = match machine.system.limits("Max locked memory") {
        Some((soft, hard)) => {
            vec![
                judge(machine, soft, hard)
                    .fact("known", true)
                    .fact("soft_bytes", soft)
                    .fact("hard_bytes", hard),
                judge_for_intel_mpi(machine, soft, hard),
            ]
        }
        None => vec![
            Finding::note("memlock", "cannot read the limit from /proc/self/limits")
                .advise("ulimit -l shows it in KiB")
                .fact("known", false),
        ],
    };
    Check { key: "memlock", title: "Locked memory limit", findings }
}

fn judge(machine: &Machine, soft: Limit, hard: Limit) -> Finding {
    let found = if soft == hard {
        shown(soft)
    } else {
        format!("{} (soft limit), {} (hard limit)", shown(soft), shown(hard))
    };
    let Some(bytes) = soft else { return Finding::ok("memlock", found) };
    if machine.user.as_ref().is_some_and(User::locks_freely) {
        let found = format!("{found}, but this user is exempt (CAP_IPC_LOCK)");
        return Finding::ok("memlock", found);
    }
    if !machine.has_devices() {
        return Finding::ok("memlock", format!("{found}; only RDMA adapters need more"));
    }
    let finding = if bytes < LITTLE {
        Finding::problem("memlock", format!("{found}: too little to register much memory"))
    } else {
        Finding::note("memlock", format!("{found}: this limits how much memory can be registered"))
    };
    advise(finding, machine, bytes, hard)
}

/// Intel MPI is one program of many, and need not be installed: too low a limit is a note.
fn judge_for_intel_mpi(machine: &Machine, soft: Limit, hard: Limit) -> Finding {
    const SUBJECT: &str = "memlock for Intel MPI";
    let finding = match soft {
        Some(bytes) if bytes < INTEL_MPI => {
            let found = format!(
                "{}: Intel MPI does not start below {}, over any adapter",
                shown(soft),
                units::bytes(INTEL_MPI)
            );
            advise(Finding::note(SUBJECT, found), machine, bytes, hard)
        }
        _ => Finding::ok(SUBJECT, format!("at least {}", units::bytes(INTEL_MPI))),
    };
    finding
        .fact("needed_bytes", INTEL_MPI)
        .fact("sufficient", soft.is_none_or(|bytes| bytes >= INTEL_MPI))
}

fn shown(limit: Limit) -> String {
    limit.map_or_else(|| "no limit".to_owned(), units::bytes)
}

/// Adds how to raise the soft limit of `bytes`.
fn advise(finding: Finding, machine: &Machine, bytes: u64, hard: Limit) -> Finding {
    let finding = match hard {
        None => finding.advise("for this shell: ulimit -l unlimited"),
        Some(hard) if hard > bytes => {
            finding.advise(format!("for this shell: ulimit -l {}", hard / 1024))
        }
        Some(_) => finding,
    };
    if machine.container.is_some() {
        return finding.advise(container::LIMIT);
    }
    finding
        .advise(
            "for logins: the line \"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, \
             then log in again",
        )
        .advise("for a systemd service: LimitMEMLOCK=infinity in its unit")
        .advise(container::LIMIT)
}
