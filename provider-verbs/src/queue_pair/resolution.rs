//! Attempts to resolve the destination of datagrams.

use std::collections::HashMap;

use dat_provider::Peer;

use crate::cm::{CmId, ConnectParameters};
use crate::key::Key;

/// The additional state of an operational datagram queue pair.
pub(super) struct Datagrams {
    /// Where its address can be requested.
    pub(super) asked: CmId,
    pub(super) _key: Key,
    /// The attempts in progress, by the key of their identifier.
    pub(super) resolving: HashMap<u64, Resolution>,
}

/// An attempt to resolve an address.
pub(super) struct Resolution {
    pub(super) id: CmId,
    pub(super) _key: Key,
    /// The attempt number of the core.
    pub(super) attempt: u64,
    pub(super) peer: Peer,
    /// The contents of the request.
    pub(super) request: Vec<u8>,
    /// The request of the other side, if that side asked first.
    pub(super) acceptance: Option<Acceptance>,
}

/// An accepted request, which is answered once the address of its sender is known.
pub(super) struct Acceptance {
    pub(super) id: CmId,
    pub(super) _key: Key,
    pub(super) private_data: Vec<u8>,
    /// The number of the queue pair, and whether its receives are shared.
    pub(super) queue_pair: (u32, bool),
}

impl Acceptance {
    pub(super) fn answer(&self) -> Result<(), crate::verbs::Error> {
        self.id.accept(&ConnectParameters {
            private_data: &self.private_data,
            queue_pair: Some(self.queue_pair),
            ..ConnectParameters::default()
        })
    }
}

impl Datagrams {
    pub(super) fn new(asked: CmId, key: Key) -> Self {
        Self { asked, _key: key, resolving: HashMap::new() }
    }
}
