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
            (IaCounter::LnkErrRcvRemPhys, now.remote_physical_errors, base.remote_physical_errors),
            (
                IaCounter::LnkErrRcvConstraint,
                now.receive_constraint_errors,
                base.receive_constraint_errors,
            ),
            (
                IaCounter::LnkErrXmtContraint,
                now.transmit_constraint_errors,
                base.transmit_constraint_errors,
            ),
            (IaCounter::LnkErrIntegrity, now.integrity_errors, base.integrity_errors),
            (IaCounter::LnkErrExcBufOverrun, now.buffer_overruns, base.buffer_overruns),
            (IaCounter::LnkWarnRcvSwRelay, now.switch_relay_errors, base.switch_relay_errors),
            (IaCounter::LnkWarnXmtWait, now.transmit_waits, base.transmit_waits),
            (IaCounter::DiagErrRqRae, now.responder_access_errors, base.responder_access_errors),
            (
                IaCounter::DiagErrRqOos,
                now.responder_out_of_sequence,
                base.responder_out_of_sequence,
            ),
            (
                IaCounter::DiagErrRqRire,
                now.responder_invalid_requests,
                base.responder_invalid_requests,
            ),
            (IaCounter::DiagErrSqRae, now.requester_access_errors, base.requester_access_errors),
            (
                IaCounter::DiagErrSqOos,
                now.requester_out_of_sequence,
                base.requester_out_of_sequence,
            ),
            (
                IaCounter::DiagErrSqRire,
                now.requester_invalid_requests,
                base.requester_invalid_requests,
            ),
            (
                IaCounter::DiagErrSqRree,
                now.receiver_retries_exceeded,
                base.receiver_retries_exceeded,
            ),
            (
                IaCounter::DiagErrSqTree,
                now.transport_retries_exceeded,
                base.transport_retries_exceeded,
            ),
        ] {
            counters.add(counter, now.saturating_sub(before));
        }
        if reset {
            *base = now;
        }
    }
}
