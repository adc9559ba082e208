//! Connection requests.

use std::net::IpAddr;
use std::sync::Arc;

use crate::calm::CalmMutex;
use crate::counters::IaCounter;
use crate::ep::table::EpEvent;
use crate::ep::{Endpoint, check_private_data};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::ia::{Child, IaInner};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::{Incoming, Peer};

/// A request for a connection that waits for the consumer's answer. It ends with the answer;
/// dropping all its handles refuses it.
#[derive(Clone)]
pub struct ConnectionRequest {
    inner: Arc<CrInner>,
}

pub(crate) struct CrInner {
    pub(crate) base: Base,
    /// Gone once answered.
    incoming: CalmMutex<Option<Box<dyn Incoming>>>,
    peer: Peer,
    /// Where it arrived.
    port: u64,
    private_data: Arc<[u8]>,
    endpoint: Option<OwnEndpoint>,
}

/// The endpoint that a request brought along.
#[derive(Clone, Debug)]
pub(crate) struct OwnEndpoint {
    pub(crate) endpoint: Endpoint,
    /// Made by the provider for this request: a refusal takes it back.
    pub(crate) provider_made: bool,
}

object_handle!(ConnectionRequest, CrInner);

/// What a request says (`DAT_CR_PARAM`; dat_cr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrParam {
    /// The address of the adapter that asks.
    pub remote_address: IpAddr,
    /// The port qualifier of the endpoint that asks.
    pub remote_port: u64,
    /// What its consumer sent.
    pub private_data: Arc<[u8]>,
    /// The endpoint that it is to be accepted on, if the service point decided that.
    pub local_ep: Option<Endpoint>,
}

const ACCEPT: &str = "dat_cr_accept";
const REJECT: &str = "dat_cr_reject";

impl ConnectionRequest {
    /// Takes up a request that arrived; gives it back when that fails.
    pub(crate) fn new(
        ia: &Arc<IaInner>,
        incoming: Box<dyn Incoming>,
        endpoint: Option<OwnEndpoint>,
        port: u64,
    ) -> std::result::Result<Self, Box<dyn Incoming>> {
        const ARRIVAL: &str = "connection request";
        let Ok(base) = ia.enroll(ObjectKind::Cr, ARRIVAL) else { return Err(incoming) };
        let inner = Arc::new(CrInner {
            base,
            peer: incoming.peer(),
            port,
            private_data: Arc::from(incoming.private_data()),
            incoming: CalmMutex::new(Some(incoming)),
            endpoint,
        });
        let request = Self { inner };
        let child = Child::Cr(Arc::downgrade(&request.inner));
        match ia.adopt(&request.inner.base, child, ARRIVAL) {
            Ok(()) => Ok(request),
            Err(_) => request.give_back().map_or(Ok(request), Err),
        }
    }

    /// Takes the transport's request out again, unanswered.
    pub(crate) fn give_back(&self) -> Option<Box<dyn Incoming>> {
        self.inner.incoming.lock().take()
    }

    /// What the request says (dat_cr_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was answered.
    pub fn query(&self) -> Result<CrParam> {
        self.inner.base.check_live("dat_cr_query")?;
        Ok(CrParam {
            remote_address: self.inner.peer.address,
            remote_port: self.inner.peer.port,
            private_data: Arc::clone(&self.inner.private_data),
            local_ep: self.inner.endpoint.as_ref().map(|own| own.endpoint.clone()),
        })
    }

    /// Accepts the request (dat_cr_accept(3DAT)): on the endpoint that it brought, or else on
    /// an unconnected one. The outcome comes as an event of the endpoint; the request is gone.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` for a request that was answered, or an endpoint that is missing,
    /// freed or of another adapter; `DAT_INVALID_PARAMETER` for an endpoint besides the one that
    /// the request brought, or too much private data; `DAT_INVALID_STATE` for an endpoint that
    /// is not unconnected or has no zone; `DAT_INSUFFICIENT_RESOURCES` where the queue pair is made
    /// now and there is none left. The request and the endpoint are then as before.
    pub fn accept(&self, endpoint: Option<&Endpoint>, private_data: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(ACCEPT)?;
        let most = base.ia.attributes.provider.max_private_data_size;
        check_private_data(private_data, most).map_err(|error| base.describe(error, ACCEPT))?;
        let endpoint = inner.endpoint_for(endpoint)?;
        let mut place = inner.incoming.lock();
        let incoming = place.as_ref().ok_or_else(|| base.freed(ACCEPT))?;
        let brought = inner.endpoint.is_some();
        endpoint.inner().accept(&**incoming, brought, inner.port, private_data, ACCEPT)?;
        drop(place.take());
        drop(place);
        base.ia.tally.count(IaCounter::SpCrAccepted);
        base.ia.tally.count(IaCounter::CmRepTx);
        inner.end();
        Ok(())
    }

    /// Refuses the request (dat_cr_reject(3DAT)). An endpoint of the consumer's that it
    /// brought is unconnected again, one of the provider's is gone.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` for a request that was answered; `DAT_INVALID_PARAMETER` for too
    /// much private data; else what kept the refusal from being sent: the request is gone all
    /// the same.
    pub fn reject(&self, private_data: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(REJECT)?;
        let most = base.ia.attributes.provider.max_private_data_size;
        check_private_data(private_data, most)
            .map_err(|error| base.describe(error.with_subtype(Subtype::InvalidArg2), REJECT))?;
        let incoming = inner.incoming.lock().take().ok_or_else(|| base.freed(REJECT))?;
        base.ia.tally.count(IaCounter::SpCrRejected);
        base.ia.tally.count(IaCounter::CmUserRejTx);
        let sent = incoming.reject(private_data);
        inner.release_endpoint();
        inner.end();
        sent.map_err(|error| base.describe(error, REJECT))
    }
}

impl ConnectionRequest {
    /// Hands the request over to another service point of the adapter (dat_cr_handoff(3DAT)),
    /// as if it had arrived there. The request is gone; an endpoint that it brought is as after
    /// a refusal.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` when nothing listens on the qualifier; `DAT_QUEUE_FULL` when the
    /// dispatcher there has no room; `DAT_INVALID_HANDLE` for a request that was answered. But
    /// for the last the request is as before.
    pub fn handoff(&self, qualifier: u64) -> Result<()> {
        const HANDOFF: &str = "dat_cr_handoff";
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(HANDOFF)?;
        let target = base.ia.service_point(qualifier).ok_or_else(|| {
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                .because(format!("no service point of the adapter listens on {qualifier}"))
                .advise("make the service point first");
            base.describe(error, HANDOFF)
        })?;
        let mut place = inner.incoming.lock();
        let incoming = place.take().ok_or_else(|| base.freed(HANDOFF))?;
        if let Err(incoming) = target.arrived(incoming) {
            *place = Some(incoming);
            let error = Error::new(ReturnType::QueueFull, Subtype::NoSubtype)
                .because(format!("the service point on {qualifier} takes no request now"))
                .advise("dequeue the requests there first");
            return Err(base.describe(error, HANDOFF));
        }
        drop(place);
        inner.release_endpoint();
        inner.end();
        Ok(())
    }
}

impl CrInner {
    /// The endpoint to accept on.
    fn endpoint_for(&self, given: Option<&Endpoint>) -> Result<Endpoint> {
        let fail = |error: Error| Err(self.base.describe(error, ACCEPT));
        match (&self.endpoint, given) {
            (Some(own), None) => Ok(own.endpoint.clone()),
            (Some(own), Some(given)) if own.endpoint == *given => Ok(own.endpoint.clone()),
            (Some(own), Some(given)) => fail(
                Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                    .because(format!("the request is for {:?}, not {given:?}", own.endpoint))
                    .advise("accept without an endpoint: the request brought its own"),
            ),
            (None, Some(given)) if given.adapter().inner().id == self.base.ia.id => {
                Ok(given.clone())
            }
            (None, Some(given)) => fail(
                Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                    .because(format!("{given:?} belongs to another instance of an adapter")),
            ),
            (None, None) => fail(
                Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                    .because("the request brought no endpoint and none was given")
                    .advise("give an unconnected endpoint"),
            ),
        }
    }

    /// Gives the endpoint back that the request brought.
    fn release_endpoint(&self) {
        if let Some(own) = &self.endpoint {
            own.endpoint.inner().report(EpEvent::Reject);
            if own.provider_made {
                own.endpoint.inner().abandon();
            }
        }
    }

    fn end(&self) {
        self.base.lifecycle.force();
        self.base.leave();
    }

    pub(crate) fn abandon(&self) {
        let incoming = self.incoming.lock().take();
        if incoming.is_some() {
            drop(incoming);
            self.release_endpoint();
        }
        self.end();
    }
}

impl Drop for CrInner {
    fn drop(&mut self) {
        self.abandon();
    }
}
