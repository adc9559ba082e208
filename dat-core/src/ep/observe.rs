//! The view of an endpoint for operators.

use super::{Ep, EpInner, EpState};
use crate::error::Result;
use crate::monitor::{self, Stall};
use crate::provider::Activity;

impl Ep {
    /// The cause of the wait of its oldest operation, if it took over a second when `dat-monitor` saw it last.
    /// It is kept after the end of the connection, which it often explains. `None` on adapters that were opened with
    /// `monitor=no`.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn stall(&self) -> Result<Option<Stall>> {
        let base = &self.inner.base;
        base.check_live("Ep::stall")?;
        Ok(monitor::stall(base.ia.id, base.id))
    }
}

impl EpInner {
    /// The state, the peer and the activity; `None` while there is neither a connection nor an attempt.
    pub(crate) fn observe(&self) -> Option<(EpState, String, Activity)> {
        let state = self.state()?;
        let is_over = matches!(
            state,
            EpState::Unconnected
                | EpState::UnconfiguredUnconnected
                | EpState::Reserved
                | EpState::UnconfiguredReserved
                | EpState::Disconnected
        );
        if is_over {
            return None;
        }
        let peer = self.control().peer();
        let peer = peer.map_or_else(String::new, |(address, port)| format!("{address} {port}"));
        let activity = self.queue_pair().map_or_else(Activity::default, |it| it.activity());
        Some((state, peer, activity))
    }
}
