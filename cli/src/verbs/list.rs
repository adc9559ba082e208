//! `dat verbs list`: what a verbs program finds.

use rdma_verbs::Error;
use rdma_verbs::verbs::{Context, GidEntry, GidType, PortState, devices};

use crate::output::{Align, Output, Table};

/// Prints the devices of the libraries that the loader finds, each with the GIDs of its ports.
///
/// # Errors
/// A text: the libraries cannot be loaded, or a device cannot be opened.
pub(super) fn print(output: &mut Output) -> Result<(), String> {
    let failed = |error: Error| error.to_string();
    let devices = devices().map_err(failed)?;
    if devices.is_empty() {
        return Err("the libraries have no device".to_owned());
    }
    for device in devices {
        let context = device.open().map_err(failed)?;
        describe(&device.name, &context, output).map_err(failed)?;
    }
    Ok(())
}

fn describe(name: &str, context: &Context, output: &mut Output) -> rdma_verbs::Result<()> {
    let attributes = context.query()?;
    let port = context.query_port(1)?;
    let state = if port.state == PortState::Active { "active" } else { "not active" };
    let transports = match std::env::var("SOFT_VERBS").is_ok_and(|text| text.contains("shm=no")) {
        true => "TCP",
        false => "shared memory and TCP",
    };
    output.line(format!(
        "{name}: soft-verbs {} over {transports}, port 1 {state}",
        attributes.firmware
    ));
    let mut table = Table::new(&[
        ("GID", Align::Right),
        ("ADDRESS", Align::Left),
        ("TYPE", Align::Left),
        ("INTERFACE", Align::Left),
    ]);
    for entry in context.gid_table()? {
        table.row(vec![
            entry.index.to_string(),
            address(&entry),
            kind(entry.gid_type),
            entry.interface_name().unwrap_or_default(),
        ]);
    }
    table.print("  ", output);
    Ok(())
}

/// The IP address of a GID, which has the form of an IPv6 address.
fn address(entry: &GidEntry) -> String {
    let address = std::net::Ipv6Addr::from(entry.gid.0);
    address.to_ipv4_mapped().map_or_else(|| address.to_string(), |address| address.to_string())
}

fn kind(gid_type: GidType) -> String {
    match gid_type {
        GidType::InfiniBand => "InfiniBand".to_owned(),
        GidType::RoceV1 => "RoCE v1".to_owned(),
        GidType::RoceV2 => "RoCE v2".to_owned(),
        other => format!("{other:?}"),
    }
}
