//! Asynchronous errors.

use crate::named::named;

named! {
    /// The kind of an asynchronous error.
    #[non_exhaustive]
    pub enum AsyncErrorKind,
    /// The name of the event number in the C headers.
    name;
    /// An event dispatcher was full when an event arrived.
    EvdOverflow, "DAT_ASYNC_ERROR_EVD_OVERFLOW";
    /// The adapter can no longer be used.
    IaCatastrophic, "DAT_ASYNC_ERROR_IA_CATASTROPHIC";
    /// An endpoint broke.
    EpBroken, "DAT_ASYNC_ERROR_EP_BROKEN";
    /// The provider had an internal error.
    ProviderInternal, "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR";
    /// The number of buffers on a shared receive queue fell below its low watermark.
    SrqLowWatermark, "DAT_ASYNC_ERROR_EP_BROKEN";
    /// The number of receives at an endpoint exceeds its soft high watermark.
    EpSoftHighWatermark, "DAT_ASYNC_ERROR_EP_BROKEN";
}

impl AsyncErrorKind {
    /// The event number of the C API. Watermark events have no number of their own: they are
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
///
/// ```
/// use dat_core::{AsyncErrorKind, EvdFlags, EvdOptions, Event};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let evd = ia.evd_create(&EvdOptions::new(1, EvdFlags::SOFTWARE))?;
/// while evd.post_software_event(1).is_ok() {} // until it is full
/// for event in ia.async_evd().expect("its own dispatcher").queued_events() {
///     let Event::Async(error) = event? else { continue };
///     assert_eq!((error.kind, error.object), (AsyncErrorKind::EvdOverflow, evd.id()));
/// }
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncError {
    /// Its kind.
    pub kind: AsyncErrorKind,
    /// The id of the object that it concerns; for an endpoint, its id in events.
    pub object: u64,
}
