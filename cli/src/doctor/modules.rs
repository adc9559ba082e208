//! The kernel modules that RDMA needs.

use super::machine::Machine;
use super::report::{Check, Finding};
use super::system::System;

/// Each module, with a path that exists only if it is loaded.
const MODULES: [(&str, &str); 4] = [
    ("ib_core", "/sys/class/infiniband"),
    ("ib_uverbs", "/sys/class/infiniband_verbs"),
    ("rdma_cm", "/sys/class/misc/rdma_cm"),
    ("rdma_ucm", "/sys/class/misc/rdma_cm"),
];

/// The state of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Loaded,
    BuiltIn,
    /// Not loaded, but in the kernel's module directory.
    Available,
    /// Neither loaded nor available.
    Missing,
    /// Not loaded, and there is no module directory.
    Unknown,
}

/// Checks each module.
pub(super) fn check(machine: &Machine) -> Check {
    let folder = Folder::read(&machine.system);
    let finding = |&(name, sign): &(&str, &str)| {
        let state = state(&machine.system, &folder, name, sign);
        judge(machine, name, state)
    };
    Check {
        key: "modules",
        title: "Kernel modules",
        findings: MODULES.iter().map(finding).collect(),
    }
}

fn judge(machine: &Machine, name: &str, state: State) -> Finding {
    let word = match state {
        State::Loaded => "loaded",
        State::BuiltIn => "built_in",
        State::Available => "available",
        State::Missing => "missing",
        State::Unknown => "unknown",
    };
    let finding = match state {
        State::Loaded => Finding::ok(name, "loaded"),
        State::BuiltIn => Finding::ok(name, "built in"),
        _ if !machine.has_devices() => {
            Finding::note(name, "not loaded; only RDMA adapters need it")
        }
        _ => Finding::problem(name, "not loaded: RDMA devices cannot be used without it"),
    };
    let load = format!("as root: modprobe {name}");
    let finding = match state {
        State::Loaded | State::BuiltIn => finding,
        _ if !machine.has_devices() => finding,
        _ if machine.container.is_some() => finding.advise(format!("on the host, {load}")),
        State::Available | State::Unknown => finding.advise(load),
        State::Missing => finding.advise(
            "this kernel does not have it: install the package with its extra modules, or a \
             kernel with CONFIG_INFINIBAND",
        ),
    };
    finding.fact("state", word)
}

fn state(system: &System, folder: &Folder, name: &str, sign: &str) -> State {
    let module = format!("/sys/module/{name}");
    // Built-in modules have no load state.
    if system.has(format!("{module}/initstate")) {
        return State::Loaded;
    }
    if folder.builtin(name) || system.has(&module) || system.has(sign) {
        return State::BuiltIn;
    }
    folder.state(name)
}

/// The modules of the running kernel.
struct Folder {
    builtin: String,
    loadable: Option<String>,
}

impl Folder {
    fn read(system: &System) -> Self {
        let release = system.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let text = |file| {
            let bytes = system.bytes(format!("/lib/modules/{release}/{file}"), 16 << 20);
            Some(String::from_utf8_lossy(&bytes.ok()?).into_owned())
        };
        Self { builtin: text("modules.builtin").unwrap_or_default(), loadable: text("modules.dep") }
    }

    fn builtin(&self, name: &str) -> bool {
        self.builtin.lines().any(|line| is_module(line, name))
    }

    fn state(&self, name: &str) -> State {
        match &self.loadable {
            None => State::Unknown,
            Some(lines) if lines.lines().any(|line| is_module(line, name)) => State::Available,
            Some(_) => State::Missing,
        }
    }
}

/// Returns true if a line begins with the path of the module, compressed or not.
fn is_module(line: &str, name: &str) -> bool {
    let path = line.split(':').next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name)
}
