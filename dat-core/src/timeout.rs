//! Time-outs; the API counts them in microseconds.

use std::time::{Duration, Instant};

use dat_sync::clock;

/// How long a call may wait (`DAT_TIMEOUT`, microseconds).
///
/// ```
/// use dat_core::Timeout;
/// use std::time::Duration;
///
/// assert_eq!(Timeout::from(Duration::from_secs(1)), Timeout::from_micros(1_000_000));
/// assert!(Timeout::ZERO.is_zero(), "a poll");
/// assert_eq!(Timeout::from_micros(u32::MAX), Timeout::Infinite);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timeout {
    /// At most this long; zero means a poll.
    After(Duration),
    /// Forever (`DAT_TIMEOUT_INFINITE`).
    Infinite,
}

impl Timeout {
    /// No wait at all.
    pub const ZERO: Self = Self::After(Duration::ZERO);

    /// A time-out of the C API: microseconds; all ones means forever.
    #[must_use]
    pub const fn from_micros(micros: u32) -> Self {
        match micros {
            u32::MAX => Self::Infinite,
            micros => Self::After(Duration::from_micros(micros as u64)),
        }
    }

    /// Returns true if it does not wait at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::After(duration) if duration.is_zero())
    }

    /// The time at which it expires, counted from now; `None` if the clock cannot represent it.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::After(duration) => clock::now().checked_add(duration),
            Self::Infinite => None,
        }
    }
}

impl From<Duration> for Timeout {
    fn from(duration: Duration) -> Self {
        Self::After(duration)
    }
}
