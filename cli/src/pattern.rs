//! Test data: every position of every seed has its own value, so that misplaced bytes are found.

use crate::error::CliError;

/// The bytes of a seed, starting at a position.
pub(crate) fn bytes(seed: u64, position: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let lead = position.wrapping_neg() % 8;
    let (head, body) = bytes.split_at_mut(lead.min(length));
    let word = |index: usize| mixed(seed, index as u64).to_le_bytes();
    head.copy_from_slice(&word(position / 8)[position % 8..][..head.len()]);
    for (index, chunk) in body.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&word(position.div_ceil(8) + index)[..chunk.len()]);
    }
    bytes
}

/// A word whose bits all depend on all bits of the seed and the index.
fn mixed(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(!index);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        word = (word ^ (word >> 31)).wrapping_mul(factor);
    }
    word ^ (word >> 29)
}

/// Private data without the zeros that a transport pads it with.
pub(crate) fn unpadded(found: &[u8], sent: usize) -> &[u8] {
    match found.split_at_checked(sent) {
        Some((data, padding)) if padding.iter().all(|byte| *byte == 0) => data,
        _ => found,
    }
}

/// A number that depends on all bytes and their order, to compare memory of two machines.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed(digest, u64::from_le_bytes(word))
    })
}

/// Compares received bytes with the expected ones.
pub(crate) fn compare(what: &str, expected: &[u8], found: &[u8]) -> Result<(), CliError> {
    if expected.len() != found.len() {
        return Err(CliError::data(format!(
            "{what}: received {} bytes, {} were sent",
            found.len(),
            expected.len()
        )));
    }
    if expected == found {
        return Ok(());
    }
    let wrong = |(a, b): (&u8, &u8)| a != b;
    let first = expected.iter().zip(found).position(wrong).unwrap_or(0);
    let count = expected.iter().zip(found).filter(|(a, b)| a != b).count();
    Err(CliError::data(format!(
        "{what}: {count} of {} bytes are wrong, first at offset {first}: {:#04x} instead of \
         {:#04x}",
        expected.len(),
        found[first],
        expected[first]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_byte_and_its_place() {
        let bytes = bytes(5, 0, 100);
        let mut digests = vec![digest(&bytes), digest(&bytes[..99]), digest(&[])];
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            digests.push(digest(&changed));
        }
        let mut swapped = bytes.clone();
        swapped.swap(3, 4);
        digests.push(digest(&swapped));
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all);
    }

    #[test]
    fn a_part_is_a_part_of_the_whole() {
        let whole = bytes(7, 0, 100);
        for start in [0, 1, 7, 8, 9, 50] {
            assert_eq!(bytes(7, start, 100 - start), whole[start..]);
        }
        for length in 0..12 {
            assert_eq!(bytes(7, 3, length), whole[3..][..length]);
        }
    }

    #[test]
    fn neither_another_place_nor_another_seed_looks_the_same() {
        let whole = bytes(1, 0, 4096);
        assert!((1..512).all(|shift| whole[shift..shift + 64] != whole[..64]));
        assert_ne!(bytes(2, 0, 64), whole[..64]);
    }

    #[test]
    fn the_first_wrong_byte_is_reported() {
        let error = compare("x", &[1, 2, 3, 4], &[1, 9, 3, 9]).unwrap_err();
        assert!(error.reason.contains("2 of 4 bytes are wrong, first at offset 1"));
        assert!(compare("x", &[1], &[]).is_err());
    }
}
