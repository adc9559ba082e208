//! Posting atomic operations (the InfiniBand extension of DAT 2.0).

use super::super::{Ep, EpInner};
use super::Gathered;
use super::rdma::READ_ARGUMENTS;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::provider::Work;
use crate::triplet::{LmrTriplet, RmrTriplet};

const FETCH_ADD: &str = "dat_ib_post_fetch_and_add";
const COMPARE_SWAP: &str = "dat_ib_post_cmp_and_swap";

/// Number of bytes that an atomic operation changes.
const WORD: u64 = 8;

impl Ep {
    /// Posts an atomic addition to the first eight bytes of the remote buffer; those of `local`
    /// receive the old value, in the byte order of this machine (dat_ib_post_fetch_and_add).
    ///
    /// # Errors
    /// As [`Ep::post_rdma_read`]; `DAT_INVALID_PARAMETER` unless both buffers have at least
    /// eight bytes and the remote one is aligned to eight; `DAT_MODEL_NOT_SUPPORTED` if the
    /// provider has no atomics.
    pub fn post_fetch_and_add(
        &self,
        add: u64,
        local: LmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let (local, remote) = words(local, remote);
        let work = Work::FetchAdd { add, remote };
        self.inner.post_atomic(work, local, cookie, remote, flags, FETCH_ADD)
    }

    /// Posts an atomic compare-and-swap: if the first eight bytes of the remote buffer equal
    /// `compare`, they become `swap`; `local` receives the old value (dat_ib_post_cmp_and_swap).
    ///
    /// # Errors
    /// As [`Ep::post_fetch_and_add`].
    pub fn post_compare_and_swap(
        &self,
        (compare, swap): (u64, u64),
        local: LmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let (local, remote) = words(local, remote);
        let work = Work::CompareSwap { compare, swap, remote };
        self.inner.post_atomic(work, local, cookie, remote, flags, COMPARE_SWAP)
    }
}

/// The first eight bytes of each buffer, or all if it is shorter.
fn words(local: LmrTriplet, remote: RmrTriplet) -> (LmrTriplet, RmrTriplet) {
    let local = LmrTriplet { length: local.length.min(WORD), ..local };
    (local, RmrTriplet { length: remote.length.min(WORD), ..remote })
}

impl EpInner {
    fn post_atomic(
        &self,
        work: Work,
        local: LmrTriplet,
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        self.check_requests(operation)?;
        self.check_offered(self.offers().atomics_supported, "atomic operations", operation)?;
        let flags =
            self.check_read(remote.length, local.length, flags, READ_ARGUMENTS, operation)?;
        let mut gathered = Gathered::new(&self.epochs);
        self.gather(&mut gathered, &[local], 1, Privileges::LOCAL_WRITE, operation)?;
        if remote.length != WORD || local.length != WORD || remote.address % WORD != 0 {
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg5)
                .because(format!(
                    "{} bytes at {:#x} in {} are not an aligned 64-bit word",
                    remote.length, remote.address, local.length
                ))
                .advise(
                    "use at least 8 bytes on both sides, aligned to 8 bytes on the remote side",
                );
            return Err(self.base.describe(error, operation));
        }
        self.post_gathered(work, &gathered, cookie, flags, operation)
    }
}
