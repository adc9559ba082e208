//! Advice on the use of memory regions (ibv_advise_mr(3)).

use super::segment::gather;
use super::{Error, ProtectionDomain, Result, Segment};
use crate::sys::domain_ex as sys;
use crate::sys::operations;

/// Advice to the device about memory of regions that are registered with
/// [`Access::ON_DEMAND`](super::Access::ON_DEMAND).
///
/// ```
/// use std::sync::Arc;
///
/// use rdma_verbs::verbs::{Advice, MemoryRegion};
///
/// fn prefetch(region: &Arc<MemoryRegion>) -> rdma_verbs::Result<()> {
///     region.domain().advise(Advice::Prefetch, true, &[region.segment(0..4096)?])
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Page it in for reads, before the device uses it.
    Prefetch,
    /// Page it in for reads and writes.
    PrefetchForWrite,
    /// Map those of its pages that are in memory, and page in none.
    PrefetchPresent,
}

impl Advice {
    const fn value(self) -> i32 {
        match self {
            Self::Prefetch => sys::IBV_ADVISE_MR_ADVICE_PREFETCH,
            Self::PrefetchForWrite => sys::IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
            Self::PrefetchPresent => sys::IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
        }
    }
}

impl ProtectionDomain {
    /// Advises the device on ranges of regions of the domain (ibv_advise_mr(3)). With `wait` the call
    /// returns when the device can use the pages; otherwise it may return before. The device may
    /// still fault on them later: pages are not pinned.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, its driver, the kernel or the library does not support the advice;
    /// `EPERM`: a region belongs to another domain, or is not registered for writes that are advised;
    /// `EINVAL`: a region is deregistered, or not registered on demand; `EFAULT`: the program has no
    /// memory at a part of a range.
    pub fn advise(&self, advice: Advice, wait: bool, segments: &[Segment]) -> Result<()> {
        const CALL: &str = "ibv_advise_mr";
        if let Some(other) = segments.iter().find(|segment| **segment.region().domain() != *self) {
            return Err(Error::new(CALL, libc::EPERM).on(other.region().error_object()));
        }
        let count = u32::try_from(segments.len()).map_err(|_| Error::new(CALL, libc::EINVAL))?;
        // The regions stay registered during the call.
        let (mut sges, _uses) = gather(segments, CALL)?;
        let flags = if wait { sys::IBV_ADVISE_MR_FLAG_FLUSH } else { 0 };
        let ranges = sges.as_mut_ptr();
        // SAFETY: the domain is alive, and the ranges lie in its registered regions.
        let code =
            unsafe { operations::advise_mr(self.raw(), advice.value(), flags, ranges, count) };
        Error::check(CALL, code)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;
    use std::mem::offset_of;

    use super::super::fake;
    use super::*;
    use crate::sys::extended::verbs_context;
    use crate::sys::verbs::{ibv_pd, ibv_sge};

    unsafe extern "C" fn advise(
        _domain: *mut ibv_pd,
        advice: c_int,
        flags: u32,
        _ranges: *mut ibv_sge,
        count: u32,
    ) -> c_int {
        if (advice, flags, count) == (1, 1, 0) { 0 } else { libc::EFAULT }
    }

    #[test]
    fn the_advice_reaches_the_driver() {
        let context = fake::context(|operations| operations.advise_mr = Some(advise));
        let domain = fake::domain(&context);
        assert_eq!(domain.advise(Advice::PrefetchForWrite, true, &[]), Ok(()));
        for (advice, wait) in [
            (Advice::PrefetchForWrite, false),
            (Advice::Prefetch, true),
            (Advice::PrefetchPresent, true),
        ] {
            let error = domain.advise(advice, wait, &[]).expect_err("other values");
            assert_eq!((error.call, error.errno), ("ibv_advise_mr", libc::EFAULT));
        }
    }

    #[test]
    fn a_driver_or_library_that_takes_no_advice_is_an_error_with_advice() {
        let set = |operations: &mut verbs_context| operations.advise_mr = Some(advise);
        let after = offset_of!(verbs_context, advise_mr) + size_of::<usize>();
        for context in [fake::context(|_| {}), fake::old_context(after, set)] {
            let domain = fake::domain(&context);
            let error = domain.advise(Advice::Prefetch, true, &[]).expect_err("not supported");
            assert_eq!(error.errno, libc::EOPNOTSUPP);
            assert!(error.to_string().contains("libibverbs"), "{error}");
        }
    }
}
