//! The common part of all kinds of service points: they listen, and requests arrive.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use dat_sync::Mutex;

use crate::counters::IaCounter;
use crate::cr::{Cr, OwnEndpoint, RequestEndpoint};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{Evd, EvdInner};
use crate::event::{CrArrival, Event, ServicePoint};
use crate::flags::EvdFlags;
use crate::ia::{Child, IaInner};
use crate::kind::ObjectKind;
use crate::lifecycle::{Based, Hold};
use crate::provider::{IncomingRequest, ListenSink, Listener, ListenerParts};

/// The result of delivering a request, which is returned if it was not delivered.
pub(crate) type Arrived = std::result::Result<(), IncomingRequest>;

/// The listener of a service point, and the dispatcher that receives its requests.
pub(crate) struct Reception {
    /// Set once it listens.
    qualifier: OnceLock<u64>,
    /// This and the listener are `None` once the service point is freed.
    evd: Mutex<Option<Hold<EvdInner>>>,
    listener: Mutex<Option<Box<dyn Listener>>>,
    /// Requests that arrived during the call that listens, when their qualifier was not known yet.
    /// `None` once they were delivered.
    early: Mutex<Option<VecDeque<IncomingRequest>>>,
}

impl Reception {
    /// Checks and holds the dispatcher.
    pub(crate) fn new(ia: &Arc<IaInner>, evd: &Evd, operation: &'static str) -> Result<Self> {
        let hold =
            Hold::of_same_adapter(evd.inner(), ia, false, operation, Subtype::InvalidHandleEvdCr)?;
        if !hold.flags().contains(EvdFlags::CONNECTION_REQUEST) {
            let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEvdCr)
                .because(format!("the dispatcher was created for {}", hold.flags()))
                .advise("create it with DAT_EVD_CR_FLAG");
            return Err(ia.describe(error, operation));
        }
        Ok(Self {
            qualifier: OnceLock::new(),
            evd: Mutex::new(Some(hold)),
            listener: Mutex::new(None),
            early: Mutex::new(Some(VecDeque::new())),
        })
    }

    /// The connection qualifier that it listens on; 0 until it listens.
    pub(crate) fn qualifier(&self) -> u64 {
        self.qualifier.get().copied().unwrap_or(0)
    }

    /// Stops listening; the first call returns the dispatcher.
    pub(crate) fn close(&self) -> Option<Hold<EvdInner>> {
        let listener = self.listener.lock().take();
        drop(listener);
        self.evd.lock().take()
    }

    /// Keeps a request that arrived too early; returns any other one, to be delivered.
    fn keep_early(&self, incoming: IncomingRequest) -> Option<IncomingRequest> {
        match &mut *self.early.lock() {
            Some(early) => {
                early.push_back(incoming);
                None
            }
            None => Some(incoming),
        }
    }

    /// The next request that arrived too early. After the last one, no more are kept.
    fn next_early(&self) -> Option<IncomingRequest> {
        let mut early = self.early.lock();
        let next = early.as_mut().and_then(VecDeque::pop_front);
        if next.is_none() {
            *early = None;
        }
        next
    }
}

/// A service point, as connection requests see it.
pub(crate) trait Receiving: Based + Send + Sync {
    fn reception(&self) -> &Reception;

    /// Handles a request that arrived; returns it if it cannot be delivered.
    fn arrived(&self, incoming: IncomingRequest) -> Arrived;

    /// Called once, when it has stopped listening and its dispatcher is still in use.
    fn stopped(&self) {}

    /// Ends the service point even while it is in use.
    fn abandon(&self) {
        let base = self.base();
        base.lifecycle.force();
        if let Some(_evd) = self.reception().close() {
            self.stopped();
        }
        base.leave();
    }

    /// Frees the service point.
    fn free(&self, operation: &'static str) -> Result<()> {
        self.base().retire(operation, Subtype::NoSubtype)?;
        self.abandon();
        Ok(())
    }

    /// Returns true if it is live and listens on a qualifier.
    fn listens_on(&self, qualifier: u64) -> bool {
        self.base().lifecycle.is_live() && self.reception().qualifier.get() == Some(&qualifier)
    }

    /// The dispatcher for a request, while the service point is live.
    fn recipient(&self) -> Option<Arc<EvdInner>> {
        let evd = self.reception().evd.lock().as_ref().map(|evd| Arc::clone(evd.arc()));
        evd.filter(|_| self.base().lifecycle.is_live())
    }

    /// The dispatcher, for a query.
    fn dispatcher(&self, operation: &'static str) -> Result<Evd> {
        self.base().check_process(operation)?;
        let evd = self.reception().evd.lock();
        let evd = evd.as_ref().ok_or_else(|| self.base().freed(operation))?;
        Ok(Evd::from_inner(evd.arc()))
    }
}

/// Starts to listen for a service point.
pub(crate) fn listen<P: Receiving + 'static>(
    point: &Arc<P>,
    listen: impl FnOnce(Arc<dyn ListenSink>) -> Result<ListenerParts>,
) -> Result<()> {
    let sink = Arc::new(Sink(Arc::downgrade(point)));
    let reception = point.reception();
    // Held during the call, so that a concurrent close finds the listener.
    let mut place = reception.listener.lock();
    let listening = listen(sink)?;
    let _ = reception.qualifier.set(listening.qualifier);
    *place = Some(listening.listener);
    drop(place);
    point.base().ia.counter_set.count(IaCounter::CmListen);
    while let Some(incoming) = reception.next_early() {
        // A request that cannot be delivered is refused when it is dropped.
        drop(point.arrived(incoming));
    }
    Ok(())
}

/// Receives the listener's upcalls. It must not keep the service point alive.
struct Sink<P>(Weak<P>);

impl<P: Receiving> ListenSink for Sink<P> {
    fn connection_request(&self, incoming: IncomingRequest) -> Arrived {
        match self.0.upgrade() {
            Some(point) => match point.reception().keep_early(incoming) {
                Some(incoming) => point.arrived(incoming),
                None => Ok(()),
            },
            None => Err(incoming),
        }
    }
}

/// Delivers a request to a dispatcher; returns it if the dispatcher is full.
pub(crate) fn deliver(
    ia: &Arc<IaInner>,
    evd: &EvdInner,
    incoming: IncomingRequest,
    endpoint: Option<OwnEndpoint>,
    service_point: ServicePoint,
    qualifier: u64,
) -> Arrived {
    let own = endpoint.clone();
    let datagram = incoming.is_datagram;
    let endpoint = endpoint.map(|own| Box::new(own) as Box<dyn RequestEndpoint>);
    let request = Cr::new(ia, incoming, endpoint, qualifier)?;
    let delivered = evd.raise_request(request, |request| {
        Event::ConnectionRequest(CrArrival { service_point, qualifier, datagram, request })
    });
    let Err(request) = delivered else {
        ia.counter_set.count(IaCounter::SpCr);
        ia.counter_set.count(IaCounter::CmReqRx);
        return Ok(());
    };
    match request.give_back() {
        Some(incoming) => {
            if let Some(own) = own.filter(|own| own.provider_made) {
                own.endpoint.inner().abandon();
            }
            Err(incoming)
        }
        None => Ok(()),
    }
}

/// A service point in the table of its adapter.
pub(crate) struct ServicePointRef(Weak<dyn Receiving>);

impl ServicePointRef {
    pub(crate) fn new<P: Receiving + 'static>(point: &Arc<P>) -> Self {
        let point = Arc::downgrade(point);
        Self(point)
    }
}

impl Child for ServicePointRef {
    fn kind(&self) -> ObjectKind {
        self.0.upgrade().map_or(ObjectKind::Psp, |point| point.base().kind)
    }

    fn abandon(&self) {
        if let Some(point) = self.0.upgrade() {
            point.abandon();
        }
    }
}

impl IaInner {
    /// The service point of the adapter that listens on a qualifier.
    pub(crate) fn service_point(&self, qualifier: u64) -> Option<Arc<dyn Receiving>> {
        let points = self.select(|point: &ServicePointRef| point.0.upgrade());
        points.into_iter().find(|point| point.listens_on(qualifier))
    }
}
