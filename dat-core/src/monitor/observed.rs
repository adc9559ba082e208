//! Owners of connections: an adapter of this crate, or a device that uses the provider contract without it.

use std::sync::{Arc, Weak};

use dat_sync::SlabWeak;

use super::layout::{AdapterRecord, Counted};
use crate::counters::SizedOperation;
use crate::ep::{EpInner, EpState};
use crate::evd::EvdInner;
use crate::ia::IaInner;
use crate::kind::ObjectKind;
use crate::provider::Activity;

/// A device that exists as long as the process, and has connections of its own; for dat-soft-verbs.
#[doc(hidden)]
pub trait Device: Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Number of its queue pairs.
    fn endpoints(&self) -> u64;

    /// Its queue pairs that are connected or connecting.
    fn connections(&self) -> Vec<Observation>;
}

/// An endpoint that is connected or connecting.
#[doc(hidden)]
#[derive(Debug)]
pub struct Observation {
    /// Its number.
    pub ep: u64,
    /// Its state.
    pub state: EpState,
    /// The address and the port of the peer; empty if they are not known.
    pub peer: String,
    /// Its activity.
    pub activity: Activity,
}

/// The number of a device, which no adapter has.
const DEVICE: u64 = 0;

/// A reference to an object that was shown to the monitor, and may be gone.
pub(super) enum Joined {
    Ia(Weak<IaInner>),
    Device(&'static dyn Device),
}

impl Joined {
    pub(super) fn is(&self, ia: &IaInner) -> bool {
        matches!(self, Self::Ia(weak) if std::ptr::eq(weak.as_ptr(), ia))
    }

    pub(super) fn observe(&self) -> Option<Observed> {
        match self {
            Self::Ia(weak) => weak.upgrade().map(Observed::Ia),
            Self::Device(device) => Some(Observed::Device(*device)),
        }
    }
}

/// As [`Joined`], while it exists.
pub(super) enum Observed {
    Ia(Arc<IaInner>),
    Device(&'static dyn Device),
}

impl Observed {
    /// Its number in the process.
    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Ia(ia) => ia.id,
            Self::Device(_) => DEVICE,
        }
    }

    /// Its row.
    pub(super) fn row(&self, trouble: String) -> AdapterRecord {
        let (name, endpoints) = match self {
            Self::Ia(ia) => (ia.name.as_str(), ia.count_of(ObjectKind::Ep).into()),
            Self::Device(device) => (device.name(), device.endpoints()),
        };
        AdapterRecord { ia: self.id(), name: name.to_owned(), endpoints, trouble }
    }

    /// Calls a function with each connection.
    pub(super) fn each_connection(&self, mut visit: impl FnMut(Observation)) {
        match self {
            Self::Ia(ia) => {
                for endpoint in ia.select(|weak: &SlabWeak<EpInner>| weak.upgrade()) {
                    let Some((state, peer, activity)) = endpoint.observe() else { continue };
                    visit(Observation { ep: endpoint.base.id, state, peer, activity });
                }
            }
            Self::Device(device) => device.connections().into_iter().for_each(visit),
        }
    }

    /// Calls a function with the counters of each object that are started.
    pub(super) fn each_counter(&self, mut visit: impl FnMut(Counted, &[u64])) {
        let Self::Ia(ia) = self else { return };
        if ia.counter_set.is_on() {
            visit(Counted::Ia, ia.counters(false).values());
        }
        for endpoint in ia.select(|weak: &SlabWeak<EpInner>| weak.upgrade()) {
            let Some(counter_set) = endpoint.counting() else { continue };
            let ep = endpoint.base.id;
            visit(Counted::Ep(ep), counter_set.read(false).values());
            let sizes = counter_set.read_sizes(false);
            for operation in SizedOperation::ALL {
                visit(Counted::Sizes(ep, *operation), sizes.counts(*operation));
            }
        }
        for evd in ia.select(|weak: &Weak<EvdInner>| weak.upgrade()) {
            if evd.counter_set().is_on() {
                visit(Counted::Evd(evd.base.id), evd.counter_set().read(false).values());
            }
        }
    }
}
