//! The parameters, which are those of TCP, `direct=` and `ptracer=` of shared memory, and `shm=` of this provider.

use dat_provider::error::Result;
use dat_provider_kit::parameters::invalid;

/// The parameters of each kind of links.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// For TCP.
    pub(crate) sockets: String,
    /// For shared memory; `None` if it is not to be used.
    pub(crate) rings: Option<String>,
}

/// Splits the parameters.
///
/// # Errors
/// The value of `shm=` is neither `yes` nor `no`.
pub(crate) fn split(text: &str) -> Result<Split> {
    let (mut sockets, mut rings, mut has_rings) = (Vec::new(), Vec::new(), true);
    for word in text.split(|c: char| c.is_whitespace() || c == ',') {
        match word.split_once('=') {
            Some(("direct" | "ptracer", _)) => rings.push(word),
            Some(("shm", value)) => {
                has_rings = match value {
                    "yes" => true,
                    "no" => false,
                    _ => {
                        let reason = format!("invalid value {value:?} for the IA parameter shm");
                        return Err(invalid(reason).advise("use yes or no"));
                    }
                }
            }
            _ => sockets.push(word),
        }
    }
    Ok(Split { sockets: sockets.join(" "), rings: has_rings.then(|| rings.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_access_is_for_shared_memory() {
        let Split { sockets, rings } = split("lo ptracer=any,max_eps=7,direct=no").expect("valid");
        assert_eq!(
            (sockets.as_str(), rings.as_deref()),
            ("lo max_eps=7", Some("ptracer=any direct=no"))
        );
        assert_eq!(split("lo").expect("valid").rings.as_deref(), Some(""));
    }

    #[test]
    fn shared_memory_can_be_left_out() {
        let Split { sockets, rings } = split("shm=no lo direct=no").expect("valid");
        assert_eq!((sockets.as_str(), rings), ("lo", None));
        assert!(split("shm=yes").expect("valid").rings.is_some());
        assert!(split("shm=maybe").is_err());
    }
}
