//! The private data of a connection by number, and the requests that arrive with it.

use std::sync::Arc;

use dat_provider::{IncomingRequest, ListenSink};

use super::Engine;

/// The private data of the side that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dial {
    /// The number of the queue pair that is meant.
    pub(crate) to: u32,
    /// The number of the queue pair that connects.
    pub(crate) from: u32,
    /// Its GID.
    pub(crate) gid: [u8; 16],
    /// Its `min_rnr_timer`.
    pub(crate) timer: u8,
}

/// The first bytes of the private data, with the version.
const MAGIC: [u8; 8] = *b"dat-qpn\x01";

/// Number of bytes of the private data.
const LENGTH: usize = 33;

impl Dial {
    /// The private data.
    pub(crate) fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.to.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.from.to_be_bytes());
        bytes[16..32].copy_from_slice(&self.gid);
        bytes[32] = self.timer;
        bytes
    }

    /// Decodes private data; `None` if no connection by number has sent it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (to, rest) = rest.split_first_chunk()?;
        let (from, rest) = rest.split_first_chunk()?;
        let (gid, rest) = rest.split_first_chunk()?;
        let timer = *rest.first()?;
        let (to, from) = (u32::from_be_bytes(*to), u32::from_be_bytes(*from));
        let dial = Self { to, from, gid: *gid, timer };
        (*magic == MAGIC).then_some(dial)
    }
}

/// The private data that rejects a request without a number, as text for its program.
pub(crate) const NOT_BY_NUMBER: &[u8] =
    b"this port belongs to queue pairs of verbs; connect to one by its number";
/// The private data that rejects a request for a number that no queue pair has.
pub(crate) const NO_QUEUE_PAIR: &[u8] = b"there is no queue pair with this number";

/// Receives the requests of the listeners whose ports are in the numbers of queue pairs.
pub(crate) struct Dials;

impl ListenSink for Dials {
    fn connection_request(&self, incoming: IncomingRequest) -> Result<(), IncomingRequest> {
        let Ok(engine) = Engine::get() else { return Err(incoming) };
        let Some(dial) = Dial::from_bytes(&incoming.private_data) else {
            // The peer may be gone, which changes nothing.
            let _ = incoming.responder.reject(NOT_BY_NUMBER);
            return Ok(());
        };
        match engine.numbers.find(dial.to) {
            Some(queue_pair) => queue_pair.incoming(dial, Arc::from(incoming.responder)),
            None => {
                let _ = incoming.responder.reject(NO_QUEUE_PAIR);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dial_is_bytes_and_back_and_other_bytes_are_none() {
        let dial = Dial { to: 0x00ab_cd01, from: 0x0012_3402, gid: [7; 16], timer: 9 };
        let bytes = dial.to_bytes();
        assert_eq!(Dial::from_bytes(&bytes), Some(dial));
        assert_eq!(Dial::from_bytes(&[bytes.as_slice(), b"later"].concat()), Some(dial));
        for end in 0..LENGTH {
            assert_eq!(Dial::from_bytes(&bytes[..end]), None, "{end}");
        }
        let mut other = bytes;
        other[7] = 2;
        assert_eq!(Dial::from_bytes(&other), None, "another version");
    }
}
