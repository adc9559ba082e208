//! The responder: the receives of a queue pair, and the requests of its peer.

use std::ops::{Deref, DerefMut};

use dat_provider_kit::ring::Ring;
use dat_provider_kit::sync::{BiasedGuard, BiasedLock, OwnerGuard};
use dat_sync::SlabArc;

use super::qp::LoopbackQp;
use super::receive_queue::ReceiveQueue;
use super::request::PostedRequest;
use super::request_context::RequestContext;

/// The state under the responder lock. Fields are in the order of their use by the peer.
#[repr(C)]
pub(super) struct Responder {
    /// The connection whose requests may take the fast path, or 0: it is open, no request waits, and
    /// receives are not shared. [`ResponderGuard`] updates it.
    fast_path_connection: u64,
    pub(super) receives: ReceiveQueue,
    pub(super) inbound: Inbound,
}

impl Responder {
    /// Returns true if requests of that connection may take the fast path.
    #[inline(always)]
    pub(super) fn allows_fast_path(&self, connection_id: u64) -> bool {
        self.fast_path_connection == connection_id
    }
}

/// Requests from the peer.
pub(super) enum Inbound {
    /// Unconnected: receives stay posted.
    Idle,
    /// The connection with this id is being established.
    Expecting(u64),
    /// The requests of the peer execute here.
    Open(Box<InboundConnection>),
    /// Disconnected: receives are flushed.
    Shut,
}

/// The peer, and its requests that wait.
pub(super) struct InboundConnection {
    pub(super) connection_id: u64,
    pub(super) peer: SlabArc<LoopbackQp>,
    pub(super) requester: RequestContext,
    /// Requests that wait for a receive, and those behind them.
    pub(super) waiting: Ring<PostedRequest>,
    /// True if the peer disconnects once no request waits.
    pub(super) is_closing: bool,
}

impl Inbound {
    /// Returns true if it belongs to the connection with this id.
    pub(super) fn is_of(&self, connection_id: u64) -> bool {
        match self {
            Self::Expecting(expected) => *expected == connection_id,
            Self::Open(inbound) => inbound.connection_id == connection_id,
            Self::Idle | Self::Shut => false,
        }
    }

    /// The open connection with this id.
    pub(super) fn open(&mut self, connection_id: u64) -> Option<&mut InboundConnection> {
        match self {
            Self::Open(inbound) if inbound.connection_id == connection_id => Some(inbound),
            _ => None,
        }
    }
}

/// The lock of a responder.
pub(super) struct ResponderLock(BiasedLock<Responder>);

impl ResponderLock {
    pub(super) fn new(receives: ReceiveQueue) -> Self {
        let responder = Responder { fast_path_connection: 0, receives, inbound: Inbound::Idle };
        Self(BiasedLock::new(responder))
    }

    pub(super) fn lock(&self) -> ResponderGuard<'_> {
        ResponderGuard(self.0.lock())
    }

    /// As [`lock`](Self::lock), for the fast path, which may change only the receives.
    pub(super) fn lock_for_fast_path(&self) -> BiasedGuard<'_, Responder> {
        self.0.lock()
    }

    /// As [`lock_for_fast_path`](Self::lock_for_fast_path), for the thread that has the bias.
    #[inline(always)]
    pub(super) fn lock_as_owner(&self) -> Option<OwnerGuard<'_, Responder>> {
        self.0.lock_as_owner()
    }

    /// Waits until the thread that holds the lock releases it.
    pub(super) fn synchronize(&self) {
        self.0.synchronize();
    }

    /// As [`synchronize`](Self::synchronize), without a fence. Returns false if another thread has the bias, so that
    /// the fence is necessary.
    pub(super) fn synchronize_without_fence(&self) -> bool {
        self.0.synchronize_without_fence()
    }
}

/// The locked responder. On drop it updates whether requests may take the fast path.
pub(super) struct ResponderGuard<'a>(BiasedGuard<'a, Responder>);

impl Deref for ResponderGuard<'_> {
    type Target = Responder;

    fn deref(&self) -> &Responder {
        &self.0
    }
}

impl DerefMut for ResponderGuard<'_> {
    fn deref_mut(&mut self) -> &mut Responder {
        &mut self.0
    }
}

impl Drop for ResponderGuard<'_> {
    fn drop(&mut self) {
        self.0.fast_path_connection = match &self.0.inbound {
            Inbound::Open(inbound)
                if inbound.waiting.is_empty() && self.0.receives.shared.is_none() =>
            {
                inbound.connection_id
            }
            _ => 0,
        };
    }
}
