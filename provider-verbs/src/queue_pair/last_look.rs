//! The state of a queue pair at the last call for its activity.

/// The requests then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastLook {
    /// The oldest request.
    pub(super) oldest: Option<u32>,
    /// How often peers had no receive; see [`PortCounters::without_receive`](crate::port_counters::PortCounters).
    pub(super) without_receive: Option<u64>,
}

impl LastLook {
    /// Returns true if peers had no receive since the last call. The device counts for all queue pairs of the port.
    pub(super) fn is_refused(self, last: Self) -> bool {
        self.without_receive.zip(last.without_receive).is_some_and(|(now, before)| now != before)
    }
}
