//! RDMA read credits: the reads that an endpoint reserves from the totals of its adapter.

use std::sync::Arc;

use crate::error::Result;
use crate::ia::IaInner;

/// Reserved incoming and outgoing reads of one endpoint; released on drop.
pub(super) struct Reads {
    ia: Arc<IaInner>,
    amount: (u32, u32),
    /// The reservation to restore if this is dropped before [`Reads::commit`].
    before: (u32, u32),
}

impl Reads {
    /// Reserves an amount that replaces the endpoint's former one.
    pub(super) fn reserve(
        ia: &Arc<IaInner>,
        before: (u32, u32),
        amount: (u32, u32),
    ) -> Result<Self> {
        ia.reserve_reads(before, amount)?;
        Ok(Self { ia: Arc::clone(ia), amount, before })
    }

    pub(super) fn amount(&self) -> (u32, u32) {
        self.amount
    }

    /// Makes the replacement of the former amount permanent.
    pub(super) fn commit(&mut self, former: &mut Self) {
        self.before = (0, 0);
        former.amount = (0, 0);
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.ia.return_reads(self.amount, self.before);
    }
}
