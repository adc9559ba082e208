//! What the two sides of a `dat ping` between machines tell each other when they connect.

use dat_core::RmrTriplet;

use crate::fault::Fault;
use crate::pattern;

/// What a request and its answer start with, and the version of what follows.
const HEAD: [u8; 12] = *b"dat-ping\x01\0\0\0";

/// How long the private data is, there and back: all transports have that much.
pub(super) const LENGTH: usize = 48;

/// What fills the rest of the two.
const ASKED: u64 = 201;
const ANSWERED: u64 = 202;

/// Of the memory that the listening side offers, the pattern in the half that is read.
pub(super) const OFFERED: u64 = 203;

/// The private data of the request.
pub(super) fn request() -> Vec<u8> {
    let mut data = HEAD.to_vec();
    data.extend(pattern::bytes(ASKED, 0, LENGTH - HEAD.len()));
    data
}

/// Whether the private data of a request is what this command sends.
pub(super) fn check_request(found: &[u8]) -> Result<(), Fault> {
    check_head("private data of the request", found)?;
    let expected = request();
    let found = pattern::unpadded(found, expected.len());
    pattern::compare("private data of the request", &expected, found)
}

/// The private data of the answer: the memory that the other side may write and read.
pub(super) fn answer(area: RmrTriplet) -> Vec<u8> {
    let mut data = HEAD.to_vec();
    data.extend(area.address.to_le_bytes());
    data.extend(area.length.to_le_bytes());
    data.extend(area.context.to_le_bytes());
    data.extend(pattern::bytes(ANSWERED, 0, LENGTH - data.len()));
    data
}

/// The memory that an answer offers.
pub(super) fn check_answer(found: &[u8]) -> Result<RmrTriplet, Fault> {
    check_head("private data of the answer", found)?;
    let word = |at: usize| {
        let mut bytes = [0; 8];
        let part = found.get(at..).unwrap_or_default();
        bytes.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(bytes)
    };
    let (address, length, context) = (word(12), word(20), word(28) as u32);
    let area = RmrTriplet { address, length, context };
    let found = pattern::unpadded(found, LENGTH);
    pattern::compare("private data of the answer", &answer(area), found)?;
    Ok(area)
}

fn check_head(what: &str, found: &[u8]) -> Result<(), Fault> {
    if found.starts_with(&HEAD) {
        return Ok(());
    }
    let mut fault = Fault::unexpected(format!("{what} is not that of this version of dat ping"));
    fault.advice = "run the same version of dat ping on both machines".to_owned();
    Err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: RmrTriplet = RmrTriplet { address: 0x7fff_1234_5678, length: 999, context: 77 };

    #[test]
    fn what_is_told_arrives_also_with_padding() {
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
