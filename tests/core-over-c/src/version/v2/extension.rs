//! The operations of dat_extension_op for InfiniBand, with the arguments that the macros of its
//! header give it.

use std::ffi::{CString, c_int};
use std::mem;
use std::ptr::null_mut;
use std::sync::Arc;

use real::attr::{IaAttributes, ProviderAttributes};
use real::error::{Result, Subtype};
use real::{Address, Collective, CompletionFlags, RmrTriplet};

use super::conversion;
use crate::abi::*;
use crate::library::library;
use crate::result::check;
use crate::segments::Segments;
use crate::{address, attributes};

type ExtensionOp = unsafe extern "C" fn(DAT_HANDLE, DAT_EXTENDED_OP, ...) -> DAT_RETURN;

fn extension_op() -> ExtensionOp {
    library().shared.find(c"dat_extension_op")
}

/// Calls an extended operation by the name of its macro.
macro_rules! extended {
    ($name:ident: $handle:expr, $op:expr $(, $argument:expr)* $(,)?) => {{
        let call = extension_op();
        // SAFETY: the arguments have the types that the macro of the operation gives them, and
        // outlive the call.
        let code = unsafe { call($handle, $op as DAT_EXTENDED_OP $(, $argument)*) };
        check(code, stringify!($name))
    }};
}

/// Posts a write with immediate data.
pub(crate) fn write_immediate(
    ep: DAT_EP_HANDLE,
    iov: &mut Segments,
    cookie: u64,
    remote: &RmrTriplet,
    immediate: u32,
    flags: CompletionFlags,
) -> Result<()> {
    let remote = conversion::remote(remote);
    let (number, list, flags) = (iov.number(), iov.pointer(), flags.bits());
    extended!(
        ib_post_rdma_write_immed: ep,
        DAT_IB_RDMA_WRITE_IMMED_OP,
        number,
        list,
        cookie,
        &raw const remote,
        immediate,
        flags,
    )
}

/// Posts a fetch-and-add.
pub(crate) fn fetch_and_add(
    ep: DAT_EP_HANDLE,
    add: u64,
    local: &mut Segments,
    cookie: u64,
    remote: &RmrTriplet,
    flags: CompletionFlags,
) -> Result<()> {
    let remote = conversion::remote(remote);
    let (list, flags) = (local.pointer(), flags.bits());
    extended!(
        ib_post_fetch_and_add: ep,
        DAT_IB_FETCH_AND_ADD_OP,
        add,
        list,
        cookie,
        &raw const remote,
        flags,
    )
}

/// Posts a compare-and-swap.
pub(crate) fn compare_and_swap(
    ep: DAT_EP_HANDLE,
    (compare, swap): (u64, u64),
    local: &mut Segments,
    cookie: u64,
    remote: &RmrTriplet,
    flags: CompletionFlags,
) -> Result<()> {
    let remote = conversion::remote(remote);
    let (list, flags) = (local.pointer(), flags.bits());
    extended!(
        ib_post_cmp_and_swap: ep,
        DAT_IB_CMP_AND_SWAP_OP,
        compare,
        swap,
        list,
        cookie,
        &raw const remote,
        flags,
    )
}

/// The address of a datagram endpoint, as the library returned it.
#[derive(Clone)]
pub(crate) struct Remote(Arc<AddressHandle>);

/// An address handle, and the endpoint whose event returned it.
struct AddressHandle {
    address: DAT_IB_ADDR_HANDLE,
    ep: DAT_EP_HANDLE,
}

// SAFETY: the pointer is opaque here and only the library uses it; the rest are integers.
unsafe impl Send for AddressHandle {}
// SAFETY: as above.
unsafe impl Sync for AddressHandle {}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // Closing the adapter has freed it, or this call does. There is no call for the handle of
        // a freed endpoint.
        let _ = extended!(ib_ud_ah_free: self.ep, DAT_IB_UD_AH_FREE_OP, &raw const self.address);
    }
}

impl Remote {
    pub(crate) fn new(address: DAT_IB_ADDR_HANDLE, ep: DAT_EP_HANDLE) -> Self {
        Self(Arc::new(AddressHandle { address, ep }))
    }

    pub(crate) fn address(&self) -> Address {
        let mut address = self.0.address.ia_addr;
        address::read_adapter((&raw mut address).cast()).unwrap_or(Address::UNSPECIFIED)
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.address.qpn
    }
}

impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        (self.address(), self.number()) == (other.address(), other.number())
    }
}

impl Eq for Remote {}

/// Posts a datagram.
pub(crate) fn send_datagram(
    ep: DAT_EP_HANDLE,
    iov: &mut Segments,
    to: &Remote,
    cookie: u64,
    flags: CompletionFlags,
) -> Result<()> {
    let (number, list, flags) = (iov.number(), iov.pointer(), flags.bits());
    let to = &raw const to.0.address;
    extended!(ib_post_send_ud: ep, DAT_IB_UD_SEND_OP, number, list, to, cookie, flags)
}

/// Starts the counters of an object.
pub(crate) fn start_counters(handle: DAT_HANDLE) -> Result<()> {
    extended!(ib_start_counter: handle, DAT_IB_START_COUNTERS_OP, 0 as c_int)
}

/// Stops the counters of an object.
pub(crate) fn stop_counters(handle: DAT_HANDLE) -> Result<()> {
    extended!(ib_stop_counter: handle, DAT_IB_STOP_COUNTERS_OP, 0 as c_int)
}

/// Reads all counters of an object.
pub(crate) fn read_counters(handle: DAT_HANDLE, most: usize, reset: bool) -> Result<Vec<u64>> {
    let mut values = vec![0_u64; most];
    let all = c_int::try_from(most).expect("the count of counters fits");
    let reset = c_int::from(reset);
    let place = values.as_mut_ptr();
    extended!(ib_query_counters: handle, DAT_IB_QUERY_COUNTERS_OP, all, place, reset)?;
    Ok(values)
}

/// A collective operation.
pub(crate) fn collective(handle: DAT_IA_HANDLE, operation: Collective) -> Result<()> {
    let answered = extended!(ib_collective: handle, operation.number());
    // The C call takes any handle, so its error does not name an adapter.
    answered.map_err(|error| match error.subtype() {
        Subtype::InvalidHandle1 => error.with_subtype(Subtype::InvalidHandleIa),
        _ => error,
    })
}

/// Opens an adapter for queries: its handle, its attributes and those of its provider.
pub(crate) fn open_query(name: &str) -> Result<(DAT_HANDLE, (IaAttributes, ProviderAttributes))> {
    let name = CString::new(name).expect("names contain no NUL");
    let mut handle: DAT_HANDLE = null_mut();
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    let mut ia: DAT_IA_ATTR = unsafe { mem::zeroed() };
    // SAFETY: as above.
    let mut provider: DAT_PROVIDER_ATTR = unsafe { mem::zeroed() };
    extended!(
        ib_open_query: null_mut(),
        DAT_IB_OPEN_QUERY_OP,
        name.as_ptr(),
        &raw mut handle,
        DAT_IA_FIELD_ALL,
        &raw mut ia,
        DAT_PROVIDER_FIELD_ALL,
        &raw mut provider,
    )?;
    Ok((handle, attributes::of(&ia, &provider)))
}

/// Closes an adapter that was opened for queries.
pub(crate) fn close_query(handle: DAT_HANDLE) -> Result<()> {
    extended!(ib_close_query: handle, DAT_IB_CLOSE_QUERY_OP)
}
