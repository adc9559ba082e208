//! Exclusion files: cases that a provider cannot pass, each with its reason.
//!
//! A line is a pattern, white space, and the reason; `#` starts a comment. In a pattern `*` matches
//! any text.

/// The cases to leave out, with reasons.
#[derive(Clone, Debug, Default)]
pub struct Exclusions {
    lines: Vec<(String, String)>,
}

/// A line that is not an exclusion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {reason}")]
pub struct BadLine {
    /// The line number, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Exclusions {
    /// Reads an exclusion file.
    ///
    /// # Errors
    /// The first line without a reason.
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some((pattern, reason)) = line.split_once(char::is_whitespace) else {
                let reason = "a pattern without a reason; say why the case cannot pass";
                return Err(BadLine { number: index + 1, reason });
            };
            lines.push((pattern.to_owned(), reason.trim().to_owned()));
        }
        Ok(Self { lines })
    }

    /// The reason for which a case is left out; `None` if the case is to run.
    #[must_use]
    pub fn reason(&self, name: &str) -> Option<&str> {
        let line = self.lines.iter().find(|(pattern, _)| matches(pattern, name));
        line.map(|(_, reason)| reason.as_str())
    }

    /// The patterns that match none of the names, which are therefore out of date.
    #[must_use]
    pub fn unused(&self, names: &[&str]) -> Vec<&str> {
        let stale = |pattern: &str| !names.iter().any(|name| matches(pattern, name));
        self.lines.iter().map(|line| line.0.as_str()).filter(|pattern| stale(pattern)).collect()
    }
}

/// Returns true if a name matches a pattern with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        for (pattern, name, expected) in [
            ("evd::wait", "evd::wait", true),
            ("evd::wait", "evd::waits", false),
            ("evd::*", "evd::wait", true),
            ("*::wait", "evd::wait", true),
            ("e*::w*t", "evd::wait", true),
            ("e*::w*x", "evd::wait", false),
            ("*", "anything", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn every_exclusion_has_a_reason() {
        let exclusions = Exclusions::parse("# none\n\nsrq::*  the device has none # yet\n");
        let exclusions = exclusions.expect("good lines");
        assert_eq!(exclusions.reason("srq::low"), Some("the device has none"));
        assert_eq!(exclusions.reason("evd::low"), None);
        assert_eq!(exclusions.unused(&["evd::low"]), ["srq::*"]);
        assert_eq!(Exclusions::parse("a b\nalone").map_err(|line| line.number).err(), Some(2));
    }
}
