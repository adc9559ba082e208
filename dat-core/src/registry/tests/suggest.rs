//! Did you mean.

use super::super::nearest;
use super::super::suggest::distance;

#[test]
fn the_nearest_word_is_given_when_it_is_near() {
    let known = ["loopback", "ib0", "ofa-v2-mlx5_0-1", "ofa-v2-mlx5_0-10"];
    for (wanted, expected) in [
        ("lopback", Some("loopback")),
        ("Loopback", Some("loopback")),
        ("loopbakc", Some("loopback")),
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

#[test]
fn distance_counts_letters() {
    let letters = |word: &str| word.chars().collect::<Vec<_>>();
    for (a, b, expected) in [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "ab", 1),
        ("abc", "xabc", 1),
        ("kitten", "sitting", 3),
    ] {
        assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
        assert_eq!(distance(&letters(b), &letters(a)), expected, "{b} {a}");
    }
}
