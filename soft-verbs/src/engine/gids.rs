//! The table of GIDs: one for each address of this machine that a peer can reach without knowing an interface.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use dat_provider_kit::network::{Interface, is_link_local, try_interfaces};
use dat_sync::{Mutex, clock};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::address_handle::gid_of;

/// The length of the table that the port reports.
pub(crate) const TABLE_LENGTH: u32 = 64;

/// How long the list of addresses is not read again.
const FRESH: Duration = Duration::from_secs(1);

/// An entry of the table (`ibv_gid_entry`). Its type is always RoCE v2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GidEntry {
    /// The address: IPv6, or IPv4 in the mapped form; zero if it is gone.
    pub gid: [u8; 16],
    /// The index of the network interface (if_nametoindex(3)).
    pub interface: u32,
}

/// The table. Entries keep their places.
#[derive(Debug, Default)]
pub(crate) struct Gids(Mutex<(Option<Instant>, Vec<GidEntry>)>);

impl Gids {
    /// All entries; the address that the adapter reports comes first.
    pub(crate) fn all(&self, reported: Option<IpAddr>) -> Vec<GidEntry> {
        let mut guard = self.0.lock();
        let (read_at, table) = &mut *guard;
        let now = clock::now();
        if read_at.is_none_or(|then| now.duration_since(then) >= FRESH) {
            *read_at = Some(now);
            // Without a descriptor the system lists nothing, and the addresses are still there.
            let found = try_interfaces().ok().and_then(|found| listed(&found, reported));
            found.iter().for_each(|found| update(table, found));
        }
        table.clone()
    }

    /// The GID with that index.
    pub(crate) fn get(&self, index: usize, reported: Option<IpAddr>) -> Option<[u8; 16]> {
        self.all(reported).get(index).map(|entry| entry.gid)
    }
}

/// Lists the addresses of the interfaces that are up: the reported one, then the others, then those of the loopback
/// interface. Returns `None` if no descriptor is left.
fn listed(interfaces: &[Interface], reported: Option<IpAddr>) -> Option<Vec<GidEntry>> {
    let up = interfaces.iter().filter(|one| one.is_up);
    let addresses = up.flat_map(|one| one.addresses.iter().map(move |address| (one, address.ip())));
    let mut found: Vec<_> = addresses.filter(|(_, ip)| !is_link_local(*ip)).collect();
    found.sort_by_key(|(_, ip)| (Some(*ip) != reported, ip.is_loopback()));
    let entry = |(one, ip): (&Interface, IpAddr)| {
        let interface = match if_nametoindex(one.name.as_str()) {
            Err(Errno::EMFILE | Errno::ENFILE) => return None,
            found => found.unwrap_or(0),
        };
        Some(GidEntry { gid: gid_of(ip), interface })
    };
    found.into_iter().map(entry).collect()
}

/// Clears the entries that are gone, and puts new ones at the end or in the place of an entry that is gone for long.
fn update(table: &mut Vec<GidEntry>, found: &[GidEntry]) {
    for entry in table.iter_mut() {
        if !found.contains(entry) {
            *entry = GidEntry::default();
        }
    }
    for entry in found {
        if !table.contains(entry) && table.len() < TABLE_LENGTH as usize {
            table.push(*entry);
        }
    }
}

/// The GUID of the device: of the machine, so that all its processes have the same.
pub(crate) fn guid() -> [u8; 8] {
    const SOURCES: [&str; 2] = ["/etc/machine-id", "/proc/sys/kernel/hostname"];
    let text = SOURCES.map(|path| std::fs::read(path).unwrap_or_default()).concat();
    // FNV-1a.
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut guid = text.iter().fold(0xcbf2_9ce4_8422_2325, step).to_be_bytes();
    // Locally administered, and not a group.
    guid[0] = guid[0] & 0xfc | 0x02;
    guid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_places() {
        let entry = |last| GidEntry { gid: gid_of(IpAddr::from([192, 0, 2, last])), interface: 1 };
        let mut table = Vec::new();
        update(&mut table, &[entry(1), entry(2)]);
        update(&mut table, &[entry(3), entry(2)]);
        assert_eq!(table, [GidEntry::default(), entry(2), entry(3)]);
    }

    #[test]
    fn the_loopback_address_is_listed_after_those_that_lead_to_other_machines() {
        let all = Gids::default().all(None);
        let local = gid_of(IpAddr::from([127, 0, 0, 1]));
        let place = all.iter().position(|entry| entry.gid == local).expect("every machine has it");
        assert!(all[place..].iter().all(|entry| crate::address_of(&entry.gid).is_loopback()));
    }

    #[test]
    fn the_guid_is_locally_administered_and_stays() {
        assert_eq!((guid()[0] & 3, guid()), (2, guid()));
    }
}
