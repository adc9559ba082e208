//! Querying, changing and freeing a dispatcher.

use std::sync::Arc;

use super::create::check_qlen;
use super::streams::Mode;
use super::{Evd, EvdInner};
use crate::cno::{Cno, CnoInner};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::EvdFlags;
use crate::ia::Object;
use crate::kind::ObjectKind;
use crate::lifecycle::Hold;

/// The parameters of an event dispatcher (`DAT_EVD_PARAM`; dat_evd_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvdParam {
    /// Number of events that it can hold at least.
    pub qlen: u32,
    /// The streams that may feed it.
    pub flags: EvdFlags,
    /// True if events trigger the notification object.
    pub enabled: bool,
    /// True if it can be waited on.
    pub waitable: bool,
    /// True if its streams let each post decide about notification (unsignalled completions).
    pub config_notify: bool,
    /// True if its streams let the sender decide about notification (solicited wait).
    pub config_solicited: bool,
    /// The notification object.
    pub cno: Option<Cno>,
}

impl Evd {
    /// The parameters of the dispatcher (dat_evd_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<EvdParam> {
        self.inner.base.check_live("dat_evd_query")?;
        let (qlen, waitable) = self.inner.queue.lock().shape();
        let mode = self.inner.streams.lock().mode();
        let cno = self.inner.cno.lock();
        Ok(EvdParam {
            qlen: u32::try_from(qlen).unwrap_or(u32::MAX),
            flags: self.inner.flags,
            enabled: self.inner.notifier.is_enabled(),
            waitable,
            config_notify: mode == Mode::Unsignalled,
            config_solicited: mode == Mode::Solicited,
            cno: cno.as_ref().map(|cno| Cno::from_inner(cno.arc())),
        })
    }

    /// Replaces the notification object of the dispatcher, or removes it
    /// (dat_evd_modify_cno(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` if either was freed or they belong to different adapters.
    pub fn modify_cno(&self, cno: Option<&Cno>) -> Result<()> {
        const MODIFY: &str = "dat_evd_modify_cno";
        self.inner.base.check_live(MODIFY)?;
        let ia = &self.inner.base.ia;
        let hold = match cno {
            Some(cno) => Some(Hold::new(cno.inner(), ia, MODIFY, Subtype::InvalidHandleCno)?),
            None => None,
        };
        self.inner.attach_cno(hold);
        Ok(())
    }

    /// Lets events trigger the notification object (dat_evd_enable(3DAT)); this is the initial
    /// state.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn enable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_enable")?;
        self.inner.set_enabled(true);
        Ok(())
    }

    /// Keeps events from triggering the notification object (dat_evd_disable(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn disable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_disable")?;
        self.inner.set_enabled(false);
        Ok(())
    }

    /// Changes the number of events that the queue holds; none is lost (dat_evd_resize(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a length of 0 or above the adapter's maximum;
    /// `DAT_INVALID_STATE` if more events are queued than that. After an error nothing has changed.
    pub fn resize(&self, min_qlen: u32) -> Result<()> {
        const RESIZE: &str = "dat_evd_resize";
        self.inner.base.check_live(RESIZE)?;
        check_qlen(&self.inner.base.ia, min_qlen)
            .and_then(|()| self.inner.queue.lock().resize(min_qlen as usize))
            .map_err(|error| self.inner.base.describe(error, RESIZE))
    }

    /// Frees the dispatcher; events on its queue are lost (dat_evd_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while streams feed it or a thread waits on it;
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        const FREE: &str = "dat_evd_free";
        self.inner.base.check_process(FREE)?;
        let mut queue = self.inner.queue.lock();
        if queue.has_waiter() {
            let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdWaiter);
            return Err(self.inner.base.describe(error, FREE));
        }
        self.inner.base.retire(FREE, Subtype::InvalidStateEvdInUse)?;
        queue.kill();
        drop(queue);
        // Wake an event loop that sleeps on the descriptor.
        self.inner.notifier.wakeup.signal();
        self.inner.leave_cno();
        self.inner.base.leave();
        Ok(())
    }
}

impl EvdInner {
    pub(super) fn attach_cno(&self, cno: Option<Hold<CnoInner>>) {
        let mut place = self.cno.lock();
        self.notifier.set_cno(cno.as_ref().map(|cno| Arc::clone(cno.arc())));
        *place = cno;
        drop(place);
        self.refresh_notify();
    }

    /// Detaches from the notification object permanently.
    fn leave_cno(&self) {
        self.notifier.set_cno(None);
        let Some(hold) = self.cno.lock().take() else { return };
        let cno = Arc::clone(hold.arc());
        drop(hold);
        cno.dispatcher_freed();
    }

    fn set_enabled(&self, enabled: bool) {
        self.notifier.set_enabled(enabled);
        self.refresh_notify();
    }

    /// Selects the arrivals of the completion queue that must notify from now on.
    pub(super) fn refresh_notify(&self) {
        let ready = {
            // Determine the mode under the lock of the queue. Otherwise a waiter that begins in the
            // meantime would have its own setting overwritten.
            let streams = self.streams.lock();
            let mut queue = self.queue.lock();
            queue.set_mode(streams.mode());
            queue.notify(self.notifier.wanted(streams.mode()))
        };
        if ready {
            self.notifier.notify();
        }
    }
}

impl Object for EvdInner {
    const KIND: ObjectKind = ObjectKind::Evd;

    fn abandon(&self) {
        self.base.lifecycle.force();
        self.queue.lock().kill();
        self.notifier.wakeup.signal();
        self.notifier.set_cno(None);
        *self.cno.lock() = None;
        self.base.leave();
    }
}

impl Drop for EvdInner {
    fn drop(&mut self) {
        self.leave_cno();
    }
}
