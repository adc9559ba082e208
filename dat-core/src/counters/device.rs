//! The counters of an adapter that its provider counts, for the whole time that the adapter is open: what it counts while
//! the counters are stopped does not show.

use dat_sync::Mutex;

use super::counter_set::{CounterSet, Counters};
use super::ids::IaCounter;
use crate::provider::DeviceCounters;

/// The counts of the provider when the counters of the adapter were started or reset; `None` while they are stopped.
#[derive(Default)]
pub(crate) struct DeviceBase(Mutex<Option<DeviceCounters>>);

impl DeviceBase {
    /// The counters are started: what is counted from now on shows, unless they were started before.
    pub(crate) fn start(&self, now: DeviceCounters) {
        self.0.lock().get_or_insert(now);
    }

    /// The counters are stopped. What was counted since the start or the last reset is kept in `kept`, which is on.
    pub(crate) fn stop(&self, now: DeviceCounters, kept: &CounterSet<IaCounter>) {
        if let Some(base) = self.0.lock().take() {
            for_each_difference(now, base, |counter, count| kept.add(counter, count));
        }
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
        for_each_difference(now, *base, |counter, count| counters.add(counter, count));
        if reset {
            *base = now;
        }
    }
}

/// Passes each counter with what was counted after `base`.
fn for_each_difference(
    now: DeviceCounters,
    base: DeviceCounters,
    mut pass: impl FnMut(IaCounter, u64),
) {
    for (counter, count) in COUNTS {
        pass(counter, count(&now).saturating_sub(count(&base)));
    }
}

/// Reads one count of the provider.
type Count = fn(&DeviceCounters) -> u64;

/// The counters of an adapter that its provider counts.
const COUNTS: [(IaCounter, Count); 18] = [
    (IaCounter::DiagErrRqUdsdprd, |it| it.dropped_datagrams),
    (IaCounter::LnkErrRcv, |it| it.receive_errors),
    (IaCounter::LnkErrXmtDiscards, |it| it.transmit_discards),
    (IaCounter::LnkErrRcvRemPhys, |it| it.remote_physical_errors),
    (IaCounter::LnkErrRcvConstraint, |it| it.receive_constraint_errors),
    (IaCounter::LnkErrXmtContraint, |it| it.transmit_constraint_errors),
    (IaCounter::LnkErrIntegrity, |it| it.integrity_errors),
    (IaCounter::LnkErrExcBufOverrun, |it| it.buffer_overruns),
    (IaCounter::LnkWarnRcvSwRelay, |it| it.switch_relay_errors),
    (IaCounter::LnkWarnXmtWait, |it| it.transmit_waits),
    (IaCounter::DiagErrRqRae, |it| it.responder_access_errors),
    (IaCounter::DiagErrRqOos, |it| it.responder_out_of_sequence),
    (IaCounter::DiagErrRqRire, |it| it.responder_invalid_requests),
    (IaCounter::DiagErrSqRae, |it| it.requester_access_errors),
    (IaCounter::DiagErrSqOos, |it| it.requester_out_of_sequence),
    (IaCounter::DiagErrSqRire, |it| it.requester_invalid_requests),
    (IaCounter::DiagErrSqRree, |it| it.receiver_retries_exceeded),
    (IaCounter::DiagErrSqTree, |it| it.transport_retries_exceeded),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_while_the_counters_are_stopped_does_not_show() {
        let (base, kept) = (DeviceBase::default(), CounterSet::default());
        let counted =
            |losses| DeviceCounters { dropped_datagrams: losses, ..DeviceCounters::default() };
        let read = |losses, reset| {
            let mut counters = kept.read(reset);
            base.add_to(&mut counters, counted(losses), reset);
            counters.get(IaCounter::DiagErrRqUdsdprd)
        };
        assert_eq!(read(1, false), 0, "not started");
        kept.switch(true);
        base.start(counted(1));
        assert_eq!(read(3, false), 2);
        base.stop(counted(4), &kept);
        kept.switch(false);
        assert_eq!(read(7, false), 3, "stopped");
        kept.switch(true);
        base.start(counted(7));
        assert_eq!(read(9, true), 5);
        assert_eq!(read(9, false), 0, "set back");
    }
}
