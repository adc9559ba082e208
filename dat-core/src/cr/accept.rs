//! The endpoint of a connection request: query and accept.

use std::sync::Arc;

use super::{Cr, CrInner, RequestEndpoint};
use crate::counters::IaCounter;
use crate::ep::Ep;
use crate::ep::table::EpEvent;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::private_data::check_private_data;
use crate::provider::Address;

/// The endpoint for which a request arrived.
#[derive(Clone, Debug)]
pub(crate) struct OwnEndpoint {
    pub(crate) endpoint: Ep,
    /// Created by the provider for this request: a rejection frees it.
    pub(crate) provider_made: bool,
}

impl RequestEndpoint for OwnEndpoint {
    fn release(&self) {
        self.endpoint.inner().report(EpEvent::Reject);
        if self.provider_made {
            self.endpoint.inner().abandon();
        }
    }
}

/// The parameters of a request (`DAT_CR_PARAM`; dat_cr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrParam {
    /// The address of the requesting adapter.
    pub remote_address: Address,
    /// The port qualifier of the requesting endpoint.
    pub remote_port: u64,
    /// The data that its consumer sent.
    pub private_data: Arc<[u8]>,
    /// The endpoint on which it is to be accepted, if the service point chose one.
    pub local_ep: Option<Ep>,
}

const ACCEPT: &str = "dat_cr_accept";

impl Cr {
    /// The parameters of the request (dat_cr_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was answered before.
    pub fn query(&self) -> Result<CrParam> {
        self.inner.base.check_live("dat_cr_query")?;
        Ok(CrParam {
            remote_address: self.inner.peer.address,
            remote_port: self.inner.peer.port,
            private_data: Arc::clone(&self.inner.private_data),
            local_ep: self.inner.own_endpoint().map(|own| own.endpoint.clone()),
        })
    }

    /// Accepts the request (dat_cr_accept(3DAT)): on the endpoint for which it arrived, or
    /// otherwise on an unconnected one. The outcome is reported as an event of the endpoint; the
    /// request ends.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` for a request that was answered, or an endpoint that is missing, freed
    /// or of another adapter; `DAT_INVALID_PARAMETER` for an endpoint other than the one for which
    /// the request arrived, or too much private data; `DAT_INVALID_STATE` for an endpoint that is
    /// not unconnected or has no zone; `DAT_INSUFFICIENT_RESOURCES` if the device has no resources
    /// left for the connection. After an error the request and the endpoint are unchanged.
    pub fn accept(&self, endpoint: Option<&Ep>, private_data: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(ACCEPT)?;
        let most = base.ia.attributes.provider.max_private_data_size;
        check_private_data(private_data, most).map_err(|error| base.describe(error, ACCEPT))?;
        let endpoint = inner.endpoint_for(endpoint)?;
        let mut place = inner.incoming.lock();
        let incoming = place.as_ref().ok_or_else(|| base.freed(ACCEPT))?;
        let brought = inner.endpoint.is_some();
        endpoint.inner().accept(incoming, brought, inner.port, private_data, ACCEPT)?;
        drop(place.take());
        drop(place);
        base.ia.counter_set.count(IaCounter::SpCrAccepted);
        base.ia.counter_set.count(IaCounter::CmRepTx);
        inner.end();
        Ok(())
    }
}

impl CrInner {
    /// The endpoint for which the request arrived, if the service point chose one.
    fn own_endpoint(&self) -> Option<&OwnEndpoint> {
        self.endpoint.as_deref()?.as_any().downcast_ref()
    }

    /// The endpoint to accept on.
    fn endpoint_for(&self, given: Option<&Ep>) -> Result<Ep> {
        let fail = |error: Error| Err(self.base.describe(error, ACCEPT));
        match (self.own_endpoint(), given) {
            (Some(own), None) => Ok(own.endpoint.clone()),
            (Some(own), Some(given)) if own.endpoint == *given => Ok(own.endpoint.clone()),
            (Some(own), Some(given)) => fail(
                Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                    .because(format!("the request is for {:?}, not {given:?}", own.endpoint))
                    .advise("accept without an endpoint: the request already has one"),
            ),
            (None, Some(given)) if given.adapter().inner().id == self.base.ia.id => {
                Ok(given.clone())
            }
            (None, Some(given)) => fail(
                Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                    .because(format!("{given:?} belongs to another open adapter")),
            ),
            (None, None) => fail(
                Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                    .because("the request has no endpoint and none was given")
                    .advise("give an unconnected endpoint"),
            ),
        }
    }
}
