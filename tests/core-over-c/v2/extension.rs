//! The InfiniBand extensions of DAT 2.0: the operations of dat_extension_op, with the arguments
//! that the macros of its header give it, and its events.

use std::ffi::{CString, c_int};
use std::mem;
use std::net::{IpAddr, Ipv4Addr};
use std::ptr::null_mut;
use std::sync::Arc;

use real::error::{Result, Subtype};
use real::{Collective, CompletionFlags, DatagramEventKind, Operation, RmrTriplet};

use crate::abi::*;
use crate::api::adapter::Adapter;
use crate::api::attributes;
use crate::api::cr::private_data;
use crate::api::library::library;
use crate::api::result::check;
use crate::api::{DatagramAddress, DatagramEvent, Event, IaQuery, Segments, address, event};
use crate::version;

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
    let remote = version::remote(remote);
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
    let remote = version::remote(remote);
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
    let remote = version::remote(remote);
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
    pub(crate) fn address(&self) -> IpAddr {
        let mut address = self.0.address.ia_addr;
        let address = address::read((&raw mut address).cast());
        address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
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

/// Opens an adapter for queries.
pub(crate) fn open_query(name: &str) -> Result<IaQuery> {
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
    let (attributes, provider) = attributes::of(&ia, &provider);
    Ok(IaQuery { handle, attributes, provider })
}

/// Closes an adapter that was opened for queries.
pub(crate) fn close_query(handle: DAT_HANDLE) -> Result<()> {
    extended!(ib_close_query: handle, DAT_IB_CLOSE_QUERY_OP)
}

/// The operation of a completion that only the extensions define.
pub(crate) fn extended_operation(operation: DAT_DTOS) -> Operation {
    match operation {
        DAT_IB_DTO_RDMA_WRITE_IMMED => Operation::RdmaWriteImmediate,
        DAT_IB_DTO_RECV_IMMED => Operation::ReceiveImmediate,
        DAT_IB_DTO_FETCH_ADD => Operation::FetchAdd,
        DAT_IB_DTO_CMP_SWAP => Operation::CompareSwap,
        DAT_IB_DTO_SEND_UD => Operation::SendDatagram,
        DAT_IB_DTO_RECV_UD => Operation::ReceiveDatagram,
        other => panic!("{other} is not a DAT_DTOS"),
    }
}

/// The extension data of an event.
fn extension_data(from: &DAT_EVENT) -> DAT_IB_EXTENSION_EVENT_DATA {
    const { assert!(size_of::<DAT_IB_EXTENSION_EVENT_DATA>() <= size_of::<[DAT_UINT64; 8]>()) };
    let place = (&raw const from.event_extension_data).cast::<DAT_IB_EXTENSION_EVENT_DATA>();
    // SAFETY: the library writes the struct there, and every bit pattern is valid for it.
    unsafe { place.read() }
}

/// Converts an event of the extension; `None` for other events.
pub(crate) fn extension_event(from: &DAT_EVENT, ia: &Arc<Adapter>) -> Option<Event> {
    let data = &from.event_data;
    let kind = match from.event_number {
        DAT_IB_DTO_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            let mut done = version::completion(unsafe { &data.dto_completion_event_data });
            let more = extension_data(from);
            if done.operation == Operation::ReceiveImmediate {
                assert_eq!(more.r#type, DAT_IB_RDMA_WRITE_IMMED_DATA);
                // SAFETY: the type says which member of the union is set.
                done.extra = unsafe { more.val.immed.data };
            }
            return Some(Event::Dto(done));
        }
        DAT_IB_UD_CONNECTION_REQUEST_EVENT => {
            assert_eq!(extension_data(from).r#type, DAT_IB_UD_CONNECT_REQUEST);
            // SAFETY: the event number says which member of the union is set.
            let arrival = event::arrival(unsafe { &data.cr_arrival_event_data }, ia, true);
            return Some(Event::ConnectionRequest(arrival));
        }
        DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED => DatagramEventKind::Established,
        DAT_IB_UD_CONNECTION_REJECT_EVENT => DatagramEventKind::Rejected,
        DAT_IB_UD_CONNECTION_ERROR_EVENT => DatagramEventKind::Error,
        _ => return None,
    };
    // SAFETY: the event number says which member of the union is set.
    let data = unsafe { &data.connect_event_data };
    let remote = (kind == DatagramEventKind::Established).then(|| {
        let more = extension_data(from);
        assert!(matches!(more.r#type, DAT_IB_UD_REMOTE_AH | DAT_IB_UD_PASSIVE_REMOTE_AH));
        // SAFETY: the type says which member of the union is set.
        let address = unsafe { more.peer.remote_ah };
        let handle = AddressHandle { address, ep: data.ep_handle };
        DatagramAddress { remote: Remote(Arc::new(handle)) }
    });
    Some(Event::Datagram(DatagramEvent {
        kind,
        ep: event::id(data.ep_handle),
        passive: extension_data(from).r#type == DAT_IB_UD_PASSIVE_REMOTE_AH,
        remote,
        private_data: private_data(data.private_data_size, data.private_data),
    }))
}
