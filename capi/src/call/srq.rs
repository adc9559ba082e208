//! Shared receive queues.

use dat_core::{Srq, SrqAttributes};

use super::*;
use crate::convert::memory;

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    pz_handle: DAT_PZ_HANDLE,
    srq_attr: *mut DAT_SRQ_ATTR,
    srq_handle: *mut DAT_SRQ_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let pz = object(pz_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let from = unsafe { given(srq_attr, 3) }?;
    let attributes = SrqAttributes {
        max_recv_dtos: count(from.max_recv_dtos, 3)?,
        max_recv_iov: count(from.max_recv_iov, 3)?,
        low_watermark: count(from.low_watermark, 3)?,
    };
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(srq_handle, 4) }?;
    output.write(handle::attach(ia.srq_create(&pz, attributes)?, adapters::table(&ia)));
    OK
}

query_call! { Srq as DAT_SRQ_PARAM, DAT_SRQ_FIELD_ALL: |srq, srq_handle| {
    let param = srq.query()?;
    DAT_SRQ_PARAM {
        ia_handle: adapters::handle_of(&srq.adapter()),
        srq_state: DAT_SRQ_STATE_OPERATIONAL,
        pz_handle: handle::of_number(param.pz.id()),
        max_recv_dtos: convert::count(param.attributes.max_recv_dtos),
        max_recv_iov: convert::count(param.attributes.max_recv_iov),
        low_watermark: convert::count(param.attributes.low_watermark),
        available_dto_count: convert::count(param.available_dto_count),
        outstanding_dto_count: convert::count(param.outstanding_dto_count),
    }
}}

#[inline]
pub(crate) unsafe fn post_recv(
    srq_handle: DAT_SRQ_HANDLE,
    num_segments: DAT_COUNT,
    local_iov: *mut DAT_LMR_TRIPLET,
    user_cookie: DAT_DTO_COOKIE,
) -> CallResult {
    let posted = handle::with(srq_handle, |srq: &Srq| {
        let mut buffer = memory::Segments::new();
        // SAFETY: the caller guarantees the given number of readable segments.
        let iov = unsafe { memory::segments(num_segments, local_iov, &mut buffer) }?;
        // SAFETY: every member of the union has eight bytes, and any bit pattern is valid.
        srq.post_recv(iov, unsafe { user_cookie.as_64 })
    });
    posted.ok_or_else(|| invalid_handle(srq_handle, Srq::SUBTYPE))??;
    OK
}

pub(crate) unsafe fn resize(srq_handle: DAT_SRQ_HANDLE, max_recv_dtos: DAT_COUNT) -> CallResult {
    let srq: Srq = object(srq_handle)?;
    srq.resize(count(max_recv_dtos, 2)?)?;
    OK
}

pub(crate) unsafe fn set_lw(srq_handle: DAT_SRQ_HANDLE, low_watermark: DAT_COUNT) -> CallResult {
    let srq: Srq = object(srq_handle)?;
    srq.set_low_watermark(count(low_watermark, 2)?)?;
    OK
}

end_call! { Srq }
