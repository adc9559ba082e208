//! The send queue, with the state of the connection.

use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::{ConnectionSink, Service};
use dat_provider_kit::credits::QueueCredits;
use dat_provider_kit::domain::Membership;
use dat_provider_kit::errors::wrong_state;

use super::connection_state::ConnectionState;
use super::patience::Patience;
use super::request_context::RequestContext;

/// The state under the send queue lock. Fields are in the order of their use by a post.
#[repr(C)]
pub(super) struct SendQueue {
    pub(super) state: ConnectionState,
    pub(super) credits: QueueCredits,
    pub(super) context: RequestContext,
    /// True if the queue pair was retired, which is final.
    pub(super) is_retired: bool,
    pub(super) service: Service,
    pub(super) patience: Patience,
    /// Maximum number of segments of a request.
    pub(super) max_segments: u32,
    pub(super) sink: Arc<dyn ConnectionSink>,
    /// Memberships of the domain of the queue pair, and of that of its shared receive queue if it is
    /// another one.
    pub(super) memberships: [Option<Membership>; 2],
}

impl SendQueue {
    /// Fails unless the queue pair can be connected.
    pub(super) fn check_connectable(&self) -> Result<()> {
        if self.is_retired || !matches!(self.state, ConnectionState::Unconnected) {
            return Err(self.state.error());
        }
        if self.context.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }
}
