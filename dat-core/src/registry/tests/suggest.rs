//! Suggestions for mistyped words.

use super::super::nearest;

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
