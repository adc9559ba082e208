//! RDMA devices as programs see them: each is opened and queried through the libraries.

use rdma_verbs::verbs::{DeviceEntry, devices};

use super::machine::Machine;
use super::report::{Check, Finding};

/// Opens every device that the libraries find, which may be one without the kernel (dat-verbs(1)). Nothing is opened of a
/// copy.
pub(super) fn check(machine: &Machine) -> Check {
    let findings = match machine.system.root() {
        Some(_) => vec![Finding::note("devices", "not opened: this is a copy of a system")],
        None => open_all(machine),
    };
    Check { key: "verbs", title: "Verbs", findings }
}

fn open_all(machine: &Machine) -> Vec<Finding> {
    match devices() {
        Ok(devices) if !devices.is_empty() => devices.iter().map(open).collect(),
        Err(error) if machine.has_devices() => vec![failed("devices", &error)],
        Ok(_) if machine.has_devices() => {
            vec![
                Finding::problem("devices", "libibverbs.so.1 finds none of them")
                    .advise("install the library of the driver (Debian: ibverbs-providers)"),
            ]
        }
        Ok(_) | Err(_) => vec![Finding::note("devices", "there are none")],
    }
}

fn open(device: &DeviceEntry) -> Finding {
    match device.open().and_then(|context| context.query()) {
        Ok(attributes) => {
            let firmware = match attributes.firmware.as_str() {
                "" => String::new(),
                version => format!("firmware {version}, "),
            };
            let found = format!(
                "{firmware}at most {} queue pairs and {} memory regions",
                attributes.max_qp, attributes.max_mr
            );
            Finding::ok(&device.name, found)
                .fact("firmware", attributes.firmware)
                .fact("max_qp", attributes.max_qp)
                .fact("max_mr", attributes.max_mr)
        }
        Err(error) => failed(&device.name, &error),
    }
}

fn failed(subject: &str, error: &rdma_verbs::Error) -> Finding {
    Finding::problem(subject, error.to_string())
        .advise(error.advice().unwrap_or("see the kernel log: dmesg"))
        .fact("errno", error.errno)
}
