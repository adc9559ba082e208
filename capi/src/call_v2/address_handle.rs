//! Destinations of datagrams as C holds them (`DAT_IB_ADDR_HANDLE`). The first member is not an
//! address handle of libibverbs but a key of this table; programs do not use it.

use std::collections::BTreeMap;

use dat_core::DatagramAddress;
use dat_sync::{ProcessLock, Rank};

use crate::abi::{DAT_IB_ADDR_HANDLE, DAT_SOCK_ADDR6};
use crate::convert::address;

struct Known {
    next: usize,
    addresses: BTreeMap<usize, Entry>,
}

/// An address, and the id of its adapter.
struct Entry {
    adapter: u64,
    address: DatagramAddress,
}

/// Keys look like addresses that are never mapped.
const STEP: usize = 8;

static KNOWN: ProcessLock<Known> =
    ProcessLock::new(Rank::DatagramAddresses, Known { next: STEP, addresses: BTreeMap::new() });

/// Adds an address and returns its C handle.
pub(crate) fn make(adapter: u64, address: &DatagramAddress) -> DAT_IB_ADDR_HANDLE {
    let mut known = KNOWN.lock();
    let number = known.next;
    known.next += STEP;
    known.addresses.insert(number, Entry { adapter, address: address.clone() });
    DAT_IB_ADDR_HANDLE {
        ah: std::ptr::without_provenance_mut(number),
        qpn: address.number(),
        ia_addr: socket_address(address),
    }
}

fn socket_address(to: &DatagramAddress) -> DAT_SOCK_ADDR6 {
    // SAFETY: all bytes of the union up to the size of this member are initialised. Only the first
    // 26 bytes of the address of a fabric fit; programs send by the key.
    unsafe { address::adapter_to_c(to.address()).v6 }
}

/// The address of a C handle, if it belongs to the adapter.
pub(crate) fn get(adapter: u64, handle: &DAT_IB_ADDR_HANDLE) -> Option<DatagramAddress> {
    let known = KNOWN.lock();
    let found = known.addresses.get(&handle.ah.addr())?;
    (found.adapter == adapter).then(|| found.address.clone())
}

/// Removes an address; returns whether it was known.
pub(crate) fn free(adapter: u64, handle: &DAT_IB_ADDR_HANDLE) -> bool {
    let mut known = KNOWN.lock();
    let number = handle.ah.addr();
    let is_there = known.addresses.get(&number).is_some_and(|it| it.adapter == adapter);
    is_there && known.addresses.remove(&number).is_some()
}

/// Removes the addresses of an adapter that closed.
pub(crate) fn free_all(adapter: u64) {
    KNOWN.lock().addresses.retain(|_, it| it.adapter != adapter);
}
