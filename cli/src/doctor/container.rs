//! The check for a container, which sees only the devices that its host passes in.

use super::machine::Machine;
use super::report::{Check, Finding};
use super::system::System;

/// A container.
#[derive(Debug)]
pub(super) struct Container {
    /// The kind of container.
    kind: String,
    /// The sign that it was detected by.
    sign: &'static str,
}

impl Container {
    /// Checks for the traces of container runtimes.
    pub(super) fn detect(system: &System) -> Option<Self> {
        let found = |kind: &str, sign| Some(Self { kind: kind.to_owned(), sign });
        if system.has("/run/.containerenv") {
            return found("Podman", "/run/.containerenv");
        }
        if system.has("/var/run/secrets/kubernetes.io") {
            return found("Kubernetes", "/var/run/secrets/kubernetes.io");
        }
        if system.has("/.dockerenv") {
            return found("Docker", "/.dockerenv");
        }
        for sign in ["/run/systemd/container", "/proc/1/environ"] {
            let text = system.text(sign).unwrap_or_default();
            let named = text.split('\0').find_map(|word| word.strip_prefix("container="));
            let whole = (sign == "/run/systemd/container").then_some(text.as_str());
            if let Some(kind) = named.or(whole).filter(|kind| !kind.is_empty()) {
                return found(kind, sign);
            }
        }
        let groups = system.text("/proc/1/cgroup").unwrap_or_default();
        let marks = [
            ("kubepods", "Kubernetes"),
            ("libpod", "Podman"),
            ("docker/", "Docker"),
            ("docker-", "Docker"),
            ("lxc/", "lxc"),
        ];
        let (_, kind) = marks.iter().find(|(mark, _)| groups.contains(mark))?;
        found(kind, "/proc/1/cgroup")
    }
}

/// The advice for missing device nodes.
pub(super) const NODES: &str = "pass the devices to the container: --device \
     /dev/infiniband/rdma_cm --device /dev/infiniband/uverbs0 (Docker, Podman), or an RDMA device \
      plugin (Kubernetes)";
/// The advice for the locked-memory limit.
pub(super) const LIMIT: &str = "in a container: start it with --ulimit memlock=-1:-1";

/// Reports whether this is a container.
pub(super) fn check(machine: &Machine) -> Check {
    let finding = match &machine.container {
        None => Finding::ok("container", "none").fact("kind", ()),
        Some(Container { kind, sign }) => {
            let found = format!(
                "{kind} (detected by {sign}): it sees only the devices that the \
                 host passes in"
            );
            let mut finding = Finding::note("container", found).fact("kind", kind);
            if !machine.devices.is_empty() && !machine.system.has("/dev/infiniband") {
                finding = finding.advise(NODES).advise(LIMIT);
            }
            finding
        }
    };
    Check { key: "container", title: "Container", findings: vec![finding] }
}
