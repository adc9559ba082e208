//! The private data that the two sides of a `dat ping` between machines exchange.

use dat_core::RmrTriplet;

use crate::error::CliError;
use crate::pattern;

/// The first bytes of a request and its reply, with the version of the format.
const HEAD: [u8; 12] = *b"dat-ping\x01\0\0\0";

/// The length of the private data in both directions, which all transports support.
pub(super) const LENGTH: usize = 48;

/// The value of the padding bytes.
const ASKED: u64 = 201;
const ANSWERED: u64 = 202;

/// The seed of the pattern in the half of the offered memory that clients read.
pub(super) const OFFERED: u64 = 203;

/// The private data in the request.
pub(super) fn request() -> Vec<u8> {
    let mut data = HEAD.to_vec();
    data.extend(pattern::bytes(ASKED, 0, LENGTH - HEAD.len()));
    data
}

/// Checks that the private data of a request comes from this command.
pub(crate) fn check_request(found: &[u8]) -> Result<(), CliError> {
    check_head("private data in the request", found)?;
    let expected = request();
    let found = pattern::unpadded(found, expected.len());
    pattern::compare("private data in the request", &expected, found)
}

/// The private data in the reply: the memory that the peer may read and write.
pub(crate) fn answer(area: RmrTriplet) -> Vec<u8> {
    let mut data = HEAD.to_vec();
    data.extend(area.address.to_le_bytes());
    data.extend(area.length.to_le_bytes());
    data.extend(area.context.to_le_bytes());
    data.extend(pattern::bytes(ANSWERED, 0, LENGTH - data.len()));
    data
}

/// The memory that a reply offers.
pub(crate) fn check_answer(found: &[u8]) -> Result<RmrTriplet, CliError> {
    check_head("private data in the reply", found)?;
    let word = |at: usize| {
        let mut bytes = [0; 8];
        let part = found.get(at..).unwrap_or_default();
        bytes.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(bytes)
    };
    let (address, length, context) = (word(12), word(20), word(28) as u32);
    let area = RmrTriplet { address, length, context };
    let found = pattern::unpadded(found, LENGTH);
    pattern::compare("private data in the reply", &answer(area), found)?;
    Ok(area)
}

fn check_head(what: &str, found: &[u8]) -> Result<(), CliError> {
    if found.starts_with(&HEAD) {
        return Ok(());
    }
    let mut error = CliError::unexpected(format!("{what} comes from another version of dat ping"));
    error.advice = "run the same version of dat ping on both machines".to_owned();
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: RmrTriplet = RmrTriplet { address: 0x7fff_1234_5678, length: 999, context: 77 };

    #[test]
    fn a_handshake_arrives_even_with_padding() {
        let mut asked = request();
        assert_eq!(asked.len(), LENGTH);
        assert!(check_request(&asked).is_ok());
        asked.extend([0; 8]);
        assert!(check_request(&asked).is_ok());
        let mut answered = answer(AREA);
        answered.extend([0; 148]);
        assert_eq!(check_answer(&answered).expect("an answer"), AREA);
    }

    #[test]
    fn what_others_tell_is_refused() {
        for found in [&b""[..], b"dat-ping", b"hello, I am another program", &[0; 56]] {
            assert!(check_request(found).is_err());
            assert!(check_answer(found).is_err());
        }
        let mut damaged = answer(AREA);
        damaged[LENGTH - 1] ^= 1;
        assert!(check_answer(&damaged).is_err());
        assert!(check_answer(&damaged[..20]).is_err());
    }
}
