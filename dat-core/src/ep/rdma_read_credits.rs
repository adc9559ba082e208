//! RDMA read credits: the reads that an endpoint reserves from the totals of its adapter.

use std::sync::Arc;

use crate::error::Result;
use crate::ia::IaInner;

/// Incoming and outgoing reads of one endpoint; given back when dropped.
pub(super) struct Reads {
    ia: Arc<IaInner>,
    amount: (u32, u32),
    /// What is set aside again when this is dropped before [`Reads::commit`].
    before: (u32, u32),
}

impl Reads {
    /// Sets an amount aside in place of the one that the endpoint had before.
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

    /// Takes the place of the former amount for good.
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
