//! The transitions between states.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::attributes::{AttributeMask, QueuePairAttributes, QueuePairState, QueuePairType};
use super::{Posting, QueuePair, transition};
use crate::async_event::AsyncEventType;
use crate::error::{Error, Result};

/// The time between two checks of a draining queue.
const DRAIN_CHECK: Duration = Duration::from_millis(1);

impl QueuePair {
    /// Changes attributes, and with them the state (ibv_modify_qp(3)). If it fails, nothing is changed.
    ///
    /// # Errors
    /// `EINVAL` for a transition that does not exist, an attribute that it demands or does not take, or a value out of
    /// range.
    pub fn modify(&self, attributes: &QueuePairAttributes, mask: AttributeMask) -> Result<()> {
        let _modifying = self.modifying.lock();
        if self.is_destroyed.load(Ordering::Acquire) {
            return Err(Error::invalid("cannot modify a queue pair that is destroyed"));
        }
        let mut control = self.control.lock();
        let from = control.state;
        if mask.contains(AttributeMask::CUR_STATE) && attributes.cur_qp_state != from {
            return Err(Error::invalid(format!(
                "cannot modify the queue pair: it is in the state {from:?}, and not {:?} as cur_qp_state says",
                attributes.cur_qp_state
            )));
        }
        let to = if mask.contains(AttributeMask::STATE) { attributes.qp_state } else { from };
        transition::check(self.init.kind, from, to, mask)?;
        attributes.check(mask, self.domain.context())?;
        if mask.contains(AttributeMask::QKEY) {
            self.apply_key(attributes.qkey)?;
        }
        control.attributes.apply(attributes, mask);
        if mask.contains(AttributeMask::STATE) {
            self.set_state(&mut control, to);
            control.reports_drained =
                to == QueuePairState::Sqd && control.attributes.en_sqd_async_notify;
        }
        drop(control);
        self.apply_rules(attributes, mask)?;
        if !mask.contains(AttributeMask::STATE) {
            return Ok(());
        }
        match to {
            QueuePairState::Reset => self.reset(),
            QueuePairState::Err => self.flush(),
            QueuePairState::Init => self.takes_receives.store(true, Ordering::Release),
            QueuePairState::Rtr if from == QueuePairState::Init => self.begin_link(),
            QueuePairState::Rts => self.pass_held(),
            QueuePairState::Sqd => self.drain(),
            QueuePairState::Rtr | QueuePairState::Sqe => {}
        }
        Ok(())
    }

    /// Passes the attributes of a connection to the engine.
    fn apply_rules(&self, attributes: &QueuePairAttributes, mask: AttributeMask) -> Result<()> {
        if mask.contains(AttributeMask::ACCESS_FLAGS) && self.kind() != QueuePairType::Ud {
            self.kit.for_verbs().set_peer_privileges(attributes.qp_access_flags.privileges())?;
        }
        if mask.contains(AttributeMask::RNR_RETRY) {
            self.apply_retries(attributes)?;
        }
        Ok(())
    }

    /// Forgets the connection, and all that is outstanding, without completions.
    fn reset(&self) {
        self.close_gates();
        self.control.lock().link.forget();
        self.disconnect();
        self.forget_twin();
        // A queue pair that was never connected need not be reset.
        let _ = self.kit.reset();
        *self.posting.lock() = Posting::default();
        let queues = [&self.init.send_queue, &self.init.receive_queue];
        queues.into_iter().for_each(|queue| queue.forget(self.number));
        let mut control = self.control.lock();
        control.special.clear();
        control.attributes =
            QueuePairAttributes { cap: self.init.capacity, ..QueuePairAttributes::default() };
    }

    /// Flushes all that is outstanding; the state is ERR.
    pub(super) fn flush(&self) {
        let is_datagram = self.kind() == QueuePairType::Ud;
        let posting = self.posting.lock();
        self.is_open.store(false, Ordering::Release);
        if is_datagram {
            self.takes_receives.store(false, Ordering::Release);
        }
        drop(posting);
        self.control.lock().link.forget();
        self.disconnect();
        if is_datagram {
            let held = std::mem::take(&mut self.posting.lock().held);
            held.iter().for_each(|request| self.push_flushed(request.wr_id));
        } else {
            // What is posted from now on is flushed by the engine, after what it has.
            self.posting.lock().is_flushed = true;
            self.pass_held();
        }
        if self.init.shared_receives.is_some() {
            self.report(AsyncEventType::LastWorkRequestReached);
        }
    }

    /// Holds back new requests until the posted ones have completed.
    fn drain(&self) {
        let mut posting = self.posting.lock();
        posting.to_drain = posting.held.len();
        self.is_open.store(false, Ordering::Release);
        drop(posting);
        self.report_if_drained();
    }

    fn report_if_drained(&self) {
        let is_busy = self.is_draining();
        let mut control = self.control.lock();
        if !control.reports_drained {
            return;
        }
        if !is_busy {
            control.reports_drained = false;
            drop(control);
            return self.report(AsyncEventType::SendQueueDrained);
        }
        drop(control);
        self.later(DRAIN_CHECK, Self::report_if_drained);
    }
}
