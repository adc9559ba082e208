//! Where datagrams can be sent to, as C holds it (`DAT_IB_ADDR_HANDLE`). Its first member is no
//! address handle of libibverbs but a number of this table, which no program looks into.

use std::collections::BTreeMap;

use dat_core::DatagramAddress;
use parking_lot::RwLock;

use crate::abi::{DAT_IB_ADDR_HANDLE, DAT_SOCK_ADDR6};
use crate::convert::address;

struct Known {
    next: usize,
    addresses: BTreeMap<usize, Entry>,
}

/// An address, and the number of the adapter that it goes with.
struct Entry {
    adapter: u64,
    address: DatagramAddress,
}

/// Numbers look like addresses that are never mapped.
const STEP: usize = 8;

static KNOWN: RwLock<Known> = RwLock::new(Known { next: STEP, addresses: BTreeMap::new() });

/// Makes an address known to C.
pub(crate) fn make(adapter: u64, address: &DatagramAddress) -> DAT_IB_ADDR_HANDLE {
    let mut known = KNOWN.write();
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
    // SAFETY: the union has room for the larger of both, and all its bytes are set.
    unsafe { address::adapter_to_c(to.address()).v6 }
}

/// The address behind a handle of C's, if it goes with the adapter.
pub(crate) fn get(adapter: u64, handle: &DAT_IB_ADDR_HANDLE) -> Option<DatagramAddress> {
    let known = KNOWN.read();
    let found = known.addresses.get(&handle.ah.addr())?;
    (found.adapter == adapter).then(|| found.address.clone())
}

/// Forgets an address; whether it was known.
pub(crate) fn free(adapter: u64, handle: &DAT_IB_ADDR_HANDLE) -> bool {
    let mut known = KNOWN.write();
    let number = handle.ah.addr();
    let is_there = known.addresses.get(&number).is_some_and(|it| it.adapter == adapter);
    is_there && known.addresses.remove(&number).is_some()
}

/// Forgets the addresses of an adapter that closed.
pub(crate) fn free_all(adapter: u64) {
    KNOWN.write().addresses.retain(|_, it| it.adapter != adapter);
}
