//! The counters of an adapter that its provider counts, for the whole time that the adapter is open.

use dat_sync::Mutex;

use super::counter_set::Counters;
use super::ids::IaCounter;
use crate::provider::DeviceCounters;

/// What the provider had counted when the counters of the adapter were started or reset.
#[derive(Default)]
pub(crate) struct DeviceBase(Mutex<Option<DeviceCounters>>);

impl DeviceBase {
    /// The counters are started: what is counted from now on shows, unless they were started before.
    pub(crate) fn start(&self, now: DeviceCounters) {
        self.0.lock().get_or_insert(now);
    }

    /// Adds what was counted since the start or the last reset, and resets it if `reset` is set.
    pub(crate) fn add_to(
        &self,
        counters: &mut Counters<IaCounter>,
        now: DeviceCounters,
        reset: bool,
    ) {
        let mut base = self.0.lock();
        let Some(base) = &mut *base else { return };
        for (counter, now, before) in [
            (IaCounter::DiagErrRqUdsdprd, now.dropped_datagrams, base.dropped_datagrams),
            (IaCounter::LnkErrRcv, now.receive_errors, base.receive_errors),
            (IaCounter::LnkErrXmtDiscards, now.transmit_discards, base.transmit_discards),
        ] {
            counters.add(counter, now.saturating_sub(before));
        }
        if reset {
            *base = now;
        }
    }
}
