//! The parsers of a peer's bytes, for the fuzz target of this crate.

use crate::reject_data;
use crate::ud_handshake::UdRequest;

/// Reads the private data of a datagram request: the consumer's data, and the whole again as it is composed; nothing
/// if another kind of program sent it.
#[must_use]
pub fn datagram_request(data: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let (request, rest) = UdRequest::read(data)?;
    Some((rest, request.compose(rest)))
}

/// Reads the private data of a rejection: the consumer's data, if a consumer rejected.
#[must_use]
pub fn rejection(reason: u32, data: &[u8]) -> Option<&[u8]> {
    let _ = reject_data::cause(reason);
    reject_data::read(reason, data)
}

/// The private data of a consumer's rejection.
#[must_use]
pub fn compose_rejection(private_data: &[u8]) -> Vec<u8> {
    reject_data::compose(private_data)
}
