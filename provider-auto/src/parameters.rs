//! The parameters, which are those of TCP, and `direct=` and `ptracer=` of shared memory.

/// The parameters for TCP, and those for shared memory.
pub(crate) fn split(text: &str) -> (String, String) {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let is_rings = |word: &&str| word.starts_with("direct=") || word.starts_with("ptracer=");
    let (rings, sockets): (Vec<&str>, Vec<&str>) = words.partition(is_rings);
    (sockets.join(" "), rings.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_access_is_for_shared_memory() {
        let (sockets, rings) = split("lo ptracer=any,max_eps=7,direct=no");
        assert_eq!((sockets.as_str(), rings.as_str()), ("lo max_eps=7", "ptracer=any direct=no"));
        assert_eq!(split("lo").1, "");
    }
}
