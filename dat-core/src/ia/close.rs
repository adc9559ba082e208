//! Closing an adapter.

use std::sync::Arc;

use super::{AsyncEvd, Child, IaInner, InterfaceAdapter};
use crate::error::Result;
use crate::flags::Close;
use crate::kind::ObjectKind;
use crate::lifecycle::Based;

const CLOSE: &str = "dat_ia_close";

impl InterfaceAdapter {
    /// Closes the adapter (dat_ia_close(3DAT)). Gracefully only when every object that the
    /// consumer made was freed; abruptly with all of them: waiters on event dispatchers get
    /// `DAT_ABORT`, waiters on notification objects no dispatcher.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` when objects exist and the close is graceful: nothing has changed.
    /// `DAT_INVALID_HANDLE` when it was closed before.
    pub fn close(&self, how: Close) -> Result<()> {
        self.inner.close(how)
    }
}

impl IaInner {
    pub(super) fn close(&self, how: Close) -> Result<()> {
        let own = self
            .async_evd
            .lock()
            .as_ref()
            .is_some_and(|evd| evd.own && evd.hold.base().is_enrolled());
        let children = match how {
            Close::Graceful => self.books.close_if_empty(own).map(|()| Vec::new()),
            Close::Abrupt => self.books.close(),
        }
        .map_err(|error| self.describe(error, CLOSE))?;
        // In this order: first what listens and connects, then what it used.
        for kind in [
            ObjectKind::Psp,
            ObjectKind::Rsp,
            ObjectKind::Csp,
            ObjectKind::Cr,
            ObjectKind::Ep,
            ObjectKind::Srq,
            ObjectKind::Rmr,
            ObjectKind::Lmr,
            ObjectKind::Evd,
            ObjectKind::Cno,
            ObjectKind::Pz,
        ] {
            for child in children.iter().filter(|child| child.kind() == kind) {
                child.abandon();
            }
        }
        let async_evd: Option<AsyncEvd> = self.async_evd.lock().take();
        if let Some(AsyncEvd { hold, own: true }) = async_evd {
            let evd = Arc::clone(hold.arc());
            drop(hold);
            evd.abandon();
        }
        // Gone when the last object that was made on it is.
        *self.adapter.lock() = None;
        self.numbering.retire(ObjectKind::Ia, self.id);
        Ok(())
    }
}

impl Child {
    /// Ends an object whoever uses it.
    fn abandon(&self) {
        match self {
            Self::Cno(cno) => _ = cno.upgrade().map(|cno| cno.abandon()),
            Self::Cr(cr) => _ = cr.upgrade().map(|cr| cr.abandon()),
            Self::Csp(csp) => _ = csp.upgrade().map(|csp| csp.abandon()),
            Self::Ep(ep) => _ = ep.upgrade().map(|ep| ep.abandon()),
            Self::Evd(evd) => _ = evd.upgrade().map(|evd| evd.abandon()),
            Self::Lmr(lmr) => _ = lmr.upgrade().map(|lmr| lmr.abandon()),
            Self::Psp(psp) => _ = psp.upgrade().map(|psp| psp.abandon()),
            Self::Pz(pz) => _ = pz.upgrade().map(|pz| pz.abandon()),
            Self::Rmr(rmr) => _ = rmr.upgrade().map(|rmr| rmr.abandon()),
            Self::Rsp(rsp) => _ = rsp.upgrade().map(|rsp| rsp.abandon()),
            Self::Srq(srq) => _ = srq.upgrade().map(|srq| srq.abandon()),
        }
    }
}
