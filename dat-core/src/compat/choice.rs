//! Where the relaxed rules of an adapter were chosen.

use super::{Compat, KnownProgram};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::registry::take_parameter;

/// The source of the relaxed rules, by falling precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CompatChoice {
    /// The word of a parameter: of the name, or of the line of dat.conf.
    Parameter(String),
    /// The word of the environment variable.
    Variable(String),
    /// The process is a known program.
    Known(&'static KnownProgram),
    /// Nothing: all rules hold.
    #[default]
    Nothing,
}

impl CompatChoice {
    /// The value of the environment variable; an empty value counts as absent.
    pub(crate) fn of_variable(word: String) -> Option<Self> {
        (!word.is_empty()).then_some(Self::Variable(word))
    }

    /// Extracts the mode from IA parameters; the rest goes to the provider. The last occurrence
    /// wins.
    pub(crate) fn split(parameters: &str) -> (Option<Self>, String) {
        let (word, kept) = take_parameter(parameters, Compat::PARAMETER);
        (word.map(Self::Parameter), kept)
    }

    /// The relaxed rules.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if no mode has the chosen name.
    pub(crate) fn relaxed(&self) -> Result<Compat> {
        let (name, word) = match self {
            Self::Parameter(word) => (Compat::PARAMETER, word),
            Self::Variable(word) => (Compat::VARIABLE, word),
            Self::Known(program) => return Ok(program.relaxed),
            Self::Nothing => return Ok(Compat::STRICT),
        };
        Compat::from_name(word).ok_or_else(|| {
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
            let (found, kept) = CompatChoice::split(parameters);
            let expected = word.map(|word| CompatChoice::Parameter(word.to_owned()));
            assert_eq!((found, kept.as_str()), (expected, rest), "{parameters:?}");
        }
    }

    #[test]
    fn an_unknown_mode_is_rejected_with_the_known_ones() {
        let mode =
            |word: &str| CompatChoice::of_variable(word.to_owned()).unwrap_or_default().relaxed();
        assert_eq!(mode(""), Ok(Compat::STRICT));
        assert_eq!(mode("ofa"), Ok(Compat::OFA));
        let error = mode("OFA").expect_err("an unknown mode");
        assert!(error.reason().starts_with("DAT_COMPAT=OFA "), "{error}");
        assert!(error.advice().contains("strict, ofa"), "{error}");
    }
}
