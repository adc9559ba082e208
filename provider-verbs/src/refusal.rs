//! The data of a refusal.
//!
//! The transport refuses on its own behalf with the same reason as on a consumer's: what a
//! consumer sends therefore begins with four bytes that are not all zero, which is also how the
//! OpenFabrics DAPL tells them apart. The transport pads with zeros.

/// What a consumer's refusal begins with: a version, in network order.
const MARK: [u8; 4] = [2, 0, 0, 0];

/// `IB_CM_REJ_CONSUMER_DEFINED`: a refusal by software.
const BY_CONSUMER: u32 = 28;

/// The bytes that the mark takes.
pub(crate) const OVERHEAD: usize = MARK.len();

/// A consumer's refusal.
pub(crate) fn compose(private_data: &[u8]) -> Vec<u8> {
    [&MARK, private_data].concat()
}

/// A consumer's data, when it was a consumer that refused.
pub(crate) fn read(reason: u32, data: &[u8]) -> Option<&[u8]> {
    // Devices of iWARP say either of the latter two.
    let by_software = [BY_CONSUMER, libc::ECONNREFUSED as u32, libc::ECONNRESET as u32];
    let by_software = by_software.contains(&reason);
    by_software.then(|| self::data(data)).flatten()
}

/// A consumer's data, of a refusal by software.
pub(crate) fn data(data: &[u8]) -> Option<&[u8]> {
    let (mark, rest) = data.split_at_checked(MARK.len())?;
    (mark != [0; MARK.len()]).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_is_told_from_the_transport() {
        let padded = [compose(b"no"), vec![0; 9]].concat();
        assert_eq!(read(28, &padded), Some(&b"no\0\0\0\0\0\0\0\0\0"[..]));
        assert_eq!(read(111, &compose(b"")), Some(&b""[..]));
        assert_eq!(read(104, &compose(b"")), Some(&b""[..]));
        assert_eq!(read(104, &[]), None, "nobody answered");
        assert_eq!(read(8, &padded), None, "nobody listened");
        assert_eq!(read(28, &[0; 148]), None, "the kernel refused");
        assert_eq!(read(28, &[]), None);
    }
}
