//! Posts to endpoints.

use real::error::Result;
use real::{CompletionFlags, LmrTriplet, Operation, RmrTriplet};

use super::Ep;
use super::handle_type::Handle as _;
use super::result::call;
use super::segments::segments;
use crate::version;

impl Ep {
    /// dat_ep_post_send(3DAT).
    pub fn post_send(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let (mut list, cookie) = (segments(iov), version::cookie(Operation::Send, cookie));
        let (handle, number) = (self.handle(), list.number());
        call!(table.ep_post_send_func(handle, number, list.pointer(), cookie, flags.bits()))
    }

    /// dat_ep_post_send_with_invalidate of DAT 2.0.
    pub fn post_send_with_invalidate(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
        rmr_context: u32,
    ) -> Result<()> {
        version::send_with_invalidate(self.handle(), &mut segments(iov), cookie, flags, rmr_context)
    }

    /// dat_ep_post_recv(3DAT).
    pub fn post_recv(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let (mut list, cookie) = (segments(iov), version::cookie(Operation::Receive, cookie));
        let (handle, number) = (self.handle(), list.number());
        call!(table.ep_post_recv_func(handle, number, list.pointer(), cookie, flags.bits()))
    }

    /// dat_ep_post_rdma_write(3DAT).
    pub fn post_rdma_write(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let (mut list, cookie) = (segments(iov), version::cookie(Operation::RdmaWrite, cookie));
        let remote = version::remote(&remote);
        call!(table.ep_post_rdma_write_func(
            self.handle(),
            list.number(),
            list.pointer(),
            cookie,
            &raw const remote,
            flags.bits(),
        ))
    }

    /// dat_ep_post_rdma_read(3DAT).
    pub fn post_rdma_read(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let (mut list, cookie) = (segments(iov), version::cookie(Operation::RdmaRead, cookie));
        let remote = version::remote(&remote);
        call!(table.ep_post_rdma_read_func(
            self.handle(),
            list.number(),
            list.pointer(),
            cookie,
            &raw const remote,
            flags.bits(),
        ))
    }

    /// dat_ep_post_rdma_read_to_rmr of DAT 2.0.
    pub fn post_rdma_read_to_rmr(
        &self,
        local: RmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        version::read_to_rmr(self.handle(), &local, cookie, &remote, flags)
    }

    /// dat_ib_post_rdma_write_immed of the extensions.
    pub fn post_rdma_write_immediate(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        immediate: u32,
        flags: CompletionFlags,
    ) -> Result<()> {
        let list = &mut segments(iov);
        version::write_immediate(self.handle(), list, cookie, &remote, immediate, flags)
    }

    /// dat_ib_post_fetch_and_add of the extensions.
    pub fn post_fetch_and_add(
        &self,
        add: u64,
        local: LmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let list = &mut segments(&[local]);
        version::fetch_and_add(self.handle(), add, list, cookie, &remote, flags)
    }

    /// dat_ib_post_cmp_and_swap of the extensions.
    pub fn post_compare_and_swap(
        &self,
        values: (u64, u64),
        local: LmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let list = &mut segments(&[local]);
        version::compare_and_swap(self.handle(), values, list, cookie, &remote, flags)
    }
}
