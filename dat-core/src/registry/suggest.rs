//! "Did you mean": the known word that is nearest to a mistyped one.

/// The known word nearest to `wanted`, if one is near enough to be what was meant.
///
/// Letters of the other case cost nothing; a wrong, missing, surplus or swapped letter costs
/// one, and about a third of the letters may be wrong. Where no word is that near, the shortest
/// one that contains `wanted` is given (`ofa-v2-ib0` for `ib0`). Of equals the first wins.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = wanted.to_lowercase();
    let letters: Vec<char> = folded.chars().collect();
    let limit = (letters.len() / 3).clamp(1, 3).min(letters.len().saturating_sub(1));
    let mut near: Option<(usize, &str)> = None;
    let mut around: Option<&str> = None;
    for word in known {
        let other = word.to_lowercase();
        let cost = distance(&letters, &other.chars().collect::<Vec<_>>());
        if cost <= limit && near.is_none_or(|(best, _)| cost < best) {
            near = Some((cost, word));
        }
        let contains = letters.len() >= 3 && other.contains(&folded);
        if contains && around.is_none_or(|best| word.len() < best.len()) {
            around = Some(word);
        }
    }
    near.map(|(_, word)| word).or(around)
}

/// How many letters to insert, drop, replace or swap with a neighbour to get from one word to
/// the other.
pub(super) fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, &a) in from.iter().enumerate() {
        let mut this = vec![row + 1];
        for (column, &b) in to.iter().enumerate() {
            let replace = last[column] + usize::from(a != b);
            let mut cost = replace.min(last[column + 1] + 1).min(this[column] + 1);
            if row > 0 && column > 0 && a == to[column - 1] && from[row - 1] == b {
                cost = cost.min(before[column - 1] + 1);
            }
            this.push(cost);
        }
        before = std::mem::replace(&mut last, this);
    }
    last[to.len()]
}
