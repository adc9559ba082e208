//! What an adapter tolerates beyond the manual pages, for programs that cannot be changed.
//!
//! Only this module decides which rules a mode relaxes; docs/moving.md lists them. No mode relaxes
//! a rule that keeps memory safe: handles, bounds, zones and privileges are checked in all modes.

use crate::error::{Error, Result, ReturnType, Subtype};

/// How strictly the rules of the manual pages are enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compat {
    /// As the manual pages state them. Written `strict`.
    #[default]
    Strict,
    /// As leniently as the OpenFabrics libraries. Written `ofa`.
    Ofa,
}

impl Compat {
    /// The environment variable that sets the mode of a process for the C libraries.
    pub const VARIABLE: &'static str = "DAT_COMPAT";

    /// The IA parameter that sets the mode of one adapter: in a line of dat.conf, or after the `?`
    /// of a name.
    pub const PARAMETER: &'static str = "compat";

    /// The names of the modes.
    pub const WORDS: [(&'static str, Self); 2] = [("strict", Self::Strict), ("ofa", Self::Ofa)];

    /// The mode with this name; `None` if there is none.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, mode)| mode)
    }

    /// Whether streams with different completion flags may share a dispatcher, which
    /// dat_ep_create(3DAT) and dat_ep_create_with_srq(3DAT) forbid. Every completion of such a
    /// dispatcher then counts towards the threshold of its waiter, as by default.
    pub(crate) const fn mixes_completion_flags(self) -> bool {
        matches!(self, Self::Ofa)
    }

    /// Whether endpoints and service points may use dispatchers of another open instance of the
    /// same adapter.
    pub(crate) const fn shares_dispatchers(self) -> bool {
        matches!(self, Self::Ofa)
    }

    /// Whether a post, bind or datagram ignores completion flags that it cannot have: undefined
    /// flags, `SOLICITED_WAIT` on reads and receives, and `UNSIGNALLED` if the endpoint was created
    /// without it.
    pub(crate) const fn ignores_excess_flags(self) -> bool {
        matches!(self, Self::Ofa)
    }

    /// Whether RDMA writes and reads ignore the length of the remote buffer if it is 0 or does not fit
    /// the local segments, and transfer the length of the local segments instead. The bounds of the
    /// remote region still apply.
    pub(crate) const fn ignores_remote_length(self) -> bool {
        matches!(self, Self::Ofa)
    }

    /// Appends to the advice of an error that a mode would avoid how to choose that mode.
    pub(crate) fn or_relax(advice: &str) -> String {
        format!(
            "{advice}; for a program that can't be changed, {}=ofa or ?{}=ofa behind the name \
             allows it",
            Self::VARIABLE,
            Self::PARAMETER
        )
    }
}

/// The name of a mode, and where it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompatWord {
    word: Option<String>,
    of_variable: bool,
}

impl CompatWord {
    /// The value of the environment variable; an empty value counts as absent.
    pub(crate) fn of_variable(word: String) -> Self {
        Self { word: Some(word).filter(|word| !word.is_empty()), of_variable: true }
    }

    /// Extracts the mode from IA parameters; the rest goes to the provider. The last occurrence
    /// wins.
    pub(crate) fn split(parameters: &str) -> (Option<Self>, String) {
        let is_separator = |c: char| c == ',' || c.is_ascii_whitespace();
        let of = |token: &str| {
            let (key, word) = token.split_once('=')?;
            (key == Compat::PARAMETER).then(|| word.to_owned())
        };
        let Some(word) = parameters.split(is_separator).rev().find_map(of) else {
            return (None, parameters.to_owned());
        };
        let tokens = parameters.split_inclusive(is_separator);
        let kept = tokens.filter(|token| of(token.trim_end_matches(is_separator)).is_none());
        let kept = kept.collect::<String>().trim_matches(is_separator).to_owned();
        (Some(Self { word: Some(word), of_variable: false }), kept)
    }

    /// The mode; strict if none was given.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if no mode has this name.
    pub(crate) fn mode(&self) -> Result<Compat> {
        let Some(word) = &self.word else { return Ok(Compat::default()) };
        Compat::from_word(word).ok_or_else(|| {
            let name = if self.of_variable { Compat::VARIABLE } else { Compat::PARAMETER };
            let known: Vec<&str> = Compat::WORDS.iter().map(|(word, _)| *word).collect();
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .because(format!("{name}={word} is not a compatibility mode"))
                .advise(format!("set {name} to one of {}, or leave it out", known.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_removed_from_the_parameters() {
        for (parameters, word, rest) in [
            ("", None, ""),
            ("ib0 0", None, "ib0 0"),
            ("compat=ofa", Some("ofa"), ""),
            ("ib0 0 compat=ofa", Some("ofa"), "ib0 0"),
            ("compat=ofa,max_eps=4", Some("ofa"), "max_eps=4"),
            ("max_eps=4,compat=ofa,max_evds=5", Some("ofa"), "max_eps=4,max_evds=5"),
            ("compat=ofa compat=strict", Some("strict"), ""),
            ("compat=", Some(""), ""),
            ("a=1, incompat=ofa", None, "a=1, incompat=ofa"),
        ] {
            let (found, kept) = CompatWord::split(parameters);
            let found = found.and_then(|found| found.word);
            assert_eq!((found.as_deref(), kept.as_str()), (word, rest), "{parameters:?}");
        }
    }

    #[test]
    fn an_unknown_mode_is_rejected_with_the_known_ones() {
        let mode = |word: &str| CompatWord::of_variable(word.to_owned()).mode();
        assert_eq!(mode(""), Ok(Compat::Strict));
        assert_eq!(mode("ofa"), Ok(Compat::Ofa));
        let error = mode("OFA").expect_err("an unknown mode");
        assert!(error.reason().starts_with("DAT_COMPAT=OFA "), "{error}");
        assert!(error.advice().contains("strict, ofa"), "{error}");
    }
}
