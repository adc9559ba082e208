//! The GIDs and the partition key of the port (ibv_query_gid(3), ibv_query_gid_ex(3), ibv_query_pkey(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;

use dat_soft_verbs::{DEFAULT_PKEY, GidEntry, PORT};
use libc::{size_t, ssize_t};
use rdma_verbs::sys::gid::{IBV_GID_TYPE_ROCE_V2, ibv_gid_entry};
use rdma_verbs::sys::verbs::{ibv_context, ibv_gid};

use super::context;
use crate::guard::{self, Failure, Result, in_range, invalid};
use crate::object::write_known;

/// The type of RoCE v2 in `ibv_query_gid_type`, which counts from RoCE v1.
const SYSFS_ROCE_V2: c_int = 1;

fn no_port(port: u32) -> Failure {
    invalid(format!("cannot query port {port}: the device has only port {PORT}"))
}

fn no_gid(index: u32) -> Failure {
    invalid(format!("cannot query GID {index}: `dat verbs list` shows the GIDs of port {PORT}"))
}

fn no_key(port: u8) -> Failure {
    invalid(format!(
        "cannot find the partition key at port {port}: there is only {DEFAULT_PKEY:#x} at index 0 of port {PORT}"
    ))
}

/// The table of the port, without its unused end.
///
/// # Safety
/// The context must be open.
unsafe fn table(context: *mut ibv_context, port: u32) -> Result<Vec<GidEntry>> {
    if port != u32::from(PORT) {
        return Err(no_port(port));
    }
    // SAFETY: the caller guarantees an open context.
    Ok(unsafe { context::core(context) }.gids())
}

/// The number of entries that the port says it has.
///
/// # Safety
/// The context must be open.
unsafe fn length(context: *mut ibv_context) -> Result<u32> {
    // SAFETY: the caller guarantees an open context.
    Ok(unsafe { context::core(context) }.port(PORT)?.gid_tbl_len)
}

/// A GID by its index; zeros for an unused entry. 0 or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    gid: &mut MaybeUninit<ibv_gid>,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees an open context.
        let table = unsafe { table(context, port.into()) }?;
        let index = in_range(index, "the index of a GID")?;
        // SAFETY: as above.
        if index >= unsafe { length(context) }? {
            return Err(no_gid(index));
        }
        let raw = table.get(index as usize).map_or([0; 16], |entry| entry.gid);
        gid.write(ibv_gid { raw });
        Ok(0)
    })
}

/// The type of a GID, for programs that know this function of rdma-core's drivers. 0 or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_gid_type(
    context: *mut ibv_context,
    port: u8,
    index: u32,
    gid_type: &mut MaybeUninit<c_int>,
) -> c_int {
    guard::number(|| {
        if port != PORT {
            return Err(no_port(port.into()));
        }
        // SAFETY: the caller guarantees an open context.
        if index >= unsafe { length(context) }? {
            return Err(no_gid(index));
        }
        gid_type.write(SYSFS_ROCE_V2);
        Ok(0)
    })
}

fn c_entry(index: usize, entry: &GidEntry) -> ibv_gid_entry {
    ibv_gid_entry {
        gid: ibv_gid { raw: entry.gid },
        // The table is short.
        gid_index: index as u32,
        port_num: PORT.into(),
        gid_type: IBV_GID_TYPE_ROCE_V2,
        ndev_ifindex: entry.interface,
    }
}

/// A used entry of the GID table: 0 or an errno, `ENODATA` for an unused one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    entry: *mut ibv_gid_entry,
    flags: u32,
    size: size_t,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees an open context.
        let table = unsafe { table(context, port) }?;
        if flags != 0 {
            return Err(invalid(format!(
                "cannot query a GID with the flags {flags:#x}: there are none"
            )));
        }
        // SAFETY: as above.
        if index >= unsafe { length(context) }? {
            return Err(no_gid(index));
        }
        let found = table.get(index as usize).filter(|found| found.gid != [0; 16]);
        let found = c_entry(index as usize, found.ok_or(Failure(libc::ENODATA))?);
        // SAFETY: the caller guarantees the entry.
        unsafe { write_known(&found, entry, size) };
        Ok(())
    })
}

/// The used entries of the GID table: their number, or a negative errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _ibv_query_gid_table(
    context: *mut ibv_context,
    entries: *mut ibv_gid_entry,
    max: size_t,
    flags: u32,
    size: size_t,
) -> ssize_t {
    let written = guard::run(|| {
        // SAFETY: the caller guarantees an open context.
        let table = unsafe { table(context, PORT.into()) }?;
        let used: Vec<_> =
            table.iter().enumerate().filter(|(_, entry)| entry.gid != [0; 16]).collect();
        if flags != 0 || used.len() > max {
            return Err(invalid(format!(
                "cannot query the table of GIDs into {max} entries with the flags {flags:#x}: it has {}",
                used.len()
            )));
        }
        for (place, (index, entry)) in used.iter().enumerate() {
            let into = entries.wrapping_byte_add(place * size);
            // SAFETY: the caller guarantees this number of entries.
            unsafe { write_known(&c_entry(*index, entry), into, size) };
        }
        Ok(used.len() as ssize_t)
    });
    written.unwrap_or_else(|Failure(errno)| -(errno as ssize_t))
}

/// A partition key by its index, in network byte order: 0 or -1.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_query_pkey(
    _context: *mut ibv_context,
    port: u8,
    index: c_int,
    key: &mut MaybeUninit<u16>,
) -> c_int {
    guard::number(|| {
        if port != PORT || index != 0 {
            return Err(no_key(port));
        }
        key.write(DEFAULT_PKEY.to_be());
        Ok(0)
    })
}

/// The index of a partition key in network byte order, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_pkey_index(_context: *mut ibv_context, port: u8, key: u16) -> c_int {
    guard::number(|| {
        if port != PORT || key != DEFAULT_PKEY.to_be() {
            return Err(no_key(port));
        }
        Ok(0)
    })
}
