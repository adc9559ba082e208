//! How the thread of an adapter awaits its work: the IA parameter `progress`.

use dat_provider::error::Result;

use crate::parameters::invalid;

/// How the thread of an adapter awaits its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// It sleeps in the kernel, and leaves links to polls and waiters that can read them sooner. Written `sleep`.
    #[default]
    Sleep,
    /// As [`Sleep`](Self::Sleep), with a nice value that is lower by 10, so that it runs at once after a wake-up although
    /// the consumer spins. It needs `CAP_SYS_NICE`, or a limit of the nice value (`RLIMIT_NICE`). Written `priority`.
    Priority,
    /// It spins, and reads every link itself, so that a peer never waits for a wake-up. It uses a processor of its own
    /// as long as the adapter is open. Written `spin`.
    Spin,
}

impl ProgressMode {
    /// The name of the IA parameter, and of the attribute that reports its value.
    pub const PARAMETER: &'static str = "progress";

    const ALL: [Self; 3] = [Self::Sleep, Self::Priority, Self::Spin];

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not one of the words.
    pub fn parse(value: &str) -> Result<Self> {
        let mode = Self::ALL.into_iter().find(|mode| mode.word() == value);
        mode.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter {}", Self::PARAMETER))
                .advise("use sleep, priority or spin")
        })
    }

    /// The value of the parameter.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Priority => "priority",
            Self::Spin => "spin",
        }
    }

    /// Returns true if the thread reads every link itself.
    pub(crate) const fn spins(self) -> bool {
        matches!(self, Self::Spin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_are_read() {
        for mode in ProgressMode::ALL {
            assert_eq!(ProgressMode::parse(mode.word()), Ok(mode));
        }
        for value in ["", "Spin", "yes", "spin,"] {
            let error = ProgressMode::parse(value).expect_err(value);
            assert!(error.to_string().contains("use sleep, priority or spin"), "{error}");
        }
    }
}
