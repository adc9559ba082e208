//! Endpoints: creation, connection and end. Posts are in `post`.

use std::ptr::null;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::flags::{Close, ConnectFlags, Qos};
use dat_core::{
    Connect, Endpoint, EpAttributes, EpChange, EpSpec, EventDispatcher, InterfaceAdapter,
    ProtectionZone, SharedReceiveQueue, Timeout,
};

use crate::abi::*;
use crate::answer::{Answer, DONE};
use crate::argument::{self, array, count, given, invalid, mask, out};
use crate::call::post;
use crate::convert::address::{self, adapter_to_c};
use crate::convert::{self, boolean, endpoint};
use crate::handle::{self, object, optional_object};
use crate::{adapters, structs};

const HANDLE: Subtype = Subtype::InvalidHandleEp;

/// Maximum length in bytes of the private data that a call may pass; providers accept less.
const PRIVATE_DATA: u64 = 1 << 20;

/// The arguments of an endpoint's creation, except its attributes and shared queue.
struct Parts {
    pz: ProtectionZone,
    recv_evd: Option<EventDispatcher>,
    request_evd: Option<EventDispatcher>,
    connect_evd: Option<EventDispatcher>,
}

impl Parts {
    fn new(
        pz: DAT_PZ_HANDLE,
        recv: DAT_EVD_HANDLE,
        request: DAT_EVD_HANDLE,
        connect: DAT_EVD_HANDLE,
    ) -> Result<Self> {
        Ok(Self {
            pz: object(pz, Subtype::InvalidHandlePz)?,
            recv_evd: optional_object(recv, Subtype::InvalidHandleEvdRecv)?,
            request_evd: optional_object(request, Subtype::InvalidHandleEvdRequest)?,
            connect_evd: optional_object(connect, Subtype::InvalidHandleEvdConn)?,
        })
    }

    fn make(
        &self,
        ia: &InterfaceAdapter,
        srq: Option<&SharedReceiveQueue>,
        attributes: Option<&EpAttributes>,
    ) -> Result<DAT_EP_HANDLE> {
        let mut spec = EpSpec::new(&self.pz);
        if let Some(evd) = &self.recv_evd {
            spec = spec.recv_evd(evd);
        }
        if let Some(evd) = &self.request_evd {
            spec = spec.request_evd(evd);
        }
        if let Some(evd) = &self.connect_evd {
            spec = spec.connect_evd(evd);
        }
        if let Some(srq) = srq {
            spec = spec.srq(srq);
        }
        if let Some(attributes) = attributes {
            spec = spec.attributes(attributes);
        }
        Ok(handle::attach(ia.ep_create(&spec)?, adapters::table(ia)))
    }
}

/// The requested attributes of an endpoint; NULL for the provider's defaults.
///
/// # Safety
/// The address is NULL or that of readable attributes.
unsafe fn attributes(ep_attr: *const DAT_EP_ATTR, argument: u32) -> Result<Option<EpAttributes>> {
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let given = unsafe { argument::optional(ep_attr, argument) }?;
    // SAFETY: the lists in the attributes are as long as their counts say.
    given.map(|it| unsafe { endpoint::attributes_from_c(it, argument) }).transpose()
}

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> Answer {
    let ia = adapters::own(ia_handle)?;
    let parts = Parts::new(pz_handle, recv_evd_handle, request_evd_handle, connect_evd_handle)?;
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let attributes = unsafe { attributes(ep_attr, 6) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let place = unsafe { out(ep_handle, 7) }?;
    place.write(parts.make(&ia, None, attributes.as_ref())?);
    DONE
}

pub(crate) unsafe fn create_with_srq(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    recv_evd_handle: DAT_EVD_HANDLE,
    request_evd_handle: DAT_EVD_HANDLE,
    connect_evd_handle: DAT_EVD_HANDLE,
    srq_handle: DAT_SRQ_HANDLE,
    ep_attr: *const DAT_EP_ATTR,
    ep_handle: *mut DAT_EP_HANDLE,
) -> Answer {
    let ia = adapters::own(ia_handle)?;
    let parts = Parts::new(pz_handle, recv_evd_handle, request_evd_handle, connect_evd_handle)?;
    let srq = object(srq_handle, Subtype::InvalidHandleSrq)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let given = unsafe { argument::optional(ep_attr, 7) }?;
    // The manual page says that this field is ignored, whatever it holds: the queue has the
    // segments.
    let given = given.map(|it| DAT_EP_ATTR { max_recv_iov: 0, ..*it });
    // SAFETY: the caller guarantees that the address is NULL or that of readable attributes.
    let attributes = unsafe { attributes(given.as_ref().map_or(null(), |it| it), 7) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let place = unsafe { out(ep_handle, 8) }?;
    place.write(parts.make(&ia, Some(&srq), attributes.as_ref())?);
    DONE
}

pub(crate) unsafe fn query(
    ep_handle: DAT_EP_HANDLE,
    ep_param_mask: DAT_EP_PARAM_MASK,
    ep_param: *mut DAT_EP_PARAM,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    mask(ep_param_mask, DAT_EP_FIELD_ALL, 2)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let place = unsafe { out(ep_param, 3) }?;
    let param = endpoint.query()?;
    let shown = handle::keep(ep_handle, |kept| {
        let local = kept.local_address.set(adapter_to_c(param.local_address)).cast();
        let remote = match param.remote_address {
            Some(address) => kept.remote_address.set(adapter_to_c(address)).cast(),
            None => std::ptr::null_mut(),
        };
        (local, remote, endpoint::attributes_to_c(&param.attributes, kept))
    });
    let (local, remote, attributes) = shown.ok_or_else(|| gone("dat_ep_query"))?;
    place.write(structs::endpoint_param(&endpoint, &param, (local, remote), attributes));
    DONE
}

#[cold]
fn gone(operation: &'static str) -> Error {
    Error::new(ReturnType::InvalidHandle, HANDLE)
        .during(operation)
        .because("another thread freed the endpoint during the call")
}

/// The fields of an endpoint that `dat_ep_modify` never changes (dat_ep_modify(3DAT)).
const FIXED: DAT_EP_PARAM_MASK = structs::EP_FIXED;

pub(crate) unsafe fn modify(
    ep_handle: DAT_EP_HANDLE,
    ep_param_mask: DAT_EP_PARAM_MASK,
    ep_param: *const DAT_EP_PARAM,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let param = unsafe { given(ep_param, 3) }?;
    if ep_param_mask & (FIXED | !DAT_EP_FIELD_ALL) != 0 {
        return Err(invalid(
            2,
            format!("{ep_param_mask:#x} names parameters that cannot be changed"),
        )
        .during("dat_ep_modify")
        .advise("name only the protection zone, the dispatchers and the attributes"));
    }
    let mut change = EpChange::new();
    if ep_param_mask & DAT_EP_FIELD_PZ_HANDLE != 0 {
        change = change.pz(&object(param.pz_handle, Subtype::InvalidHandlePz)?);
    }
    let evd = |bit, handle, subtype| -> Result<Option<Option<EventDispatcher>>> {
        if ep_param_mask & bit == 0 { Ok(None) } else { optional_object(handle, subtype).map(Some) }
    };
    let recv =
        evd(DAT_EP_FIELD_RECV_EVD_HANDLE, param.recv_evd_handle, Subtype::InvalidHandleEvdRecv)?;
    let request = evd(
        DAT_EP_FIELD_REQUEST_EVD_HANDLE,
        param.request_evd_handle,
        Subtype::InvalidHandleEvdRequest,
    )?;
    let connect = evd(
        DAT_EP_FIELD_CONNECT_EVD_HANDLE,
        param.connect_evd_handle,
        Subtype::InvalidHandleEvdConn,
    )?;
    if let Some(evd) = recv {
        change = change.recv_evd(evd.as_ref());
    }
    if let Some(evd) = request {
        change = change.request_evd(evd.as_ref());
    }
    if let Some(evd) = connect {
        change = change.connect_evd(evd.as_ref());
    }
    if ep_param_mask & DAT_EP_FIELD_EP_ATTR_ALL != 0 {
        let mut attributes = endpoint.query()?.attributes;
        // SAFETY: the lists that the mask names are as long as their counts say.
        unsafe { endpoint::change_attributes(&mut attributes, ep_param_mask, &param.ep_attr) }?;
        change = change.attributes(&attributes);
    }
    endpoint.modify(&change)?;
    DONE
}

/// The private data of a call.
///
/// # Safety
/// The private data has `size` readable bytes.
pub(crate) unsafe fn private_data<'a>(
    size: DAT_COUNT,
    data: DAT_PVOID,
    arguments: (u32, u32),
) -> Result<&'a [u8]> {
    let size = count(size, arguments.0)?;
    // SAFETY: the caller guarantees the given number of readable elements.
    unsafe { array(data.cast::<u8>().cast_const(), size.into(), PRIVATE_DATA, arguments) }
}

pub(crate) unsafe fn connect(
    ep_handle: DAT_EP_HANDLE,
    remote_ia_address: DAT_IA_ADDRESS_PTR,
    remote_conn_qual: DAT_CONN_QUAL,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
    qos: DAT_QOS,
    connect_flags: DAT_CONNECT_FLAGS,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    // SAFETY: the caller guarantees a socket address, unless the check rejects it.
    let remote = unsafe { address::from_c(remote_ia_address, 2) }?;
    // SAFETY: the caller guarantees that the data has the given size.
    let private_data = unsafe { self::private_data(private_data_size, private_data, (5, 6)) }?;
    endpoint.connect(&Connect {
        address: remote.ip(),
        qualifier: remote_conn_qual,
        timeout: Timeout::from_micros(timeout),
        private_data,
        qos: Qos::from_bits_retain(qos),
        flags: ConnectFlags::from_bits_retain(connect_flags),
    })?;
    DONE
}

pub(crate) unsafe fn dup_connect(
    ep_handle: DAT_EP_HANDLE,
    dup_ep_handle: DAT_EP_HANDLE,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
    qos: DAT_QOS,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    let original: Endpoint = object(dup_ep_handle, HANDLE)?;
    // SAFETY: the caller guarantees that the data has the given size.
    let private_data = unsafe { self::private_data(private_data_size, private_data, (4, 5)) }?;
    let timeout = Timeout::from_micros(timeout);
    endpoint.dup_connect(&original, timeout, private_data, Qos::from_bits_retain(qos))?;
    DONE
}

/// Converts the flags of a close.
pub(super) fn close(flags: DAT_CLOSE_FLAGS) -> Result<Close> {
    match flags {
        DAT_CLOSE_ABRUPT_FLAG => Ok(Close::Abrupt),
        DAT_CLOSE_GRACEFUL_FLAG => Ok(Close::Graceful),
        other => Err(invalid(2, format!("invalid DAT_CLOSE_FLAGS value {other:#x}"))),
    }
}

pub(crate) unsafe fn disconnect(ep_handle: DAT_EP_HANDLE, close_flags: DAT_CLOSE_FLAGS) -> Answer {
    object::<Endpoint>(ep_handle, HANDLE)?.disconnect(close(close_flags)?)?;
    DONE
}

pub(crate) unsafe fn get_status(
    ep_handle: DAT_EP_HANDLE,
    ep_state: *mut DAT_EP_STATE,
    recv_idle: *mut DAT_BOOLEAN,
    request_idle: *mut DAT_BOOLEAN,
) -> Answer {
    post::on(ep_handle, |endpoint| {
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let state_place = unsafe { argument::optional_out(ep_state, 2) }?;
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let recv_place = unsafe { argument::optional_out(recv_idle, 3) }?;
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let request_place = unsafe { argument::optional_out(request_idle, 4) }?;
        let status = endpoint.status()?;
        if let Some(place) = state_place {
            place.write(status.state as DAT_EP_STATE);
        }
        if let Some(place) = recv_place {
            place.write(boolean(status.recv_idle));
        }
        if let Some(place) = request_place {
            place.write(boolean(status.request_idle));
        }
        Ok(())
    })
}

pub(crate) unsafe fn recv_query(
    ep_handle: DAT_EP_HANDLE,
    nbufs_allocated: *mut DAT_COUNT,
    bufs_alloc_span: *mut DAT_COUNT,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let allocated_place = unsafe { argument::optional_out(nbufs_allocated, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let span_place = unsafe { argument::optional_out(bufs_alloc_span, 3) }?;
    let buffers = endpoint.recv_query()?;
    if let Some(place) = allocated_place {
        place.write(convert::count(buffers.allocated));
    }
    if let Some(place) = span_place {
        place.write(convert::count(buffers.span));
    }
    DONE
}

pub(crate) unsafe fn set_watermark(
    ep_handle: DAT_EP_HANDLE,
    soft_high_watermark: DAT_COUNT,
    hard_high_watermark: DAT_COUNT,
) -> Answer {
    let endpoint: Endpoint = object(ep_handle, HANDLE)?;
    // DAT_WATERMARK_INFINITE and DAT_HW_DEFAULT are both -1 as a count.
    let mark =
        |value, argument| if value == -1 { Ok(None) } else { count(value, argument).map(Some) };
    endpoint.set_watermark(mark(soft_high_watermark, 2)?, mark(hard_high_watermark, 3)?)?;
    DONE
}

pub(crate) unsafe fn reset(ep_handle: DAT_EP_HANDLE) -> Answer {
    object::<Endpoint>(ep_handle, HANDLE)?.reset()?;
    DONE
}

pub(crate) unsafe fn free(ep_handle: DAT_EP_HANDLE) -> Answer {
    object::<Endpoint>(ep_handle, HANDLE)?.free()?;
    handle::reclaim();
    DONE
}
