//! Behaviour beyond the manual pages that an adapter tolerates, for programs that cannot be
//! changed.
//!
//! A [`Rule`] of the manual pages can be relaxed; [`Compat`] is a set of relaxed rules. It is
//! chosen, in this order, by the name that a program opens, by the line of dat.conf, by the
//! environment, and by the table of [`known`] programs; docs/moving.md lists all of them. No choice
//! relaxes a rule that keeps memory safe: handles, bounds, zones and privileges are always checked.

mod choice;
pub mod known;
mod rule;

pub(crate) use choice::CompatChoice;
pub use known::{KnownProgram, ProgramSign};
pub use rule::Rule;

use std::fmt;

/// The rules of the manual pages that an adapter relaxes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Compat(u8);

impl Compat {
    /// None: all rules hold, as the manual pages state them. Written `strict`.
    pub const STRICT: Self = Self(0);

    /// All: as lenient as the OpenFabrics libraries. Written `ofa`.
    pub const OFA: Self = Self::relaxing(&Rule::ALL);

    /// The environment variable that sets the mode of a process for the C libraries.
    pub const VARIABLE: &'static str = "DAT_COMPAT";

    /// The IA parameter that sets the mode of one adapter: in a line of dat.conf, or after the `?`
    /// of a name.
    pub const PARAMETER: &'static str = "compat";

    /// The names of the modes.
    pub const WORDS: [(&'static str, Self); 2] = [("strict", Self::STRICT), ("ofa", Self::OFA)];

    /// The mode with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, mode)| mode)
    }

    /// The set of these rules.
    #[must_use]
    pub const fn relaxing(rules: &[Rule]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < rules.len() {
            bits |= rules[at].bit();
            at += 1;
        }
        Self(bits)
    }

    /// Returns true if the rule is relaxed.
    #[must_use]
    pub const fn relaxes(self, rule: Rule) -> bool {
        self.0 & rule.bit() != 0
    }

    /// The connection qualifier that a program means by `qualifier`.
    pub(crate) const fn meant_qualifier(self, qualifier: u64) -> u64 {
        if self.relaxes(Rule::WideQualifiers) { qualifier & u32::MAX as u64 } else { qualifier }
    }

    /// The relaxed rules.
    pub fn rules(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(move |rule| self.relaxes(*rule))
    }
}

/// The name of a mode, or those of the relaxed rules.
impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::WORDS.into_iter().find(|(_, mode)| mode == self) {
            Some((word, _)) => f.write_str(word),
            None => f.write_str(&self.rules().map(Rule::name).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl fmt::Debug for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rules()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_the_set_of_the_rules_that_it_relaxes() {
        assert_eq!(Compat::STRICT.rules().count(), 0);
        assert!(Compat::OFA.rules().eq(Rule::ALL));
        for rule in Rule::ALL {
            let one = Compat::relaxing(&[rule]);
            assert!(one.rules().eq([rule]), "{one:?}");
            assert_eq!(one.to_string(), rule.name());
        }
        assert_eq!([Compat::STRICT, Compat::OFA].map(|it| it.to_string()), ["strict", "ofa"]);
    }
}
