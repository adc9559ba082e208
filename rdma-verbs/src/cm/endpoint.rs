//! Identifiers created from resolved names, and requests that arrive at listening identifiers
//! (rdma_create_ep(3), rdma_get_request(3)).

use std::ptr::null_mut;
use std::sync::Arc;

use super::queue_pair::{Given, MadeQueuePair};
use super::{AddressEntry, CmId, CmQueuePairInit};
use crate::verbs::{ProtectionDomain, field, library};
use crate::{Error, Result};

impl CmId {
    /// Creates a synchronous identifier from a result of [`AddressInfo`](super::AddressInfo)
    /// (rdma_create_ep(3)).
    ///
    /// On the active side it is resolved and can [connect](Self::connect), and it has a queue pair
    /// if attributes are given. On the passive side it is bound and can [listen](Self::listen); it
    /// keeps the domain and the attributes, and creates the queue pairs of
    /// [requests](Self::take_request) from them.
    ///
    /// # Errors
    /// `EINVAL`: queues are given without their domain. Otherwise the errors of
    /// [`resolve_address`](Self::resolve_address), [`create_queue_pair`](Self::create_queue_pair)
    /// and [`bind`](Self::bind).
    pub fn create_endpoint<'a>(
        from: impl Into<AddressEntry<'a>>,
        domain: Option<&Arc<ProtectionDomain>>,
        init: Option<&CmQueuePairInit<'_>>,
    ) -> Result<Self> {
        const CALL: &str = "rdma_create_ep";
        let from = from.into();
        let queue_pair_type =
            |init: &CmQueuePairInit<'_>| from.queue_pair_type().unwrap_or(init.queue_pair_type);
        let given = init.map(|init| Given::new(init, queue_pair_type(init), domain));
        let mut attributes = init.map(|init| init.to_c(0));
        let attributes = attributes.as_mut().map_or(null_mut(), |attributes| &raw mut *attributes);
        let (mut raw, pd) = (null_mut(), domain.map_or(null_mut(), |domain| domain.raw()));
        // The library checks only that the domain belongs to the device of the identifier or of the
        // request.
        let device = domain.map_or(null_mut(), |domain| domain.context().raw());
        if init.is_some_and(|init| !init.has_queues_only_of(device)) {
            return Err(Error::new(CALL, libc::EINVAL));
        }
        // SAFETY: the pointers are valid and the objects alive; the identifier keeps them.
        let code =
            unsafe { (library!(cm).rdma_create_ep)(&raw mut raw, from.raw(), pd, attributes) };
        Error::check(CALL, code)?;
        let id = Self::wrap(raw, None, true, CALL)?;
        let mut made = id.inner.made.lock();
        if from.flags().passive {
            made.for_requests = given;
        } else {
            made.queue_pair = given.map(MadeQueuePair::new);
        }
        drop(made);
        Ok(id)
    }

    /// Waits for a request and returns its identifier, with its queue pair if the listening
    /// identifier has attributes for it (rdma_get_request(3)). The
    /// [event](Self::last_event) of the request is kept until the request is answered. Dropping
    /// the identifier rejects the request.
    ///
    /// # Errors
    /// `EINVAL`: the identifier is asynchronous, or does not listen.
    pub fn take_request(&self) -> Result<Self> {
        const CALL: &str = "rdma_get_request";
        let mut raw = null_mut();
        let operation = self.operation();
        // SAFETY: the identifier is alive and the pointer valid.
        let code = unsafe { (library!(cm).rdma_get_request)(self.raw(), &raw mut raw) };
        self.check(CALL, code)?;
        drop(operation);
        let id = Self::wrap(raw, None, self.inner.is_endpoint, CALL)?;
        *id.inner.listener.lock() = Some(self.clone());
        if !field!(id.raw(), qp).is_null() {
            let given = self.inner.made.lock().for_requests.clone();
            id.inner.made.lock().queue_pair = given.map(MadeQueuePair::new);
        }
        Ok(id)
    }
}
