//! Connection requests.

mod accept;
mod handoff;

pub use accept::CrParam;
pub(crate) use accept::OwnEndpoint;

use std::sync::Arc;

use crate::counters::IaCounter;
use crate::deferred_upcalls::UpcallFreeMutex;
use crate::error::{Result, Subtype};
use crate::ia::{IaInner, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::private_data::check_private_data;
use crate::provider::{Downcast, IncomingRequest, Peer};

/// A connection request that waits for the consumer's answer. The answer ends it; dropping all its
/// handles rejects it.
///
/// Private data travels with the request and with the answer, for instance the memory that the
/// peer may access:
///
/// ```
/// use dat_core::{Cr, Ep, Lmr, Result};
///
/// /// Accepts clients that know the password, and sends them the memory that they may write.
/// fn answer(request: &Cr, ep: &Ep, region: &Lmr) -> Result<()> {
///     if *request.query()?.private_data != *b"password" {
///         return request.reject(b"wrong password");
///     }
///     request.accept(Some(ep), &region.remote_triplet(0, 4096)?.to_bytes())
/// }
/// # use dat_core::{Connect, EpSpec, EvdFlags, EvdOptions, Event, Memory, Privileges, EpProvision};
/// # use dat_core::Timeout;
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// # let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::DEFAULT))?;
/// # let client = ia.ep_create(&EpSpec::new(&pz).connect_evd(&evd))?;
/// # let server = ia.ep_create(&EpSpec::new(&pz))?;
/// # let lmr = ia.lmr_create(&Memory::zeroed(4096)?, &pz, Privileges::ALL)?;
/// # let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
/// # for (password, accepted) in [(&b"guess"[..], false), (b"password", true)] {
/// #     client.connect(&Connect::to_psp(&psp).private_data(password))?;
/// #     let Some(Event::ConnectionRequest(arrival)) = evd.next_event(Timeout::ZERO)? else { panic!() };
/// #     answer(&arrival.request, &server, &lmr)?;
/// #     let Some(Event::Connection(event)) = evd.next_event(Timeout::ZERO)? else { panic!() };
/// #     assert_eq!(dat_core::RmrTriplet::from_bytes(&event.private_data).is_some(), accepted);
/// #     if !accepted {
/// #         client.reset()?;
/// #     }
/// # }
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// The client finds these bytes in `private_data` of its [`ConnectionEvent`](crate::ConnectionEvent) and
/// makes the triplet with [`RmrTriplet::from_bytes`](crate::RmrTriplet::from_bytes).
#[derive(Clone)]
pub struct Cr {
    inner: Arc<CrInner>,
}

pub(crate) struct CrInner {
    pub(crate) base: Base,
    /// `None` once answered.
    incoming: UpcallFreeMutex<Option<IncomingRequest>>,
    peer: Peer,
    /// The qualifier at which it arrived.
    port: u64,
    private_data: Arc<[u8]>,
    endpoint: Option<Box<dyn RequestEndpoint>>,
}

/// The endpoint for which a request arrived, as the request sees it.
pub(crate) trait RequestEndpoint: Downcast {
    /// Returns the endpoint to its service point or consumer, after the request was rejected or
    /// handed over.
    fn release(&self);
}

object_handle!(Cr, CrInner);

const REJECT: &str = "dat_cr_reject";

impl Cr {
    /// Wraps a request that arrived; returns it if that fails.
    pub(crate) fn new(
        ia: &Arc<IaInner>,
        incoming: IncomingRequest,
        endpoint: Option<Box<dyn RequestEndpoint>>,
        port: u64,
    ) -> std::result::Result<Self, IncomingRequest> {
        const ARRIVAL: &str = "connection request";
        let Ok(base) = ia.new_object(ObjectKind::Cr, ARRIVAL) else { return Err(incoming) };
        let inner = Arc::new(CrInner {
            base,
            peer: incoming.peer,
            port,
            private_data: Arc::clone(&incoming.private_data),
            incoming: UpcallFreeMutex::new(Some(incoming)),
            endpoint,
        });
        let request = Self { inner };
        match ia.insert(&request.inner.base, Arc::downgrade(&request.inner), ARRIVAL) {
            Ok(()) => Ok(request),
            Err(_) => request.give_back().map_or(Ok(request), Err),
        }
    }

    /// Takes the provider's request out, unanswered.
    pub(crate) fn give_back(&self) -> Option<IncomingRequest> {
        self.inner.incoming.lock().take()
    }

    /// Rejects the request (dat_cr_reject(3DAT)). An endpoint of the consumer for which it arrived
    /// becomes unconnected; one that the provider created is freed.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` for a request that was answered before; `DAT_INVALID_PARAMETER` for too
    /// much private data; otherwise what prevented the rejection from being sent: the request has
    /// ended nevertheless.
    pub fn reject(&self, private_data: &[u8]) -> Result<()> {
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(REJECT)?;
        let most = base.ia.attributes.provider.max_private_data_size;
        check_private_data(private_data, most)
            .map_err(|error| base.describe(error.with_subtype(Subtype::InvalidArg2), REJECT))?;
        let incoming = inner.incoming.lock().take().ok_or_else(|| base.freed(REJECT))?;
        base.ia.counter_set.count(IaCounter::SpCrRejected);
        base.ia.counter_set.count(IaCounter::CmUserRejTx);
        let sent = incoming.responder.reject(private_data);
        inner.release_endpoint();
        inner.end();
        sent.map_err(|error| base.describe(error, REJECT))
    }
}

impl CrInner {
    /// Returns the endpoint for which the request arrived.
    fn release_endpoint(&self) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.release();
        }
    }

    fn end(&self) {
        self.base.lifecycle.force();
        self.base.leave();
    }
}

impl Object for CrInner {
    const KIND: ObjectKind = ObjectKind::Cr;

    fn abandon(&self) {
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
