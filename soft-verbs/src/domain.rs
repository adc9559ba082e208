//! Protection domains.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use dat_provider::ProtectionDomain;
use dat_sync::Mutex;

use crate::address_handle::{AddressHandle, AddressVector};
use crate::context::Context;
use crate::error::Result;
use crate::in_use::{Use, UseCount};
use crate::queue_pair::{QueuePair, QueuePairInit};
use crate::region::Region;
use crate::shared_receive::{SharedReceiveInit, SharedReceiveQueue};
use crate::window::{Window, WindowType};

/// A protection domain (ibv_alloc_pd(3)): its queue pairs access its memory, and no other.
pub struct Domain {
    context: Arc<Context>,
    pub(crate) kit: Arc<dyn ProtectionDomain>,
    /// The windows, by the first three bytes of their keys.
    pub(crate) windows: Mutex<HashMap<u32, Weak<Window>>>,
    /// The regions, by their local keys.
    pub(crate) regions: Mutex<HashMap<u32, Weak<Region>>>,
    uses: UseCount,
}

impl Domain {
    pub(crate) fn create(context: &Arc<Context>) -> Result<Arc<Self>> {
        let kit = context.engine.adapter.create_domain()?;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            kit,
            windows: Mutex::default(),
            regions: Mutex::default(),
            uses: UseCount::default(),
        }))
    }

    /// Its context.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn add_use(&self) -> Result<Use> {
        self.uses.add()
    }

    /// Creates a queue pair in the state RESET (ibv_create_qp(3)).
    ///
    /// # Errors
    /// `EINVAL` for sizes that the device does not have, `EOPNOTSUPP` for a type that it does not have, `ENOMEM`.
    pub fn create_queue_pair(self: &Arc<Self>, init: &QueuePairInit) -> Result<Arc<QueuePair>> {
        QueuePair::create(self, init)
    }

    /// Creates a shared receive queue (ibv_create_srq(3)).
    ///
    /// # Errors
    /// `EINVAL` for sizes that the device does not have, `ENOMEM`.
    pub fn create_shared_receive_queue(
        self: &Arc<Self>,
        init: &SharedReceiveInit,
    ) -> Result<Arc<SharedReceiveQueue>> {
        SharedReceiveQueue::create(self, init)
    }

    /// Creates an address handle (ibv_create_ah(3)).
    ///
    /// # Errors
    /// `EINVAL` for a port or an index of a GID that does not exist, or without a GID of the destination.
    pub fn create_address_handle(
        self: &Arc<Self>,
        vector: AddressVector,
    ) -> Result<Arc<AddressHandle>> {
        AddressHandle::create(self, vector)
    }

    /// Allocates a memory window, which is not bound (ibv_alloc_mw(3)).
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn allocate_window(self: &Arc<Self>, kind: WindowType) -> Result<Arc<Window>> {
        Window::allocate(self, kind)
    }

    /// Destroys it (ibv_dealloc_pd(3)).
    ///
    /// # Errors
    /// `EBUSY` while it has regions, windows, queue pairs, shared receive queues or address handles.
    pub fn deallocate(&self) -> Result<()> {
        self.uses.end("cannot deallocate the protection domain: destroy its queue pairs, regions and other objects first")
    }
}

impl std::fmt::Debug for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Domain")
    }
}
