//! Endpoints: queries, changes, connection and end. `ep_create` creates them, and `post` has the posts.

use dat_core::flags::{Close, ConnectFlags, Qos};
use dat_core::{Connect, EpUpdate};

use super::*;
use crate::convert::address::{self, adapter_to_c};
use crate::convert::{boolean, endpoint};

query_call! { Ep as DAT_EP_PARAM, DAT_EP_FIELD_ALL: |endpoint, ep_handle| {
    let param = endpoint.query()?;
    let shown = handle::with_storage(ep_handle, |kept| {
        let local = kept.local_address.set(adapter_to_c(param.local_address)).cast();
        let remote = match param.remote_address {
            Some(address) => kept.remote_address.set(adapter_to_c(address)).cast(),
            None => std::ptr::null_mut(),
        };
        (local, remote, endpoint::attributes_to_c(&param.attributes, kept))
    });
    let (local, remote, attributes) = shown.ok_or_else(|| gone("dat_ep_query"))?;
    endpoint::param_to_c(&endpoint, &param, (local, remote), attributes)
}}

#[cold]
fn gone(operation: &'static str) -> Error {
    Error::new(ReturnType::InvalidHandle, Ep::SUBTYPE)
        .during(operation)
        .because("another thread freed the endpoint during the call")
}

/// The fields of an endpoint that dat_ep_modify(3DAT) can change.
const CHANGEABLE: DAT_EP_PARAM_MASK = DAT_EP_FIELD_PZ_HANDLE
    | DAT_EP_FIELD_RECV_EVD_HANDLE
    | DAT_EP_FIELD_REQUEST_EVD_HANDLE
    | DAT_EP_FIELD_CONNECT_EVD_HANDLE
    | DAT_EP_FIELD_EP_ATTR_ALL;

pub(crate) unsafe fn modify(
    ep_handle: DAT_EP_HANDLE,
    ep_param_mask: DAT_EP_PARAM_MASK,
    ep_param: *const DAT_EP_PARAM,
) -> CallResult {
    use Subtype::{InvalidHandleEvdConn, InvalidHandleEvdRecv, InvalidHandleEvdRequest};
    let endpoint: Ep = object(ep_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let param = unsafe { given(ep_param, 3) }?;
    if ep_param_mask & !CHANGEABLE != 0 {
        let reason = format!("{ep_param_mask:#x} names parameters that cannot be changed");
        return Err(invalid(2, reason)
            .during("dat_ep_modify")
            .advise("name only the protection zone, the dispatchers and the attributes"));
    }
    let mut update = EpUpdate::new();
    if ep_param_mask & DAT_EP_FIELD_PZ_HANDLE != 0 {
        update = update.pz(&object(param.pz_handle)?);
    }
    let evd = |bit, handle, subtype| -> Result<Option<Option<Evd>>> {
        if ep_param_mask & bit == 0 { Ok(None) } else { optional_object(handle, subtype).map(Some) }
    };
    let DAT_EP_PARAM { recv_evd_handle, request_evd_handle, connect_evd_handle, .. } = param;
    if let Some(evd) = evd(DAT_EP_FIELD_RECV_EVD_HANDLE, recv_evd_handle, InvalidHandleEvdRecv)? {
        update = update.recv_evd(evd.as_ref());
    }
    let bit = DAT_EP_FIELD_REQUEST_EVD_HANDLE;
    if let Some(evd) = evd(bit, request_evd_handle, InvalidHandleEvdRequest)? {
        update = update.request_evd(evd.as_ref());
    }
    let bit = DAT_EP_FIELD_CONNECT_EVD_HANDLE;
    if let Some(evd) = evd(bit, connect_evd_handle, InvalidHandleEvdConn)? {
        update = update.connect_evd(evd.as_ref());
    }
    if ep_param_mask & DAT_EP_FIELD_EP_ATTR_ALL != 0 {
        let mut attributes = endpoint.query()?.attributes;
        // SAFETY: the lists that the mask names are as long as their counts say.
        unsafe { endpoint::change_attributes(&mut attributes, ep_param_mask, &param.ep_attr) }?;
        update = update.attributes(&attributes);
    }
    endpoint.modify(&update)?;
    OK
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
) -> CallResult {
    let endpoint: Ep = object(ep_handle)?;
    let own = endpoint.adapter().attributes().address;
    // SAFETY: the caller guarantees a socket address, unless the check rejects it.
    let remote = unsafe { address::peer_from_c(remote_ia_address, 2, own) }?;
    // SAFETY: the caller guarantees that the data has the given size.
    let private_data = unsafe { argument::private_data(private_data_size, private_data, (5, 6)) }?;
    endpoint.connect(&Connect {
        address: remote,
        qualifier: remote_conn_qual,
        timeout: Timeout::from_micros(timeout),
        private_data,
        qos: Qos::from_bits_retain(qos),
        flags: ConnectFlags::from_bits_retain(connect_flags),
    })?;
    OK
}

pub(crate) unsafe fn dup_connect(
    ep_handle: DAT_EP_HANDLE,
    dup_ep_handle: DAT_EP_HANDLE,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
    qos: DAT_QOS,
) -> CallResult {
    let endpoint: Ep = object(ep_handle)?;
    let original: Ep = object(dup_ep_handle)?;
    // SAFETY: the caller guarantees that the data has the given size.
    let private_data = unsafe { argument::private_data(private_data_size, private_data, (4, 5)) }?;
    let timeout = Timeout::from_micros(timeout);
    endpoint.dup_connect(&original, timeout, private_data, Qos::from_bits_retain(qos))?;
    OK
}

/// Converts the flags of a close.
pub(super) fn close(flags: DAT_CLOSE_FLAGS) -> Result<Close> {
    match flags {
        DAT_CLOSE_ABRUPT_FLAG => Ok(Close::Abrupt),
        DAT_CLOSE_GRACEFUL_FLAG => Ok(Close::Graceful),
        other => Err(invalid(2, format!("invalid DAT_CLOSE_FLAGS value {other:#x}"))),
    }
}

pub(crate) unsafe fn disconnect(
    ep_handle: DAT_EP_HANDLE,
    close_flags: DAT_CLOSE_FLAGS,
) -> CallResult {
    object::<Ep>(ep_handle)?.disconnect(close(close_flags)?)?;
    OK
}

pub(crate) unsafe fn get_status(
    ep_handle: DAT_EP_HANDLE,
    ep_state: *mut DAT_EP_STATE,
    recv_idle: *mut DAT_BOOLEAN,
    request_idle: *mut DAT_BOOLEAN,
) -> CallResult {
    post::on(ep_handle, |endpoint| {
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let state_out = unsafe { optional_out(ep_state, 2) }?;
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let recv_out = unsafe { optional_out(recv_idle, 3) }?;
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let request_out = unsafe { optional_out(request_idle, 4) }?;
        let status = endpoint.status()?;
        state_out.write(status.state as DAT_EP_STATE);
        recv_out.write(boolean(status.recv_idle));
        request_out.write(boolean(status.request_idle));
        Ok(())
    })
}

pub(crate) unsafe fn recv_query(
    ep_handle: DAT_EP_HANDLE,
    nbufs_allocated: *mut DAT_COUNT,
    bufs_alloc_span: *mut DAT_COUNT,
) -> CallResult {
    let endpoint: Ep = object(ep_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let allocated_out = unsafe { optional_out(nbufs_allocated, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let span_out = unsafe { optional_out(bufs_alloc_span, 3) }?;
    let buffers = endpoint.recv_query()?;
    allocated_out.write(convert::count(buffers.allocated));
    span_out.write(convert::count(buffers.span));
    OK
}

pub(crate) unsafe fn set_watermark(
    ep_handle: DAT_EP_HANDLE,
    soft_high_watermark: DAT_COUNT,
    hard_high_watermark: DAT_COUNT,
) -> CallResult {
    let endpoint: Ep = object(ep_handle)?;
    // DAT_WATERMARK_INFINITE and DAT_HW_DEFAULT are both -1 as a count.
    let mark =
        |value, argument| if value == -1 { Ok(None) } else { count(value, argument).map(Some) };
    endpoint.set_watermark(mark(soft_high_watermark, 2)?, mark(hard_high_watermark, 3)?)?;
    OK
}

simple_calls! { Ep: reset }
end_call! { Ep }
