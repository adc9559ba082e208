//! Shared receive queues.

use std::mem;
use std::ptr::null_mut;

use real::error::Result;
use real::{LmrTriplet, Operation, SrqAttributes};

use super::convert::{count, to_count};
use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::segments::segments;
use super::{Ia, Pz};
use crate::abi::*;
use crate::version;

handle! {
    /// A shared receive queue (dat_srq_create(3DAT)).
    Srq = Srq
}

/// The parameters of a shared receive queue (dat_srq_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrqParam {
    /// The protection zone of the buffers.
    pub pz: Pz,
    /// The attributes.
    pub attributes: SrqAttributes,
    /// Number of buffers on the queue.
    pub available_dto_count: u32,
    /// Number of buffers on the queue, at an endpoint, or completed but not dequeued.
    pub outstanding_dto_count: u32,
}

impl Ia {
    /// dat_srq_create(3DAT).
    pub fn srq_create(&self, pz: &Pz, attributes: SrqAttributes) -> Result<Srq> {
        let mut srq = null_mut();
        let mut attributes = DAT_SRQ_ATTR {
            max_recv_dtos: to_count(attributes.max_recv_dtos),
            max_recv_iov: to_count(attributes.max_recv_iov),
            low_watermark: to_count(attributes.low_watermark),
        };
        let handle = self.handle();
        call!(table.srq_create_func(handle, pz.handle(), &raw mut attributes, &raw mut srq))?;
        Ok(Srq::made_of(srq, self.adapter()))
    }
}

impl Srq {
    /// dat_srq_post_recv(3DAT).
    pub fn post_recv(&self, iov: &[LmrTriplet], cookie: u64) -> Result<()> {
        let mut list = segments(iov);
        let (number, cookie) = (list.number(), version::cookie(Operation::Receive, cookie));
        call!(table.srq_post_recv_func(self.handle(), number, list.pointer(), cookie))
    }

    /// dat_srq_query(3DAT).
    pub fn query(&self) -> Result<SrqParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_SRQ_PARAM = unsafe { mem::zeroed() };
        call!(table.srq_query_func(self.handle(), DAT_SRQ_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        assert_eq!(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
        Ok(SrqParam {
            pz: Pz::named(param.pz_handle, self.object.ia())
                .expect("every queue has a protection zone"),
            attributes: SrqAttributes {
                max_recv_dtos: count(param.max_recv_dtos),
                max_recv_iov: count(param.max_recv_iov),
                low_watermark: count(param.low_watermark),
            },
            available_dto_count: count(param.available_dto_count),
            outstanding_dto_count: count(param.outstanding_dto_count),
        })
    }

    /// dat_srq_resize(3DAT).
    pub fn resize(&self, max_recv_dtos: u32) -> Result<()> {
        call!(table.srq_resize_func(self.handle(), to_count(max_recv_dtos)))
    }

    /// dat_srq_set_lw(3DAT).
    pub fn set_low_watermark(&self, low_watermark: u32) -> Result<()> {
        call!(table.srq_set_lw_func(self.handle(), to_count(low_watermark)))
    }

    /// dat_srq_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
