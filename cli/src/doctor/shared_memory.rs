//! Shared memory, which the adapters `shm` and `auto` need: sealed memory files, and a connection of
//! each to itself; and whether processes can access each other's memory.

use dat_core::registry::{Entry, EntryOrigin, EntryStatus};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;

use super::direct_access;
use super::machine::Machine;
use super::names;
use super::report::{Check, Finding};
use crate::output::Output;
use crate::providers;

/// Creates what a connection shares, and connects each adapter to itself. Nothing is tried of a copy.
pub(super) fn check(machine: &Machine, entries: &[Entry], output: &mut Output) -> Check {
    let mut findings = Vec::new();
    if machine.system.is_copy() {
        findings.push(Finding::note("connections", "not tried: this is a copy of a system"));
    } else {
        findings.push(memory_files(machine));
        findings.extend(direct_access::check());
        let is_shm = |entry: &&Entry| {
            [providers::AUTO, providers::SHM].contains(&entry.library.as_str())
                && matches!(entry.origin, EntryOrigin::Discovered)
                && matches!(entry.status, EntryStatus::Usable)
        };
        findings.extend(
            entries.iter().filter(is_shm).map(|entry| names::connects(&entry.name, "", output)),
        );
    }
    Check { key: "shared_memory", title: "Shared memory", findings }
}

/// Bytes of the memory file of a connection.
const LENGTH: u64 = 516 << 10;

/// The limit of the size of files, if a connection exceeds it.
fn too_low_limit(machine: &Machine) -> Option<u64> {
    let (soft, _) = machine.system.limits("Max file size")?;
    soft.filter(|limit| *limit < LENGTH)
}

/// A memory file whose length cannot change: a connection has one.
fn memory_files(machine: &Machine) -> Finding {
    const SUBJECT: &str = "memory files";
    if let Some(limit) = too_low_limit(machine) {
        let found = format!("may have at most {limit} bytes, and a connection needs {LENGTH}");
        return Finding::problem(SUBJECT, found)
            .advise("raise the limit of the size of files: ulimit -f unlimited")
            .fact("sealed", false)
            .fact("limit_bytes", limit);
    }
    match sealed() {
        Ok(()) => Finding::ok(SUBJECT, "can be created and sealed").fact("sealed", true),
        Err((call, errno)) => Finding::problem(SUBJECT, format!("{call} failed: {errno}"))
            .advise(what_forbids(errno))
            .fact("sealed", false)
            .fact("errno", errno as i32),
    }
}

fn sealed() -> Result<(), (&'static str, Errno)> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = memfd_create(c"dat-doctor", flags).map_err(|errno| ("memfd_create", errno))?;
    ftruncate(&file, 4096).map_err(|errno| ("ftruncate", errno))?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| ("F_ADD_SEALS", errno))?;
    Ok(())
}

/// The next check after a memory file could not be created.
fn what_forbids(errno: Errno) -> &'static str {
    match errno {
        Errno::EMFILE | Errno::ENFILE => "too few descriptors: raise ulimit -n",
        Errno::ENOMEM | Errno::ENOSPC => "too little memory: see free, and the limit of the cgroup",
        _ => "a seccomp profile of the container may forbid it: allow memfd_create and fcntl",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_sealed_memory_files() {
        assert_eq!(sealed(), Ok(()));
    }

    #[test]
    fn each_cause_has_its_advice() {
        assert!(what_forbids(Errno::EMFILE).contains("ulimit"));
        assert!(what_forbids(Errno::EPERM).contains("seccomp"));
    }
}
