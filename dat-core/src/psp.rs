//! Public service points: they accept any number of connection requests.

use std::sync::Arc;

use crate::attr::EpCreator;
use crate::counters::IaCounter;
use crate::cr::OwnEndpoint;
use crate::ep::{Connect, Ep, EpSpec};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::Evd;
use crate::event::ServicePoint;
use crate::ia::Ia;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::{IncomingRequest, Peer};
use crate::service_point::{Arrived, Receiving, Reception, ServicePointRef, deliver, listen};

/// A public service point (dat_psp_create(3DAT)): it listens on a connection qualifier, and each
/// request is an event.
///
/// ```
/// use dat_core::{Connect, EpSpec, EvdFlags, EvdOptions, Event, EpProvision};
/// use std::time::Duration;
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let requests = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST))?;
/// let psp = ia.psp_create_any(&requests, EpProvision::Consumer)?;
///
/// let client = ia.ep_create(&EpSpec::new(&pz))?;
/// client.connect(&Connect::to_psp(&psp).private_data(b"hello"))?;
/// let Some(Event::ConnectionRequest(arrival)) = requests.next_event(Duration::from_secs(5))? else {
///     panic!("not a request");
/// };
/// assert_eq!(arrival.qualifier, psp.qualifier());
/// assert_eq!(*arrival.request.query()?.private_data, *b"hello");
/// psp.free()?; // no more requests; this one can still be answered
/// arrival.request.accept(Some(&ia.ep_create(&EpSpec::new(&pz))?), b"")?;
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Psp {
    inner: Arc<PspInner>,
}

pub(crate) struct PspInner {
    pub(crate) base: Base,
    ep_provision: EpProvision,
    reception: Reception,
}

object_handle!(Psp, PspInner);

/// The side that creates the endpoint for a request (`DAT_PSP_FLAGS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpProvision {
    /// The consumer, which passes it when it accepts.
    Consumer,
    /// The provider, for each request on arrival.
    Provider,
}

/// The parameters of a public service point (`DAT_PSP_PARAM`; dat_psp_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspParam {
    /// The connection qualifier that it listens on.
    pub qualifier: u64,
    /// The dispatcher that receives its requests.
    pub evd: Evd,
    /// The side that creates endpoints.
    pub ep_provision: EpProvision,
}

const CREATE: &str = "dat_psp_create";
const CREATE_ANY: &str = "dat_psp_create_any";

impl Ia {
    /// Listens on a connection qualifier (dat_psp_create(3DAT)). The queue of the dispatcher is the
    /// backlog: requests that arrive when it is full are refused.
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_IN_USE` if the qualifier has a listener already; `DAT_INVALID_PARAMETER` for
    /// a qualifier that the transport does not support; `DAT_INVALID_HANDLE` for a dispatcher that
    /// was freed, belongs to another adapter, or was not created for connection requests;
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider does not support endpoints created by that side.
    pub fn psp_create(&self, qualifier: u64, evd: &Evd, ep_provision: EpProvision) -> Result<Psp> {
        self.listen(Some(qualifier), evd, ep_provision, CREATE)
    }

    /// Listens on a connection qualifier that the adapter chooses (dat_psp_create_any(3DAT)).
    ///
    /// # Errors
    /// `DAT_CONN_QUAL_UNAVAILABLE` if none is free; otherwise as [`psp_create`](Self::psp_create).
    pub fn psp_create_any(&self, evd: &Evd, ep_provision: EpProvision) -> Result<Psp> {
        let psp = self.listen(None, evd, ep_provision, CREATE_ANY)?;
        self.inner().counter_set.count(IaCounter::PspCreateAny);
        Ok(psp)
    }

    fn listen(
        &self,
        qualifier: Option<u64>,
        evd: &Evd,
        ep_provision: EpProvision,
        operation: &'static str,
    ) -> Result<Psp> {
        let ia = self.inner();
        let qualifier = qualifier.map(|it| ia.compat.meant_qualifier(it));
        let adapter = ia.adapter(operation)?;
        let creator = ia.attributes.provider.ep_creator;
        if matches!(
            (ep_provision, creator),
            (EpProvision::Provider, EpCreator::Never) | (EpProvision::Consumer, EpCreator::Always)
        ) {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because(match ep_provision {
                    EpProvision::Provider => "the provider never creates the endpoint of a request",
                    EpProvision::Consumer => {
                        "the provider creates the endpoint of each request itself"
                    }
                })
                .advise(match ep_provision {
                    EpProvision::Provider => "use DAT_PSP_CONSUMER_FLAG",
                    EpProvision::Consumer => "use DAT_PSP_PROVIDER_FLAG",
                });
            return Err(ia.describe(error, operation));
        }
        let reception = Reception::new(ia, evd, operation)?;
        let base = ia.new_object(ObjectKind::Psp, operation)?;
        let inner = Arc::new(PspInner { base, ep_provision, reception });
        ia.insert(&inner.base, ServicePointRef::new(&inner), operation)?;
        listen(&inner, |sink| adapter.listen(qualifier, sink))
            .map_err(|error| ia.describe(error, operation))?;
        Ok(Psp { inner })
    }
}

impl Psp {
    /// The connection qualifier that it listens on.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        self.inner.reception.qualifier()
    }

    /// The parameters of the service point (dat_psp_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<PspParam> {
        Ok(PspParam {
            qualifier: self.qualifier(),
            evd: self.inner.dispatcher("dat_psp_query")?,
            ep_provision: self.inner.ep_provision,
        })
    }

    /// Stops listening (dat_psp_free(3DAT)). Requests that arrived before stay valid.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.free("dat_psp_free")
    }
}

impl Connect<'static> {
    /// Same as [`Connect::to`] with the address and the qualifier of a service point of this program.
    ///
    /// ```
    /// # use dat_core::registry::Registry;
    /// use dat_core::{Connect, EpProvision, EvdFlags, EvdOptions};
    /// # let registry = Registry::new();
    /// # registry.add_provider(dat_provider_loopback::provider())?;
    /// # let ia = registry.open("loopback")?;
    /// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST))?;
    /// let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
    /// let connect = Connect::to_psp(&psp);
    /// assert_eq!(connect.address, ia.attributes().address);
    /// assert_eq!(connect.qualifier, psp.qualifier());
    /// # Ok::<(), dat_core::Error>(())
    /// ```
    #[must_use]
    pub fn to_psp(psp: &Psp) -> Self {
        Self::to(psp.inner.base.ia.attributes.ia.address, psp.qualifier())
    }
}

impl Receiving for PspInner {
    fn reception(&self) -> &Reception {
        &self.reception
    }

    /// Creates the consumer's request from one that arrived.
    fn arrived(&self, incoming: IncomingRequest) -> Arrived {
        let Some(evd) = self.recipient() else { return Err(incoming) };
        let qualifier = self.reception.qualifier();
        let endpoint = match self.ep_provision {
            EpProvision::Consumer => None,
            EpProvision::Provider => match self.make_endpoint(incoming.peer, qualifier) {
                Some(endpoint) => Some(OwnEndpoint { endpoint, provider_made: true }),
                None => return Err(incoming),
            },
        };
        let point = ServicePoint::Public(self.base.id);
        deliver(&self.base.ia, &evd, incoming, endpoint, point, qualifier)
    }
}

impl PspInner {
    fn make_endpoint(&self, peer: Peer, port: u64) -> Option<Ep> {
        let ia = Ia::from_inner(&self.base.ia);
        let endpoint = ia.ep_create(&EpSpec::without_zone()).ok()?;
        endpoint.inner().request_arrived(peer, port);
        Some(endpoint)
    }
}
