//! Public service points: where any number of requests for connections arrive.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use crate::attr::EpCreator;
use crate::counters::IaCounter;
use crate::cr::{ConnectionRequest, OwnEndpoint};
use crate::ep::{Endpoint, EpSpec};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{EvdInner, EventDispatcher, Raised};
use crate::event::{CrArrival, Event, ServicePoint};
use crate::flags::EvdFlags;
use crate::ia::{Child, IaInner, InterfaceAdapter};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::provider::{Incoming, ListenSink, Listener, Peer};

/// A public service point (dat_psp_create(3DAT)).
#[derive(Clone)]
pub struct Psp {
    inner: Arc<PspInner>,
}

pub(crate) struct PspInner {
    pub(crate) base: Base,
    maker: PspMaker,
    qualifier: OnceLock<u64>,
    /// Both gone once the service point is freed.
    evd: Mutex<Option<Hold<EvdInner>>>,
    listener: Mutex<Option<Box<dyn Listener>>>,
}

object_handle!(Psp, PspInner);

/// Who makes the endpoint for a request (`DAT_PSP_FLAGS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PspMaker {
    /// The consumer, who gives it when it accepts.
    Consumer,
    /// The provider, for each request as it arrives.
    Provider,
}

/// What a public service point is (`DAT_PSP_PARAM`; dat_psp_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspParam {
    /// The connection qualifier that it listens on.
    pub qualifier: u64,
    /// Where requests arrive.
    pub evd: EventDispatcher,
    /// Who makes endpoints.
    pub maker: PspMaker,
}

const CREATE: &str = "dat_psp_create";
const CREATE_ANY: &str = "dat_psp_create_any";

/// Checks and holds the dispatcher of a service point.
pub(crate) fn hold_cr_evd(
    ia: &Arc<IaInner>,
    evd: &EventDispatcher,
    operation: &'static str,
) -> Result<Hold<EvdInner>> {
    let hold = Hold::new(evd.inner(), ia, operation, Subtype::InvalidHandleEvdCr)?;
    if !hold.flags().contains(EvdFlags::CONNECTION_REQUEST) {
        let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEvdCr)
            .because(format!("the dispatcher was made for {:?}", hold.flags()))
            .advise("make it with DAT_EVD_CR_FLAG");
        return Err(ia.describe(error, operation));
    }
    Ok(hold)
}

impl InterfaceAdapter {
    /// Listens on a connection qualifier (dat_psp_create(3DAT)). The queue of the dispatcher is
    /// the backlog: requests that find no room there are refused.
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_IN_USE` when something listens there; `DAT_INVALID_PARAMETER` for a
    /// qualifier that the transport doesn't have; `DAT_INVALID_HANDLE` for a dispatcher that was
    /// freed, is of another adapter, or not made for connection requests;
    /// `DAT_MODEL_NOT_SUPPORTED` when the provider can't have endpoints made that way.
    pub fn psp_create(
        &self,
        qualifier: u64,
        evd: &EventDispatcher,
        maker: PspMaker,
    ) -> Result<Psp> {
        self.listen(Some(qualifier), evd, maker, CREATE)
    }

    /// Listens on a connection qualifier of the adapter's choice (dat_psp_create_any(3DAT)).
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_UNAVAILABLE` when none is free; else as
    /// [`psp_create`](Self::psp_create).
    pub fn psp_create_any(&self, evd: &EventDispatcher, maker: PspMaker) -> Result<Psp> {
        self.listen(None, evd, maker, CREATE_ANY)
    }

    fn listen(
        &self,
        qualifier: Option<u64>,
        evd: &EventDispatcher,
        maker: PspMaker,
        operation: &'static str,
    ) -> Result<Psp> {
        let ia = self.inner();
        let adapter = ia.adapter(operation)?;
        let creator = ia.attributes.provider.ep_creator;
        if matches!(
            (maker, creator),
            (PspMaker::Provider, EpCreator::Never) | (PspMaker::Consumer, EpCreator::Always)
        ) {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because(format!("the provider makes endpoints {creator:?}, not by {maker:?}"))
                .advise("use the other psp_flags");
            return Err(ia.describe(error, operation));
        }
        let evd = hold_cr_evd(ia, evd, operation)?;
        let base = ia.enroll(ObjectKind::Psp, operation)?;
        let inner = Arc::new(PspInner {
            base,
            maker,
            qualifier: OnceLock::new(),
            evd: Mutex::new(Some(evd)),
            listener: Mutex::new(None),
        });
        ia.adopt(inner.base.id, Child::Psp(Arc::downgrade(&inner)), operation)?;
        let sink = Arc::new(PspSink { psp: Arc::downgrade(&inner) });
        // Held over the call, so that a request that arrives meanwhile finds the qualifier.
        let mut place = inner.listener.lock();
        let listener = adapter
            .listen(qualifier, sink)
            .map_err(|error| inner.base.describe(error, operation))?;
        let _ = inner.qualifier.set(listener.qualifier());
        *place = Some(listener);
        drop(place);
        ia.tally.count(IaCounter::CmListen);
        Ok(Psp { inner })
    }
}

impl Psp {
    /// The connection qualifier that it listens on.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        self.inner.qualifier.get().copied().unwrap_or(0)
    }

    /// What the service point is (dat_psp_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<PspParam> {
        let evd = self.inner.evd.lock();
        let evd = evd.as_ref().ok_or_else(|| self.inner.base.freed("dat_psp_query"))?;
        Ok(PspParam {
            qualifier: self.qualifier(),
            evd: EventDispatcher::from_inner(evd.arc()),
            maker: self.inner.maker,
        })
    }

    /// Stops to listen (dat_psp_free(3DAT)). Requests that arrived before stay valid.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.base.retire("dat_psp_free", Subtype::NoSubtype)?;
        self.inner.abandon();
        Ok(())
    }
}

impl PspInner {
    pub(crate) fn listens_on(&self, qualifier: u64) -> bool {
        self.base.lifecycle.is_live() && self.qualifier.get() == Some(&qualifier)
    }

    /// Makes a request for the consumer out of what arrived.
    pub(crate) fn arrived(
        &self,
        incoming: Box<dyn Incoming>,
    ) -> std::result::Result<(), Box<dyn Incoming>> {
        let evd = self.evd.lock().as_ref().map(|evd| Arc::clone(evd.arc()));
        let Some(evd) = evd.filter(|_| self.base.lifecycle.is_live()) else {
            return Err(incoming);
        };
        let qualifier = self.qualifier.get().copied().unwrap_or(0);
        let endpoint = match self.maker {
            PspMaker::Consumer => None,
            PspMaker::Provider => match self.make_endpoint(incoming.peer(), qualifier) {
                Some(endpoint) => Some(OwnEndpoint { endpoint, provider_made: true }),
                None => return Err(incoming),
            },
        };
        deliver(
            &self.base.ia,
            &evd,
            incoming,
            endpoint,
            ServicePoint::Public(self.base.id),
            qualifier,
        )
    }

    fn make_endpoint(&self, peer: Peer, port: u64) -> Option<Endpoint> {
        let ia = InterfaceAdapter::from_inner(&self.base.ia);
        let endpoint = ia.ep_create(&EpSpec::made_by_provider()).ok()?;
        endpoint.inner().request_arrived(peer, port);
        Some(endpoint)
    }

    pub(crate) fn abandon(&self) {
        self.base.lifecycle.force();
        let listener = self.listener.lock().take();
        drop(listener);
        let evd = self.evd.lock().take();
        drop(evd);
        self.base.leave();
    }
}

/// Delivers a request to a dispatcher; gives it back when there is no room.
pub(crate) fn deliver(
    ia: &Arc<IaInner>,
    evd: &EvdInner,
    incoming: Box<dyn Incoming>,
    endpoint: Option<OwnEndpoint>,
    service_point: ServicePoint,
    qualifier: u64,
) -> std::result::Result<(), Box<dyn Incoming>> {
    let own = endpoint.clone();
    let datagram = incoming.is_datagram();
    let request = ConnectionRequest::new(ia, incoming, endpoint, qualifier)?;
    let arrival = CrArrival { service_point, qualifier, datagram, request: request.clone() };
    match evd.raise_request(Event::ConnectionRequest(arrival)) {
        Raised::Queued => {
            ia.tally.count(IaCounter::SpCr);
            ia.tally.count(IaCounter::CmReqRx);
            Ok(())
        }
        Raised::Full | Raised::Dead => match request.give_back() {
            Some(incoming) => {
                if let Some(own) = own.filter(|own| own.provider_made) {
                    own.endpoint.inner().abandon();
                }
                Err(incoming)
            }
            None => Ok(()),
        },
    }
}

/// What the listener reports to. It must not keep the service point alive.
struct PspSink {
    psp: Weak<PspInner>,
}

impl ListenSink for PspSink {
    fn connection_request(
        &self,
        incoming: Box<dyn Incoming>,
    ) -> std::result::Result<(), Box<dyn Incoming>> {
        match self.psp.upgrade() {
            Some(psp) => psp.arrived(incoming),
            None => Err(incoming),
        }
    }
}

impl fmt::Debug for PspInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base.label())
    }
}
