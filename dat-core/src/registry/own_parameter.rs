//! The IA parameters of the core, which providers do not get.

/// Extracts the value of a key from IA parameters; the rest goes to the provider. The last occurrence wins.
pub(crate) fn take(parameters: &str, key: &str) -> (Option<String>, String) {
    let is_separator = |c: char| c == ',' || c.is_ascii_whitespace();
    let of = |token: &str| {
        let (found, value) = token.split_once('=')?;
        (found == key).then(|| value.to_owned())
    };
    let Some(value) = parameters.split(is_separator).rev().find_map(of) else {
        return (None, parameters.to_owned());
    };
    let tokens = parameters.split_inclusive(is_separator);
    let kept = tokens.filter(|token| of(token.trim_end_matches(is_separator)).is_none());
    let kept = kept.collect::<String>().trim_matches(is_separator).to_owned();
    (Some(value), kept)
}
