//! Public service points: where any number of requests for connections arrive.

use std::sync::Arc;

use crate::attr::EpCreator;
use crate::cr::OwnEndpoint;
use crate::ep::{Endpoint, EpSpec};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::EventDispatcher;
use crate::event::ServicePoint;
use crate::ia::InterfaceAdapter;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::{Incoming, Peer};
use crate::service_point::{Arrived, Receiving, Reception, ServicePointRef, deliver, listen};

/// A public service point (dat_psp_create(3DAT)).
#[derive(Clone)]
pub struct Psp {
    inner: Arc<PspInner>,
}

pub(crate) struct PspInner {
    pub(crate) base: Base,
    maker: PspMaker,
    reception: Reception,
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
                .because(format!("the provider creates endpoints {creator:?}, not by {maker:?}"))
                .advise("use the other psp_flags");
            return Err(ia.describe(error, operation));
        }
        let reception = Reception::new(ia, evd, operation)?;
        let base = ia.new_object(ObjectKind::Psp, operation)?;
        let inner = Arc::new(PspInner { base, maker, reception });
        ia.insert(&inner.base, ServicePointRef::new(&inner), operation)?;
        listen(&inner, &*adapter, qualifier)
            .map_err(|error| inner.base.describe(error, operation))?;
        Ok(Psp { inner })
    }
}

impl Psp {
    /// The connection qualifier that it listens on.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        self.inner.reception.qualifier()
    }

    /// What the service point is (dat_psp_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<PspParam> {
        Ok(PspParam {
            qualifier: self.qualifier(),
            evd: self.inner.dispatcher("dat_psp_query")?,
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

impl Receiving for PspInner {
    fn abandon(&self) {
        self.base.lifecycle.force();
        drop(self.reception.close());
        self.base.leave();
    }

    fn reception(&self) -> &Reception {
        &self.reception
    }

    /// Makes a request for the consumer out of what arrived.
    fn arrived(&self, incoming: Box<dyn Incoming>) -> Arrived {
        let Some(evd) = self.recipient() else { return Err(incoming) };
        let qualifier = self.reception.qualifier();
        let endpoint = match self.maker {
            PspMaker::Consumer => None,
            PspMaker::Provider => match self.make_endpoint(incoming.peer(), qualifier) {
                Some(endpoint) => Some(OwnEndpoint { endpoint, provider_made: true }),
                None => return Err(incoming),
            },
        };
        let point = ServicePoint::Public(self.base.id);
        deliver(&self.base.ia, &evd, incoming, endpoint, point, qualifier)
    }
}

impl PspInner {
    fn make_endpoint(&self, peer: Peer, port: u64) -> Option<Endpoint> {
        let ia = InterfaceAdapter::from_inner(&self.base.ia);
        let endpoint = ia.ep_create(&EpSpec::made_by_provider()).ok()?;
        endpoint.inner().request_arrived(peer, port);
        Some(endpoint)
    }
}
