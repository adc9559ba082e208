//! Making local memory consistent for RDMA (dat_lmr_sync_rdma_read(3DAT)).

use std::sync::atomic::{Ordering, fence};

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::ia::Ia;
use crate::triplet::LmrTriplet;

impl Ia {
    /// Makes local changes of the segments visible to RDMA reads of the peer that arrive later
    /// (dat_lmr_sync_rdma_read(3DAT)). Needed only if the provider attribute is set, and harmless
    /// otherwise.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a context that names no region of the adapter, or a segment that
    /// is not inside its region; `DAT_INVALID_HANDLE` when the adapter was closed.
    pub fn lmr_sync_rdma_read(&self, segments: &[LmrTriplet]) -> Result<()> {
        self.sync(segments, "dat_lmr_sync_rdma_read")
    }

    /// Makes RDMA writes of the peer to the segments that completed before visible locally
    /// (dat_lmr_sync_rdma_write(3DAT)).
    ///
    /// # Errors
    /// As [`lmr_sync_rdma_read`](Self::lmr_sync_rdma_read).
    pub fn lmr_sync_rdma_write(&self, segments: &[LmrTriplet]) -> Result<()> {
        self.sync(segments, "dat_lmr_sync_rdma_write")
    }

    fn sync(&self, segments: &[LmrTriplet], operation: &'static str) -> Result<()> {
        let ia = self.inner();
        ia.check_open(operation)?;
        for (number, segment) in segments.iter().enumerate() {
            let context = segment.context;
            let region = ia.regions.get(context).ok_or_else(|| {
                let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2).because(
                    format!("segment {number}: lmr_context {context:#x} is not a live region"),
                );
                ia.describe(error, operation)
            })?;
            if !region.contains(segment.address, segment.length) {
                let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                    .because(format!("segment {number} is not inside its region"));
                return Err(ia.describe(error, operation));
            }
        }
        // All providers have coherent memory; only the order remains to be ensured.
        fence(Ordering::SeqCst);
        Ok(())
    }
}
