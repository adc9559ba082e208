//! How the thread of an adapter awaits its work: the IA parameter `progress`.

use dat_provider::error::Result;

use crate::parameters::invalid;

/// How the thread of an adapter awaits its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// It sleeps in the kernel, and leaves links to polls and waiters that can read them sooner. Written `sleep`.
    #[default]
    Sleep,
    /// It spins, and reads every link itself, so that a peer never waits for a wake-up. It uses a processor of its own
    /// as long as the adapter is open. Written `spin`.
    Spin,
}

impl ProgressMode {
    /// The name of the IA parameter, and of the attribute that reports its value.
    pub const PARAMETER: &'static str = "progress";

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not one of the words.
    pub fn parse(value: &str) -> Result<Self> {
        let mode = [Self::Sleep, Self::Spin].into_iter().find(|mode| mode.word() == value);
        mode.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter {}", Self::PARAMETER))
                .advise("use sleep or spin")
        })
    }

    /// The value of the parameter.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Spin => "spin",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_are_read() {
        for mode in [ProgressMode::Sleep, ProgressMode::Spin] {
            assert_eq!(ProgressMode::parse(mode.word()), Ok(mode));
        }
        for value in ["", "Spin", "yes", "spin,"] {
            let error = ProgressMode::parse(value).expect_err(value);
            assert!(error.to_string().contains("use sleep or spin"), "{error}");
        }
    }
}
