//! The IA parameters that request decorators: `key=value` pairs separated by blanks or commas.

/// Splits IA parameters into parts, each with the separators that follow it.
pub(crate) fn parts(parameters: &str) -> impl Iterator<Item = (&str, &str)> {
    let separates = |c: char| c.is_whitespace() || c == ',';
    let mut rest = parameters;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(separates).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let begin = after.find(|c| !separates(c)).unwrap_or(after.len());
        let (separators, next) = after.split_at(begin);
        rest = next;
        Some((part, separators))
    })
}
