//! The GID tables of ports, with the type and the network device of each entry.

use std::ffi::{CStr, c_char};
use std::num::NonZeroU32;

use super::memory::reserved;
use super::{Context, Error, ErrorObject, Gid, Result, library};
use crate::sys::gid::{self as sys, ibv_gid_entry};

/// The protocol of packets with a GID (ibv_query_gid_ex(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GidType {
    /// InfiniBand; iWARP devices report this too.
    InfiniBand,
    /// RoCE version 1: Ethernet frames, which no IP router forwards.
    RoceV1,
    /// RoCE version 2: UDP over IPv4 or IPv6.
    RoceV2,
    /// A type that this version does not know.
    Unknown(u32),
}

impl GidType {
    const fn new(value: u32) -> Self {
        match value {
            sys::IBV_GID_TYPE_IB => Self::InfiniBand,
            sys::IBV_GID_TYPE_ROCE_V1 => Self::RoceV1,
            sys::IBV_GID_TYPE_ROCE_V2 => Self::RoceV2,
            other => Self::Unknown(other),
        }
    }
}

/// A valid entry of a GID table (ibv_query_gid_ex(3)).
///
/// ```
/// use rdma_verbs::verbs::{Context, GidType};
///
/// /// The index of a GID of RoCE v2 on that network interface.
/// fn index(context: &Context, interface: &str) -> rdma_verbs::Result<Option<u32>> {
///     let mut table = context.gid_table()?.into_iter().filter(|entry| entry.gid_type == GidType::RoceV2);
///     Ok(table.find(|entry| entry.interface_name().as_deref() == Some(interface)).map(|entry| entry.index))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct GidEntry {
    /// The GID.
    pub gid: Gid,
    /// Its index in the table of the port, as in
    /// [`GlobalRoute::source_index`](super::GlobalRoute::source_index).
    pub index: u32,
    /// The number of the port.
    pub port: u32,
    /// Its type.
    pub gid_type: GidType,
    /// The index of its network interface (netdevice(7)); `None` if it has none, as on InfiniBand.
    pub interface: Option<NonZeroU32>,
}

impl GidEntry {
    fn new(c: &ibv_gid_entry) -> Self {
        Self {
            gid: Gid(c.gid.raw),
            index: c.gid_index,
            port: c.port_num,
            gid_type: GidType::new(c.gid_type),
            interface: NonZeroU32::new(c.ndev_ifindex),
        }
    }

    /// The name of its network interface, such as `eth0`; `None` if it has none, or if the interface
    /// is not in the network namespace of this process (if_indextoname(3)).
    #[must_use]
    pub fn interface_name(&self) -> Option<String> {
        let mut name = [0 as c_char; libc::IF_NAMESIZE];
        // SAFETY: the array has the length that the function requires.
        let found = unsafe { libc::if_indextoname(self.interface?.get(), name.as_mut_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: after a success the array holds a text that ends with a zero byte.
        Some(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
    }
}

impl Context {
    /// An entry of the GID table of a port, by its index (ibv_query_gid_ex(3)).
    ///
    /// # Errors
    /// `ENODATA`: the entry is unused; `EINVAL`: there is no such entry or port; `EOPNOTSUPP`:
    /// libibverbs is too old.
    pub fn gid_entry(&self, port: u8, index: u32) -> Result<GidEntry> {
        const CALL: &str = "ibv_query_gid_ex";
        let failed = |error: Error| error.on(ErrorObject::Port(port));
        let call = library!(verbs)._ibv_query_gid_ex;
        let call = call.ok_or(failed(Error::new(CALL, libc::EOPNOTSUPP)))?;
        let (mut entry, size) = (ibv_gid_entry::default(), size_of::<ibv_gid_entry>());
        // SAFETY: the context is open, and the entry has the given size.
        let code = unsafe { call(self.raw(), u32::from(port), index, &raw mut entry, 0, size) };
        Error::check(CALL, code).map_err(failed)?;
        Ok(GidEntry::new(&entry))
    }

    /// The valid entries of the GID tables of all ports (ibv_query_gid_table(3)), ordered by port and
    /// index.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: libibverbs is too old. Otherwise the error of the kernel.
    pub fn gid_table(&self) -> Result<Vec<GidEntry>> {
        const CALL: &str = "ibv_query_gid_table";
        let call = library!(verbs)._ibv_query_gid_table;
        let call = call.ok_or(Error::new(CALL, libc::EOPNOTSUPP))?;
        let mut length = 0;
        for port in 1..=self.query()?.phys_port_cnt {
            length += self.query_port(port)?.gid_table_length as usize;
        }
        fill(length, |entries| {
            let (size, count) = (size_of::<ibv_gid_entry>(), entries.len());
            // SAFETY: the context is open, and the slice has the given length and size.
            let taken = unsafe { call(self.raw(), entries.as_mut_ptr(), count, 0, size) };
            // A negative value is an errno.
            let errno = i32::try_from(taken.unsigned_abs()).unwrap_or(libc::EIO);
            usize::try_from(taken).map_err(|_| Error::new(CALL, errno))
        })
    }
}

/// The entries with which `query` fills up to `length` of them; it returns their number.
fn fill(
    length: usize,
    query: impl FnOnce(&mut [ibv_gid_entry]) -> Result<usize>,
) -> Result<Vec<GidEntry>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    let mut entries = reserved(length)?;
    entries.resize(length, ibv_gid_entry::default());
    let count = query(&mut entries)?;
    let mut table = reserved(length)?;
    table.extend(entries.iter().take(count).map(GidEntry::new));
    table.sort_by_key(|entry: &GidEntry| (entry.port, entry.index));
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(port_num: u32, gid_index: u32, gid_type: u32, ndev_ifindex: u32) -> ibv_gid_entry {
        ibv_gid_entry { port_num, gid_index, gid_type, ndev_ifindex, ..ibv_gid_entry::default() }
    }

    #[test]
    fn entries_have_a_type_and_are_ordered_by_port_and_index() {
        let from = [entry(2, 0, 9, 0), entry(1, 5, 2, 3), entry(1, 4, 1, 3), entry(1, 0, 0, 0)];
        let table = fill(8, |entries| {
            assert_eq!(entries.len(), 8);
            entries[..4].copy_from_slice(&from);
            Ok(4)
        });
        let table = table.expect("four entries");
        let places: Vec<_> = table.iter().map(|entry| (entry.port, entry.index)).collect();
        assert_eq!(places, [(1, 0), (1, 4), (1, 5), (2, 0)]);
        let types: Vec<_> = table.iter().map(|entry| entry.gid_type).collect();
        let expected = [GidType::InfiniBand, GidType::RoceV1, GidType::RoceV2, GidType::Unknown(9)];
        assert_eq!(types, expected);
        assert_eq!(table[0].interface, None);
        assert_eq!(table[1].interface, NonZeroU32::new(3));
    }

    #[test]
    fn a_device_without_tables_is_not_queried() {
        let query = |_: &mut [ibv_gid_entry]| -> Result<usize> { panic!("C requires an entry") };
        assert_eq!(fill(0, query), Ok(Vec::new()));
        let failed = fill(1, |_| Err(Error::new("ibv_query_gid_table", libc::EIO)));
        assert_eq!(failed.expect_err("the error of the call").errno, libc::EIO);
    }

    #[test]
    fn a_library_without_the_calls_is_an_error_with_advice() {
        let error = Error::new("ibv_query_gid_ex", libc::EOPNOTSUPP).on(ErrorObject::Port(1));
        assert!(error.to_string().contains("rdma-core 32 or newer"), "{error}");
    }

    #[test]
    fn an_interface_has_a_name() {
        let named = |ndev_ifindex| GidEntry::new(&entry(1, 0, 2, ndev_ifindex)).interface_name();
        // SAFETY: the text ends with a zero byte.
        let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        assert_eq!(named(loopback).as_deref(), Some("lo"));
        assert_eq!(named(0), None);
        assert_eq!(named(u32::MAX), None, "there is no such interface");
    }
}
