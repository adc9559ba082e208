//! Events of datagram endpoints.

use std::fmt;
use std::sync::Arc;

use super::EpId;
use crate::provider::{Address, DATAGRAM_PREFIX, RefusalCause, RemoteAddress};

/// The kind of an event of a datagram attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum DatagramEventKind {
    /// The peer accepted, or this side accepted it: there is an address to send to.
    Established = 0x4_0002,
    /// The remote consumer rejected the request.
    Rejected = 0x4_0003,
    /// There was no answer, or none was possible.
    Error = 0x4_0004,
}

impl DatagramEventKind {
    /// The event number of the C API.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The name in the C headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED",
            Self::Rejected => "DAT_IB_UD_CONNECTION_REJECT_EVENT",
            Self::Error => "DAT_IB_UD_CONNECTION_ERROR_EVENT",
        }
    }

    /// Its meaning, as a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Established => "There is an address to send datagrams to.",
            Self::Rejected => "The program on the other side rejected the request for its address.",
            Self::Error => {
                "There is no address to send datagrams to, and no program rejected the request."
            }
        }
    }

    /// The advice, as a sentence.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Established => "You can post datagrams.",
            Self::Rejected => "Its private data may give the reason.",
            Self::Error => {
                "Check the address and the connection qualifier, and that the other side listens on it with an endpoint \
                 for datagrams."
            }
        }
    }
}

/// An event of a datagram endpoint (`DAT_IB_EXTENSION_EVENT_DATA`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramEvent {
    /// The kind of the event.
    pub kind: DatagramEventKind,
    /// The endpoint.
    pub ep: EpId,
    /// True if the endpoint answered a request (`DAT_IB_UD_PASSIVE_REMOTE_AH`).
    pub passive: bool,
    /// The address to send to, once established.
    pub remote: Option<DatagramAddress>,
    /// The data that the remote consumer sent: with its accept or reject, or, on the side that
    /// answered, with its request. Otherwise empty.
    pub private_data: Arc<[u8]>,
    /// Why the attempt ended with [`Error`](DatagramEventKind::Error), as far as the provider knows; otherwise
    /// unknown.
    pub cause: RefusalCause,
}

/// A destination of datagrams (`DAT_IB_ADDR_HANDLE`); dropping it frees it (dat_ib_ud_ah_free).
///
/// ```
/// use dat_core::{Connect, EpAttributes, EpProvision, EpSpec, EvdFlags, EvdOptions, Event, Timeout};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let mut attributes = ia.default_ep_attributes().clone();
/// attributes.service_type = EpAttributes::SERVICE_DATAGRAM;
/// let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT))?;
/// let spec = EpSpec::new(&pz).request_evd(&evd).connect_evd(&evd).attributes(&attributes);
/// let (client, server) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);
///
/// // "Connecting" resolves the address of the server's endpoint.
/// let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
/// client.connect(&Connect::to_psp(&psp))?;
/// while let Some(event) = evd.next_event(Timeout::After(std::time::Duration::from_secs(5)))? {
///     match event {
///         Event::ConnectionRequest(arrival) => arrival.request.accept(Some(&server), b"")?,
///         Event::Datagram(event) if event.ep == client.id() => {
///             let to = event.remote.expect("an address");
///             client.post_send_datagram(&[], &to, 1, Default::default())?;
///             break;
///         }
///         _ => {}
///     }
/// }
/// # assert!(matches!(evd.next_event(Timeout::Infinite)?, Some(_)));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DatagramAddress {
    /// Shared, so that events stay small.
    pub(crate) remote: Arc<RemoteAddress>,
}

impl DatagramAddress {
    /// Number of bytes before the message in a received datagram.
    pub const PREFIX: u64 = DATAGRAM_PREFIX;

    /// The address of the peer's adapter.
    #[must_use]
    pub fn address(&self) -> Address {
        self.remote.address
    }

    /// The number of the peer's queue pair.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.remote.number
    }
}

impl fmt::Debug for DatagramAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remote.fmt(f)
    }
}
