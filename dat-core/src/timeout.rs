//! Time-outs, in microseconds as the API counts them.

use std::time::{Duration, Instant};

/// How long a call may wait (`DAT_TIMEOUT`, microseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timeout {
    /// At most so long; zero polls.
    After(Duration),
    /// For ever (`DAT_TIMEOUT_INFINITE`).
    Infinite,
}

impl Timeout {
    /// No wait at all.
    pub const ZERO: Self = Self::After(Duration::ZERO);

    /// A time-out as the C API gives it: microseconds, all ones for ever.
    #[must_use]
    pub const fn from_micros(micros: u32) -> Self {
        match micros {
            u32::MAX => Self::Infinite,
            micros => Self::After(Duration::from_micros(micros as u64)),
        }
    }

    /// Whether it does not wait at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::After(duration) if duration.is_zero())
    }

    /// When it ends, counted from now; never where that is beyond what the clock can tell.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::After(duration) => Instant::now().checked_add(duration),
            Self::Infinite => None,
        }
    }
}

impl From<Duration> for Timeout {
    fn from(duration: Duration) -> Self {
        Self::After(duration)
    }
}
