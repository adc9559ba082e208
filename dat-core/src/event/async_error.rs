//! Asynchronous errors.

/// What an asynchronous error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AsyncErrorKind {
    /// An event dispatcher had no room for an event.
    EvdOverflow,
    /// The adapter is of no use any more.
    IaCatastrophic,
    /// An endpoint broke.
    EpBroken,
    /// The provider had an internal error.
    ProviderInternal,
    /// A shared receive queue fell below its low watermark.
    SrqLowWatermark,
    /// More receives are at an endpoint than its soft high watermark.
    EpSoftHighWatermark,
}

impl AsyncErrorKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::EvdOverflow,
        Self::IaCatastrophic,
        Self::EpBroken,
        Self::ProviderInternal,
        Self::SrqLowWatermark,
        Self::EpSoftHighWatermark,
    ];

    /// The name of the event number in the C headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EvdOverflow => "DAT_ASYNC_ERROR_EVD_OVERFLOW",
            Self::IaCatastrophic => "DAT_ASYNC_ERROR_IA_CATASTROPHIC",
            Self::EpBroken | Self::SrqLowWatermark | Self::EpSoftHighWatermark => {
                "DAT_ASYNC_ERROR_EP_BROKEN"
            }
            Self::ProviderInternal => "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR",
        }
    }

    /// The event number of the C API. The watermarks have none of their own: they are
    /// reported with the number of a broken endpoint and a reason (`DAT_SRQ_LOW_WATERMARK_EVENT`,
    /// `DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT`).
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::EvdOverflow => 0x8001,
            Self::IaCatastrophic => 0x8002,
            Self::EpBroken | Self::SrqLowWatermark | Self::EpSoftHighWatermark => 0x8003,
            Self::ProviderInternal => 0x8005,
        }
    }
}

/// An asynchronous error (`DAT_ASYNCH_ERROR_EVENT_DATA`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncError {
    /// What it is about.
    pub kind: AsyncErrorKind,
    /// The number of the object; for an endpoint, its number in events.
    pub object: u64,
}
