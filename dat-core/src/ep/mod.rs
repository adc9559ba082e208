//! Endpoints.

mod attributes;
mod connect;
mod control;
mod create;
mod datagram;
mod modify;
mod observe;
mod post;
mod post_checks;
mod queue_pair;
mod rdma_read_credits;
mod spec;
mod state;
pub mod table;
mod watermark;

pub(crate) use attributes::CommonAttributes;
pub use connect::Connect;
pub(crate) use post::{Gathered, gather};
pub use spec::{EpSpec, EpUpdate};
pub use state::EpState;
pub use watermark::RecvStatus;

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::attr::EpAttributes;
use crate::counters::{CounterSet, EpCounter};
use crate::deferred_upcalls::UpcallFreeMutex;
use crate::error::{Error, Result, ReturnType};
use crate::evd::{Evd, EvdInner, Stream, StreamBindings};
use crate::lifecycle::{Base, Hold, object_handle};
use crate::provider::{Address, Epochs, Failure, QueuePair};
use crate::pz::{Pz, PzInner};
use crate::srq::{Srq, SrqInner};
use dat_sync::region_table::RegionTable;
use dat_sync::{FirstUse, SlabArc, SlabWeak};

use control::Control;
use post_checks::PostChecks;
use rdma_read_credits::Reads;
use table::EpEvent;

/// An endpoint (dat_ep_create(3DAT)): one end of a connection, to which operations are
/// posted.
///
/// The example of the [crate](crate) connects two of them, which exchange a message.
///
/// ```
/// use dat_core::{EpSpec, EpState, EvdFlags, EvdOptions, Memory, Privileges};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let pz = ia.pz_create()?;
/// let evd = ia.evd_create(&EvdOptions::new(256, EvdFlags::DEFAULT))?;
/// let ep = ia.ep_create(&EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd))?;
///
/// // Receives may be posted in every state.
/// let lmr = ia.lmr_create(&Memory::zeroed(64)?, &pz, Privileges::LOCAL_WRITE)?;
/// ep.post_recv(&[lmr.triplet(0, 64)?], 1, Default::default())?;
/// let status = ep.status()?;
/// assert_eq!((status.state, status.recv_idle), (EpState::Unconnected, false));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Ep {
    inner: SlabArc<EpInner>,
}

/// The fields that most posts need are in the first cache line.
#[repr(C)]
pub(crate) struct EpInner {
    queue_pair: FirstUse<Box<dyn QueuePair>>,
    regions: Arc<RegionTable>,
    epochs: Arc<Epochs>,
    post_checks: PostChecks,
    pub(crate) base: Base,
    /// Empty until counters are requested.
    counter_set: OnceLock<Arc<CounterSet<EpCounter>>>,
    /// A weak reference to itself, for callbacks.
    weak_self: SlabWeak<EpInner>,
    state: AtomicU8,
    /// The state to return to if an accept fails; under the lock of `control`.
    state_before_accept: AtomicU8,
    /// Number of late and impossible events, which the table ignores.
    ignored: AtomicU32,
    control: UpcallFreeMutex<Control>,
    /// Held during control calls; see [`control`]. `None` once the endpoint is freed.
    call: UpcallFreeMutex<Option<Config>>,
}

object_handle!(Ep, EpInner);

const STATUS: &str = "dat_ep_get_status";
const QUERY: &str = "dat_ep_query";

/// The fields that most posts need are in the first line, and an endpoint with its counts takes
/// five.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::offset_of!(EpInner, post_checks) == 40);
    assert!(size_of::<EpInner>() + 8 <= 320);
};

/// The objects and attributes of an endpoint.
struct Config {
    pz: Option<Hold<PzInner>>,
    bindings: StreamBindings,
    connect: Option<Hold<EvdInner>>,
    srq: Option<Hold<SrqInner>>,
    attributes: Arc<EpAttributes>,
    reads: Reads,
}

/// A summary of the state of an endpoint (dat_ep_get_status(3DAT)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpStatus {
    /// Its state.
    pub state: EpState,
    /// True if no receive is outstanding.
    pub recv_idle: bool,
    /// True if no request is outstanding.
    pub request_idle: bool,
}

/// The parameters of an endpoint (`DAT_EP_PARAM`; dat_ep_query(3DAT)): a copy that the caller owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpParam {
    /// Its state.
    pub state: EpState,
    /// The address of its adapter.
    pub local_address: Address,
    /// Its port qualifier; 0 while it has none.
    pub local_port: u64,
    /// The adapter to which it is connected or connecting.
    pub remote_address: Option<Address>,
    /// The port or connection qualifier to which it is connected or connecting.
    pub remote_port: Option<u64>,
    /// Its zone.
    pub pz: Option<Pz>,
    /// The dispatcher that receives complete into.
    pub recv_evd: Option<Evd>,
    /// The dispatcher that requests complete into.
    pub request_evd: Option<Evd>,
    /// The dispatcher of its connection events.
    pub connect_evd: Option<Evd>,
    /// The shared queue that receives are taken from, if any.
    pub srq: Option<Srq>,
    /// Its attributes, with all defaults filled in.
    pub attributes: EpAttributes,
    /// Number of late and impossible events of its connections, which changed nothing.
    pub ignored_events: u64,
}

impl Ep {
    pub(crate) fn inner(&self) -> &SlabArc<EpInner> {
        &self.inner
    }

    /// Its state, and whether it is idle (dat_ep_get_status(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn status(&self) -> Result<EpStatus> {
        let state = self.inner.state().ok_or_else(|| self.inner.base.freed(STATUS))?;
        let outstanding = self.inner.outstanding();
        Ok(EpStatus {
            state,
            recv_idle: outstanding.receives == 0,
            request_idle: outstanding.requests == 0,
        })
    }

    /// The first operation that failed since the endpoint was created or reset: the one that broke
    /// its connection, if an operation did. It is known once its completion was dequeued, and kept
    /// until a reset. `None` if nothing failed, or if the provider does not record it.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn failure(&self) -> Result<Option<Failure>> {
        self.inner.base.check_live("Ep::failure")?;
        Ok(self.inner.queue_pair().and_then(|queue_pair| queue_pair.failure()))
    }

    /// The parameters of the endpoint (dat_ep_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<EpParam> {
        let inner = &self.inner;
        inner.base.check_process(QUERY)?;
        let freed = || inner.base.freed(QUERY);
        let call = inner.call.lock();
        let config = call.as_ref().ok_or_else(freed)?;
        let control = inner.control();
        let state = inner.state().ok_or_else(freed)?;
        let port = control.other.as_ref().map_or(0, |other| other.local_port);
        let peer = control.peer();
        drop(control);
        let connecting = match state {
            EpState::ActiveConnectionPending => {
                inner.queue_pair().and_then(|queue_pair| queue_pair.connecting_port())
            }
            _ => None,
        };
        let evd = |hold: &Hold<EvdInner>| Evd::from_inner(hold.arc());
        Ok(EpParam {
            state,
            local_address: inner.base.ia.attributes.ia.address,
            local_port: connecting.unwrap_or(port),
            remote_address: peer.map(|peer| peer.0),
            remote_port: peer.map(|peer| peer.1),
            pz: config.pz.as_ref().map(|pz| Pz::from_inner(pz.arc())),
            recv_evd: config.bindings.evd(Stream::Receive).map(evd),
            request_evd: config.bindings.evd(Stream::Request).map(evd),
            connect_evd: config.connect.as_ref().map(evd),
            srq: config.srq.as_ref().map(|srq| Srq::from_inner(srq.arc())),
            attributes: EpAttributes::clone(&config.attributes),
            ignored_events: u64::from(inner.ignored.load(Ordering::Relaxed)),
        })
    }

    /// Frees the endpoint and ends its connection or attempt (dat_ep_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while it belongs to a service point or a connection request;
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        const FREE: &str = "dat_ep_free";
        let inner = &self.inner;
        inner.base.check_process(FREE)?;
        let config = {
            let mut call = inner.call.lock();
            inner.perform(EpEvent::Free, FREE)?;
            inner.base.lifecycle.force();
            inner.shut_queue_pair_down();
            call.take()
        };
        drop(config);
        inner.base.leave();
        Ok(())
    }
}

impl EpInner {
    pub(crate) fn counter_set(&self) -> &Arc<CounterSet<EpCounter>> {
        self.counter_set.get_or_init(Arc::default)
    }

    /// The counters, if they are started.
    #[inline]
    pub(crate) fn counting(&self) -> Option<&CounterSet<EpCounter>> {
        self.counter_set
            .get()
            .map(|counter_set| &**counter_set)
            .filter(|counter_set| counter_set.is_on())
    }

    fn count(&self, counter: EpCounter) {
        if let Some(counter_set) = self.counting() {
            counter_set.count(counter);
        }
    }

    /// Starts or stops counting. The dispatcher of receives is notified first.
    pub(crate) fn set_counted(&self, counted: bool) {
        let call = self.call.lock();
        let recv = call.as_ref().and_then(|config| config.bindings.evd(Stream::Receive));
        if let Some(recv) = recv.filter(|_| counted) {
            recv.count_receives(self.base.id, self.counter_set());
        }
        self.counter_set().switch(counted);
        self.post_checks.set_counted(counted);
    }

    /// The number of the zone in the region table; 0 if there is none.
    pub(crate) fn zone(&self) -> u32 {
        self.post_checks.zone()
    }

    /// A call that only takes a step.
    pub(crate) fn call(&self, event: EpEvent, operation: &'static str) -> Result<()> {
        let _call = self.call.lock();
        self.perform(event, operation).map(|_| ())
    }

    /// The error of a call whose endpoint has no zone yet.
    #[cold]
    fn without_zone(&self, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidState, crate::error::Subtype::InvalidStateEpPz)
            .because("the endpoint has no protection zone")
            .advise("set one with dat_ep_modify");
        self.base.describe(error, operation)
    }
}

impl Drop for EpInner {
    fn drop(&mut self) {
        self.abandon();
    }
}
