//! Reserved service points: they accept one request, for one endpoint.

use std::sync::Arc;

use dat_sync::SwapWord;

use crate::cr::OwnEndpoint;
use crate::ep::table::EpEvent;
use crate::ep::{Ep, EpSpec, EpState};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::Evd;
use crate::event::ServicePoint;
use crate::ia::Ia;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::IncomingRequest;
use crate::service_point::{Arrived, Receiving, Reception, ServicePointRef, deliver, listen};

/// A reserved service point (dat_rsp_create(3DAT)): it takes one request, for a given endpoint.
///
/// ```
/// use dat_core::{Connect, EpSpec, EpState, EvdFlags, EvdOptions, Event};
/// use std::time::Duration;
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let requests = ia.evd_create(&EvdOptions::new(1, EvdFlags::CONNECTION_REQUEST))?;
/// let (client, server) = (ia.ep_create(&EpSpec::new(&pz))?, ia.ep_create(&EpSpec::new(&pz))?);
/// let rsp = ia.rsp_create(1000, Some(&server), &requests)?;
/// assert_eq!(server.status()?.state, EpState::Reserved);
///
/// client.connect(&Connect::to(ia.attributes().address, rsp.qualifier()))?;
/// let Some(Event::ConnectionRequest(arrival)) = requests.next_event(Duration::from_secs(5))? else {
///     panic!("not a request");
/// };
/// arrival.request.accept(None, b"")?; // the endpoint is known
/// assert_eq!(server.status()?.state, EpState::Connected);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Rsp {
    inner: Arc<RspInner>,
}

pub(crate) struct RspInner {
    pub(crate) base: Base,
    endpoint: OwnEndpoint,
    /// [`TAKEN`] if the one request has arrived, or the endpoint was released.
    taken: SwapWord,
    reception: Reception,
}

/// The endpoint does not wait for a request.
const TAKEN: u8 = 1;
const FREE: u8 = 0;

object_handle!(Rsp, RspInner);

/// The parameters of a reserved service point (`DAT_RSP_PARAM`; dat_rsp_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RspParam {
    /// The connection qualifier that it listens on.
    pub qualifier: u64,
    /// The dispatcher that receives the request.
    pub evd: Evd,
    /// The endpoint that the request is for.
    pub ep: Ep,
}

const CREATE: &str = "dat_rsp_create";

impl Ia {
    /// Listens on a connection qualifier for one request, for one endpoint (dat_rsp_create(3DAT)).
    /// Without an endpoint the provider creates one, which the consumer finds in the query or in
    /// the request, and to which it must give a zone before it accepts.
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_IN_USE` if the qualifier has a listener already; `DAT_INVALID_STATE` for an
    /// endpoint that is not unconnected; `DAT_INVALID_HANDLE` for an endpoint or dispatcher that
    /// was freed, belongs to another adapter or is of the wrong kind.
    pub fn rsp_create(&self, qualifier: u64, endpoint: Option<&Ep>, evd: &Evd) -> Result<Rsp> {
        let ia = self.inner();
        let adapter = ia.adapter(CREATE)?;
        let reception = Reception::new(ia, evd, CREATE)?;
        let endpoint = match endpoint {
            Some(endpoint) if endpoint.adapter() == *self => {
                OwnEndpoint { endpoint: endpoint.clone(), provider_made: false }
            }
            Some(endpoint) => {
                let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                    .because(format!("{endpoint:?} belongs to another open adapter"));
                return Err(ia.describe(error, CREATE));
            }
            None => OwnEndpoint {
                endpoint: self
                    .ep_create_in(EpState::UnconfiguredUnconnected, &EpSpec::without_zone())?,
                provider_made: true,
            },
        };
        let base = ia.new_object(ObjectKind::Rsp, CREATE)?;
        endpoint.endpoint.inner().call(EpEvent::Reserve, CREATE)?;
        let taken = SwapWord::new(FREE);
        let inner = Arc::new(RspInner { base, endpoint, taken, reception });
        ia.insert(&inner.base, ServicePointRef::new(&inner), CREATE)?;
        listen(&inner, |sink| adapter.listen(Some(qualifier), sink))
            .map_err(|error| ia.describe(error, CREATE))?;
        Ok(Rsp { inner })
    }
}

impl Rsp {
    /// The connection qualifier that it listens on.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        self.inner.reception.qualifier()
    }

    /// The parameters of the service point (dat_rsp_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<RspParam> {
        Ok(RspParam {
            qualifier: self.qualifier(),
            evd: self.inner.dispatcher("dat_rsp_query")?,
            ep: self.inner.endpoint.endpoint.clone(),
        })
    }

    /// Stops listening (dat_rsp_free(3DAT)). The endpoint becomes unconnected, unless its request
    /// has arrived: then it belongs to the request.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.free("dat_rsp_free")
    }
}

impl Receiving for RspInner {
    fn stopped(&self) {
        self.release();
    }

    fn reception(&self) -> &Reception {
        &self.reception
    }

    fn arrived(&self, incoming: IncomingRequest) -> Arrived {
        let Some(evd) = self.recipient() else { return Err(incoming) };
        if self.taken.swap(TAKEN) == TAKEN {
            return Err(incoming);
        }
        let endpoint = self.endpoint.endpoint.inner();
        let qualifier = self.reception.qualifier();
        endpoint.request_arrived(incoming.peer, qualifier);
        let delivered = deliver(
            &self.base.ia,
            &evd,
            incoming,
            Some(OwnEndpoint { endpoint: self.endpoint.endpoint.clone(), provider_made: false }),
            ServicePoint::Reserved(self.base.id),
            qualifier,
        );
        if delivered.is_err() {
            // As if the request had never arrived: the endpoint continues to wait.
            endpoint.report(EpEvent::Reject);
            let _ = endpoint.call(EpEvent::Reserve, CREATE);
            // Pairs with `release`: either this thread finds that the service point was freed, or that one finds this.
            self.taken.swap(FREE);
            if !self.base.lifecycle.is_live() {
                self.release();
            }
        }
        delivered
    }
}

impl RspInner {
    /// Releases the endpoint, unless its request has arrived: it then belongs to the request, and
    /// after a rejection to the consumer, which may have put it to another use.
    fn release(&self) {
        if self.taken.swap(TAKEN) == TAKEN {
            return;
        }
        let endpoint = self.endpoint.endpoint.inner();
        endpoint.report(EpEvent::Release);
        if self.endpoint.provider_made && endpoint.state() == Some(EpState::UnconfiguredUnconnected)
        {
            endpoint.abandon();
        }
    }
}

impl Drop for RspInner {
    fn drop(&mut self) {
        self.abandon();
    }
}
