//! The states of a connection.

use dat_provider::ConnectionUpcall;
use dat_provider::error::{Error, Subtype};
use dat_provider_kit::errors::wrong_state;
use dat_sync::SlabArc;

use super::qp::LoopbackQp;

/// The state of the connection of a queue pair.
pub(super) enum ConnectionState {
    Unconnected,
    /// Waits for the answer to its connection request.
    Connecting {
        connection_id: u64,
        attempt: u64,
        port: u64,
    },
    Connected(Connection),
    Disconnected,
}

/// One side of a connection, from the moment at which it is accepted.
pub(super) struct Connection {
    /// Identifies the connection on both sides, and is never reused.
    pub(super) id: u64,
    pub(super) attempt: u64,
    pub(super) peer: SlabArc<LoopbackQp>,
    pub(super) established: EstablishedReport,
    /// Why the connection ended, if that happened before `Established` was reported.
    pub(super) ended: Option<EndCause>,
    /// True if it was disconnected gracefully while requests wait.
    pub(super) is_closing: bool,
}

impl Connection {
    pub(super) fn new(id: u64, attempt: u64, peer: &SlabArc<LoopbackQp>) -> Self {
        Self {
            id,
            attempt,
            peer: SlabArc::clone(peer),
            established: EstablishedReport::Pending,
            ended: None,
            is_closing: false,
        }
    }
}

/// True if the upcall `Established` was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EstablishedReport {
    Pending,
    InProgress,
    Done,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndCause {
    Disconnected,
    Broken,
}

impl From<EndCause> for ConnectionUpcall<'_> {
    fn from(cause: EndCause) -> Self {
        match cause {
            EndCause::Disconnected => Self::Disconnected,
            EndCause::Broken => Self::Broken,
        }
    }
}

impl ConnectionState {
    /// The connection, if it is established and has this id.
    pub(super) fn connection(&mut self, id: u64) -> Option<&mut Connection> {
        match self {
            Self::Connected(connection) if connection.id == id => Some(connection),
            _ => None,
        }
    }

    /// The attempt, if it waits for the answer to the request of the connection with this id.
    pub(super) fn pending_attempt(&self, id: u64) -> Option<u64> {
        match *self {
            Self::Connecting { connection_id, attempt, .. } if connection_id == id => Some(attempt),
            _ => None,
        }
    }

    /// The error of a call that this state does not allow.
    pub(super) fn error(&self) -> Error {
        wrong_state(match self {
            Self::Unconnected => Subtype::InvalidStateEpUnconnected,
            Self::Connecting { .. } => Subtype::InvalidStateEpActconnpending,
            Self::Connected(connection) if connection.is_closing => {
                Subtype::InvalidStateEpDiscpending
            }
            Self::Connected(_) => Subtype::InvalidStateEpConnected,
            Self::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }
}
