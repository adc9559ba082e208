//! The parameters, which are those of TCP, and `direct=` and `ptracer=` of shared memory.

use crate::interface;

/// The parameters for TCP, and those for shared memory.
pub(crate) fn split(text: &str) -> (String, String) {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let is_rings = |word: &&str| word.starts_with("direct=") || word.starts_with("ptracer=");
    let (rings, sockets): (Vec<&str>, Vec<&str>) = words.partition(is_rings);
    (of_tcp(&sockets.join(" ")), rings.join(" "))
}

/// The parameters for TCP. If they name neither an interface nor an address, they begin with the
/// default interface.
fn of_tcp(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c == ',');
    let names_interface =
        words.clone().find(|word| !word.is_empty()).is_some_and(|word| !word.contains('='));
    if names_interface || words.any(|word| word.starts_with("address=")) {
        return text.to_owned();
    }
    format!("{} {text}", interface::default().0)
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

    #[test]
    fn without_an_interface_or_address_it_is_the_default_one() {
        let default = interface::default().0;
        assert_eq!(of_tcp("timeout=3"), format!("{default} timeout=3"));
        assert_eq!(of_tcp("").trim(), default);
        for text in ["lo", "lo timeout=3", " lo,max_eps=7", "max_eps=7 address=127.0.0.2"] {
            assert_eq!(of_tcp(text), text);
        }
    }
}
