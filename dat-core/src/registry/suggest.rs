//! "Did you mean": the known word closest to a mistyped one.

use strsim::osa_distance;

/// The known word closest to `wanted`, if one is close enough to be what was meant.
///
/// Case is ignored. A wrong, missing, extra or swapped letter costs one, and about a third of the
/// letters may be wrong. If no word is that close, the result is the shortest word that contains
/// `wanted` (`ofa-v2-ib0` for `ib0`). Of equally good words the first wins.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = wanted.to_lowercase();
    let letters = folded.chars().count();
    let limit = (letters / 3).clamp(1, 3).min(letters.saturating_sub(1));
    let mut near: Option<(usize, &str)> = None;
    let mut around: Option<&str> = None;
    for word in known {
        let other = word.to_lowercase();
        let cost = osa_distance(&folded, &other);
        if cost <= limit && near.is_none_or(|(best, _)| cost < best) {
            near = Some((cost, word));
        }
        let contains = letters >= 3 && other.contains(&folded);
        if contains && around.is_none_or(|best| word.len() < best.len()) {
            around = Some(word);
        }
    }
    near.map(|(_, word)| word).or(around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_given_when_it_is_near() {
        let known = ["loopback", "ib0", "ofa-v2-mlx5_0-1", "ofa-v2-mlx5_0-10"];
        for (wanted, expected) in [
            ("lopback", Some("loopback")),
            ("Loopback", Some("loopback")),
            ("loopbakc", Some("loopback")),
            ("sibling", None),
            ("loopback0", Some("loopback")),
            ("ib1", Some("ib0")),
            ("mlx5_0", Some("ofa-v2-mlx5_0-1")),
            ("ofa-v2-mlx5_0-2", Some("ofa-v2-mlx5_0-1")),
            ("ethernet", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, known), expected, "{wanted}");
        }
        assert_eq!(nearest("loopback", []), None);
    }
}
