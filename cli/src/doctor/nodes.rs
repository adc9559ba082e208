//! The device nodes in `/dev/infiniband`.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::container;
use super::machine::Machine;
use super::report::{Check, Finding};
use super::user::group_name;

const FOLDER: &str = "/dev/infiniband";

/// Checks that this user may open the nodes of the connection manager and every device.
pub(super) fn check(machine: &Machine) -> Check {
    let mut findings = Vec::new();
    if machine.has_devices() {
        findings.push(node(machine, "rdma_cm", "connections cannot be established"));
    }
    for device in &machine.devices {
        findings.push(match &device.uverbs {
            Some(name) => node(machine, name, &format!("{} cannot be used", device.name)),
            None => Finding::problem(
                &device.name,
                "the kernel has not created a node for this \
                 device",
            )
            .advise("as root: modprobe ib_uverbs"),
        });
    }
    if findings.is_empty() {
        let found = "no RDMA device, so none is needed";
        findings.push(Finding::ok(FOLDER, found).fact("exists", machine.system.has(FOLDER)));
    }
    Check { key: "device_files", title: "Device files", findings }
}

fn node(machine: &Machine, name: &str, otherwise: &str) -> Finding {
    let path = Path::new(FOLDER).join(name);
    let subject = path.display().to_string();
    let metadata = match machine.system.metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let cure = match (&machine.container, name) {
                (Some(_), _) => container::NODES,
                (None, "rdma_cm") => "as root: modprobe rdma_ucm",
                (None, _) => "as root: modprobe ib_uverbs, then udevadm trigger",
            };
            let found = format!("missing: {otherwise}");
            return Finding::problem(subject, found).advise(cure).fact("exists", false);
        }
        Err(error) => {
            let found = format!("cannot stat ({error}): {otherwise}");
            return Finding::problem(subject, found).advise("make /dev/infiniband readable");
        }
    };
    let group = group_name(&machine.system, metadata.gid());
    let mode = metadata.mode() & 0o7777;
    // If the user is unknown, the mode is not taken as a reason.
    let by_mode = machine.user.as_ref().is_some_and(|user| !user.may_use(&metadata));
    let refused = if machine.system.is_copy() {
        by_mode.then(|| io::Error::from(io::ErrorKind::PermissionDenied))
    } else if metadata.file_type().is_char_device() {
        // Only an open shows what ACLs and the device rules of containers allow.
        File::options().read(true).write(true).open(&path).err()
    } else {
        Some(io::Error::other("not a character device"))
    };
    let finding = match refused {
        None if machine.system.is_copy() && machine.user.is_none() => Finding::note(
            subject,
            format!(
                "unknown whether the user may open it (mode {mode:04o}, group {group}): the copy has no \
                 /proc/self/status"
            ),
        ),
        None => Finding::ok(subject, "this user may open it"),
        Some(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let found =
                format!("this user may not open it (mode {mode:04o}, group {group}): {otherwise}");
            let cure = forbidden(by_mode, mode, &group, machine.container.is_some());
            Finding::problem(subject, found).advise(cure)
        }
        Some(error) => Finding::problem(subject, format!("cannot open ({error}): {otherwise}"))
            .advise("check the kernel log: dmesg"),
    };
    finding.fact("exists", true).fact("mode", format!("{mode:04o}")).fact("group", group)
}

/// The advice for a node that the user may not open, because of its mode or other rules.
fn forbidden(by_mode: bool, mode: u32, group: &str, contained: bool) -> String {
    if by_mode && mode & 0o060 == 0o060 && group != "root" {
        format!("as root: usermod -aG {group} USER, then log in again")
    } else if by_mode {
        "it should have mode 0666, which rdma-core's udev rules set: reinstall rdma-core, or as \
         root: chmod 0666 /dev/infiniband/uverbs* /dev/infiniband/rdma_cm"
            .to_owned()
    } else if contained {
        container::NODES.to_owned()
    } else {
        "its mode allows it, so an ACL or a security module forbids it: see getfacl and the \
         kernel log (dmesg)"
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::forbidden;

    #[test]
    fn what_forbids_decides_over_the_cure() {
        for (by_mode, mode, group, contained, cure) in [
            (true, 0o660, "rdma", false, "usermod -aG rdma"),
            (true, 0o660, "rdma", true, "usermod -aG rdma"),
            (true, 0o660, "root", false, "chmod 0666"),
            (true, 0o600, "rdma", false, "chmod 0666"),
            (false, 0o666, "root", true, "--device"),
            (false, 0o666, "root", false, "an ACL"),
        ] {
            let advice = forbidden(by_mode, mode, group, contained);
            assert!(advice.contains(cure), "{cure}: {advice}");
        }
    }
}
