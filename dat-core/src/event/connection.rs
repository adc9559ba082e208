//! Connection events.

use std::sync::Arc;

use dat_provider::RefusalCause;

use super::EpId;
use crate::named::named;

named! {
    /// The kind of a connection event.
    #[repr(u32)]
    #[non_exhaustive]
    pub enum ConnectionEventKind,
    /// The name in the C headers.
    name;
    /// The connection is established.
    Established = 0x4001, "DAT_CONNECTION_EVENT_ESTABLISHED";
    /// The remote consumer rejected it.
    PeerRejected = 0x4002, "DAT_CONNECTION_EVENT_PEER_REJECTED";
    /// There is no listener, the backlog was full, or the transport failed.
    NonPeerRejected = 0x4003, "DAT_CONNECTION_EVENT_NON_PEER_REJECTED";
    /// An accepted connection could not be completed.
    AcceptCompletionError = 0x4004, "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR";
    /// Either side ended the connection.
    Disconnected = 0x4005, "DAT_CONNECTION_EVENT_DISCONNECTED";
    /// The connection broke because of an error.
    Broken = 0x4006, "DAT_CONNECTION_EVENT_BROKEN";
    /// The consumer's time-out expired before the connection was established.
    TimedOut = 0x4007, "DAT_CONNECTION_EVENT_TIMED_OUT";
    /// The remote adapter cannot be reached.
    Unreachable = 0x4008, "DAT_CONNECTION_EVENT_UNREACHABLE";
}

impl ConnectionEventKind {
    /// The event number of the C API.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// A connection event (`DAT_CONNECTION_EVENT_DATA`).
///
/// ```
/// use dat_core::{Connect, ConnectionEventKind, EpSpec, EvdFlags, EvdOptions, Event, RefusalCause};
/// use std::time::Duration;
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION))?;
/// let ep = ia.ep_create(&EpSpec::new(&pz).connect_evd(&evd))?;
/// ep.connect(&Connect::to(ia.attributes().address, 77))?; // nothing listens there
/// let Some(Event::Connection(event)) = evd.next_event(Duration::from_secs(5))? else { panic!("no event") };
/// assert_eq!(event.ep, ep.id());
/// assert_eq!(event.kind, ConnectionEventKind::NonPeerRejected);
/// assert_eq!(event.cause, RefusalCause::NoListener);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// The kind of the event.
    pub kind: ConnectionEventKind,
    /// The endpoint.
    pub ep: EpId,
    /// The data that the remote consumer sent with its accept or reject; otherwise empty.
    pub private_data: Arc<[u8]>,
    /// Why the attempt ended with [`NonPeerRejected`](ConnectionEventKind::NonPeerRejected),
    /// [`AcceptCompletionError`](ConnectionEventKind::AcceptCompletionError),
    /// [`Unreachable`](ConnectionEventKind::Unreachable) or, if the transport gave up,
    /// [`TimedOut`](ConnectionEventKind::TimedOut); otherwise unknown.
    pub cause: RefusalCause,
}
