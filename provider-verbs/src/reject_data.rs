//! The private data of a rejection.
//!
//! The transport rejects on its own behalf with the same reason code as for a consumer. Therefore a
//! consumer's data begins with four bytes that are not all zero, which is also how OpenFabrics DAPL
//! distinguishes the two. The transport pads with zeros.

use dat_provider::RefusalCause;

/// The first bytes of a consumer's rejection: a version, in network byte order.
const MARK: [u8; 4] = [2, 0, 0, 0];

/// `IB_CM_REJ_CONSUMER_DEFINED`: a rejection by software.
const BY_CONSUMER: u32 = 28;

/// `IB_CM_REJ_INVALID_SERVICE_ID`: nothing listens on the port.
const NO_LISTENER: u32 = 8;

/// Length of the mark in bytes.
pub(crate) const OVERHEAD: usize = MARK.len();

/// Builds the data of a consumer's rejection.
pub(crate) fn compose(private_data: &[u8]) -> Vec<u8> {
    [&MARK, private_data].concat()
}

/// The consumer's data, if a consumer rejected.
pub(crate) fn read(reason: u32, data: &[u8]) -> Option<&[u8]> {
    // iWARP devices report either of the latter two.
    let by_software = [BY_CONSUMER, libc::ECONNREFUSED as u32, libc::ECONNRESET as u32];
    let by_software = by_software.contains(&reason);
    by_software.then(|| self::data(data)).flatten()
}

/// Why the transport rejected. On iWARP, a refused TCP connection says the same as an answer of the
/// peer's kernel.
pub(crate) fn cause(reason: u32) -> RefusalCause {
    match reason {
        NO_LISTENER => RefusalCause::NoListener,
        _ => RefusalCause::Unknown,
    }
}

/// The consumer's data in a rejection by software.
pub(crate) fn data(data: &[u8]) -> Option<&[u8]> {
    let (mark, rest) = data.split_at_checked(MARK.len())?;
    (mark != [0; MARK.len()]).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_by_consumer_and_transport_differ() {
        let padded = [compose(b"no"), vec![0; 9]].concat();
        assert_eq!(read(28, &padded), Some(&b"no\0\0\0\0\0\0\0\0\0"[..]));
        assert_eq!(read(111, &compose(b"")), Some(&b""[..]));
        assert_eq!(read(104, &compose(b"")), Some(&b""[..]));
        assert_eq!(read(104, &[]), None, "there was no answer");
        assert_eq!(read(8, &padded), None, "there was no listener");
        assert_eq!(read(28, &[0; 148]), None, "the kernel refused");
        assert_eq!(read(28, &[]), None);
        assert_eq!(cause(8), RefusalCause::NoListener);
        assert_eq!(cause(28), RefusalCause::Unknown);
    }
}
