//! Posting RDMA writes and reads.

use crate::compat::Rule;
use crate::error::{Result, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::provider::{Buffer, RemoteBuffer, Work};
use crate::triplet::{LmrTriplet, RmrTriplet};

use super::super::post_checks::Post;
use super::super::{Ep, EpInner};
use super::Gathered;

const READ: &str = "dat_ep_post_rdma_read";
const READ_TO_RMR: &str = "dat_ep_post_rdma_read_to_rmr";

/// The positions of the remote buffer and the flags among the arguments of a read.
pub(super) const READ_ARGUMENTS: [Subtype; 2] = [Subtype::InvalidArg5, Subtype::InvalidArg6];
const TO_RMR_ARGUMENTS: [Subtype; 2] = [Subtype::InvalidArg4, Subtype::InvalidArg5];
const WRITE: &str = "dat_ep_post_rdma_write";
const WRITE_IMMEDIATE: &str = "dat_ib_post_rdma_write_immed";

impl Ep {
    /// Posts an RDMA write (dat_ep_post_rdma_write(3DAT)).
    ///
    /// ```
    /// use dat_core::{ConnectionEvent, Ep, Lmr, Result, RmrTriplet};
    ///
    /// /// Writes to the memory that the server named when it accepted.
    /// fn write(ep: &Ep, established: &ConnectionEvent, region: &Lmr) -> Result<()> {
    ///     let Some(remote) = RmrTriplet::from_bytes(&established.private_data) else {
    ///         return Ok(());
    ///     };
    ///     let length = remote.length.min(4096);
    ///     ep.rdma_write(&[region.triplet(0, length)?], 1, RmrTriplet { length, ..remote })
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Ep::post_send`]; `DAT_LENGTH_ERROR` if the remote buffer is shorter than the
    /// local one.
    #[inline(always)]
    pub fn post_rdma_write(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        self.inner.post_rdma::<true>(iov, cookie, remote, flags)
    }

    /// Posts an RDMA write with immediate data (the InfiniBand extension of DAT 2.0). When the
    /// write is done, a receive of the peer completes as
    /// [`ReceiveImmediate`](crate::Operation::ReceiveImmediate), with the data and the length of
    /// the write; the buffer of the receive is unchanged.
    ///
    /// # Errors
    /// As [`Ep::post_rdma_write`]; `DAT_MODEL_NOT_SUPPORTED` if the provider does not support
    /// it.
    pub fn post_rdma_write_immediate(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        immediate: u32,
        flags: CompletionFlags,
    ) -> Result<()> {
        let offered = self.inner.offers().immediate_data_supported;
        self.inner.check_offered(offered, "immediate data", WRITE_IMMEDIATE)?;
        let work = |remote| Work::RdmaWriteImmediate { remote, immediate };
        self.inner.write(work, remote, iov, cookie, flags, WRITE_IMMEDIATE)
    }

    /// Posts an RDMA read (dat_ep_post_rdma_read(3DAT)): the whole remote buffer is read into the
    /// local one.
    ///
    /// # Errors
    /// As [`Ep::post_send`], but for the local write privilege; `DAT_LENGTH_ERROR` if the
    /// local buffer is shorter than the remote one; `DAT_INVALID_PARAMETER` if the endpoint was
    /// created without outgoing RDMA reads.
    #[inline(always)]
    pub fn post_rdma_read(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        self.inner.post_rdma::<false>(iov, cookie, remote, flags)
    }

    /// Posts an RDMA read into memory named by an RMR context (dat_ep_post_rdma_read_to_rmr of DAT
    /// 2.0). The context must have the remote write privilege; an invalid one fails the operation
    /// and breaks the connection.
    ///
    /// # Errors
    /// As [`Ep::post_rdma_read`]; `DAT_MODEL_NOT_SUPPORTED` if the provider does not support
    /// it.
    pub fn post_rdma_read_to_rmr(
        &self,
        local: RmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.check_requests(READ_TO_RMR)?;
        let offered = inner.offers().read_to_rmr_supported;
        inner.check_offered(offered, "RDMA read to a remote context", READ_TO_RMR)?;
        let flags =
            inner.check_read(remote.length, local.length, flags, TO_RMR_ARGUMENTS, READ_TO_RMR)?;
        let work = Work::RdmaReadToRmr { local, remote };
        inner.post_gathered(work, &Gathered::new(&inner.epochs), cookie, flags, READ_TO_RMR)
    }
}

impl EpInner {
    /// Posts an RDMA write or read: on the fast path if it has one segment and passes the post checks.
    #[inline(always)]
    fn post_rdma<const IS_WRITE: bool>(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        if let [triplet] = iov {
            let (post, needed, operation) = match IS_WRITE {
                true => (Post::Write, Privileges::LOCAL_READ, WRITE),
                false => (Post::Read, Privileges::LOCAL_WRITE, READ),
            };
            if let Some(path) = self.fast_path(post, flags) {
                let (length, room) = match IS_WRITE {
                    true => (triplet.length, remote.length),
                    false => (remote.length, triplet.length),
                };
                let checked = self.epochs.now();
                if length <= room && self.post_checks.is_short_rdma(length) {
                    if let Some(key) = self.find(triplet, needed) {
                        let buffer = Buffer { address: triplet.address, length };
                        let at = RemoteBuffer { address: remote.address, context: remote.context };
                        let pair = path.queue_pair();
                        let posted = match IS_WRITE {
                            true => pair.post_one_write(buffer, key, cookie, flags, checked, at),
                            false => pair.post_one_read(buffer, key, cookie, flags, checked, at),
                        };
                        return self.described(posted, operation);
                    }
                }
            }
            let buffer = Buffer { address: triplet.address, length: triplet.length };
            let RmrTriplet { context, address, length } = remote;
            let remote = RemoteBuffer { address, context };
            let local = triplet.context;
            return self.rdma_one::<IS_WRITE>(buffer, local, cookie, flags, remote, length);
        }
        let RmrTriplet { context, address, length } = remote;
        self.rdma_any::<IS_WRITE>(iov, cookie, context, address, length, flags)
    }
}

// The slow path. It takes the fields of the remote triplet as separate arguments: a reference to
// the triplet would make it load the whole struct before the stores of the fields have left the
// store buffer.
impl EpInner {
    #[inline(never)]
    fn rdma_one<const IS_WRITE: bool>(
        &self,
        Buffer { address, length }: Buffer,
        context: u32,
        cookie: u64,
        flags: CompletionFlags,
        remote: RemoteBuffer,
        remote_length: u64,
    ) -> Result<()> {
        let iov = &[LmrTriplet { address, length, context }];
        let RemoteBuffer { address, context } = remote;
        self.rdma_any::<IS_WRITE>(iov, cookie, context, address, remote_length, flags)
    }

    #[inline(never)]
    fn rdma_any<const IS_WRITE: bool>(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        context: u32,
        address: u64,
        length: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        let remote = RmrTriplet { context, address, length };
        match IS_WRITE {
            true => {
                self.write(|remote| Work::RdmaWrite { remote }, remote, iov, cookie, flags, WRITE)
            }
            false => self.read(remote, iov, cookie, flags),
        }
    }

    fn read(
        &self,
        remote: RmrTriplet,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        self.check_requests(READ)?;
        let most = self.post_checks.read_iov();
        let mut local = Gathered::new(&self.epochs);
        self.gather(&mut local, iov, most, Privileges::LOCAL_WRITE, READ)?;
        let remote = self.resized(remote, local.length, remote.length <= local.length);
        let flags = self.check_read(remote.length, local.length, flags, READ_ARGUMENTS, READ)?;
        self.post_gathered(Work::RdmaRead { remote }, &local, cookie, flags, READ)
    }

    fn write(
        &self,
        work: impl FnOnce(RmrTriplet) -> Work,
        remote: RmrTriplet,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        self.check_requests(operation)?;
        let post_checks = &self.post_checks;
        let allowed = post_checks.request_flags();
        let flags = self.check_flags(flags, allowed, Subtype::InvalidArg6, operation)?;
        let mut local = Gathered::new(&self.epochs);
        self.gather(&mut local, iov, post_checks.write_iov(), Privileges::LOCAL_READ, operation)?;
        if local.length > post_checks.max_rdma_size() {
            return Err(self.too_long(local.length, post_checks.max_rdma_size(), operation));
        }
        let remote = self.resized(remote, local.length, local.length <= remote.length);
        if local.length > remote.length {
            return Err(self.too_short(local.length, remote.length, operation));
        }
        self.post_gathered(work(remote), &local, cookie, flags, operation)
    }

    /// The remote buffer. If the mode ignores unusable lengths, a length of 0, or one that does not
    /// fit the local segments, becomes the length of these.
    fn resized(&self, remote: RmrTriplet, local: u64, is_usable: bool) -> RmrTriplet {
        if self.base.ia.compat.relaxes(Rule::RemoteLength) && (!is_usable || remote.length == 0) {
            return RmrTriplet { length: local, ..remote };
        }
        remote
    }

    /// Makes the checks that all reads share, and returns the flags that the read gets; the subtypes
    /// name the remote buffer and the flags of the call.
    pub(super) fn check_read(
        &self,
        length: u64,
        capacity: u64,
        flags: CompletionFlags,
        [buffer, argument]: [Subtype; 2],
        operation: &'static str,
    ) -> Result<CompletionFlags> {
        let post_checks = &self.post_checks;
        let allowed = post_checks.request_flags() & !CompletionFlags::SOLICITED_WAIT.bits();
        let flags = self.check_flags(flags, allowed, argument, operation)?;
        if length > post_checks.max_rdma_size() {
            let error = self.too_long(length, post_checks.max_rdma_size(), operation);
            return Err(error.with_subtype(buffer));
        }
        if length > capacity {
            return Err(self.too_short(length, capacity, operation));
        }
        if post_checks.reads_out() == 0 {
            return Err(self.no_reads(operation));
        }
        Ok(flags)
    }
}
