//! Closing an adapter.

use super::{AsyncTarget, Ia, IaInner};
use crate::error::Result;
use crate::flags::Close;
use crate::kind::ObjectKind;
use crate::monitor;

const CLOSE: &str = "dat_ia_close";

impl Ia {
    /// Closes the adapter (dat_ia_close(3DAT)). A graceful close succeeds only if the consumer has
    /// freed all its objects. An abrupt close ends them: waiters on event dispatchers get
    /// `DAT_ABORT`, waiters on notification objects return without a dispatcher.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` for a graceful close while objects exist, and in a child of the process that
    /// opened the adapter; nothing has changed.
    /// `DAT_INVALID_HANDLE` when it was closed before.
    pub fn close(&self, how: Close) -> Result<()> {
        self.inner.check_process(CLOSE)?;
        self.inner.close(how)
    }
}

impl IaInner {
    pub(super) fn close(&self, how: Close) -> Result<()> {
        let own = self
            .async_errors
            .lock()
            .as_ref()
            .is_some_and(|target| target.own && target.sink.base().is_counted());
        let children = match how {
            Close::Graceful => self.children.close_if_empty(own).map(|()| Vec::new()),
            Close::Abrupt => self.children.close(),
        }
        .map_err(|error| self.describe(error, CLOSE))?;
        monitor::leave(self);
        // In this order: first the objects that listen and connect, then those that they use.
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
        let target: Option<AsyncTarget> = self.async_errors.lock().take();
        if let Some(AsyncTarget { sink, hold, own: true }) = target {
            drop(hold);
            sink.abandon();
        }
        // Dropped with the last object that was created on it.
        *self.adapter.lock() = None;
        self.id_allocator.release(ObjectKind::Ia, self.id);
        Ok(())
    }
}
