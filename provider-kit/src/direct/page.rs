//! The page: the regions that peers may access directly, which they read from the memory of this process.
//!
//! The page is a directory of chunks of slots; a key determines its slot. Chunks are allocated on demand and never
//! freed, so an address that a peer has read stays valid. A peer reads a slot with a copy by the kernel, which may be
//! torn; a checksum over the slot detects that. Slots are useful only to peers that may access the memory anyway.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_sync::region_table::Region;

/// Number of slots of a chunk, and of chunks. Regions beyond them are not published.
const CHUNK: usize = 1024;
const CHUNKS: usize = 1024;
/// The generation in a key of the region table, below the number of the slot.
const GENERATION_BITS: u32 = 8;
/// Number of words of a slot that are in use.
pub const WORDS: usize = 6;

/// A slot; its first word holds the key and is stored last.
#[repr(C, align(64))]
struct Slot([AtomicU64; WORDS]);

static IS_IN_USE: AtomicBool = AtomicBool::new(false);
/// The addresses of the chunks, which peers read.
static DIRECTORY: [AtomicU64; CHUNKS] = [const { AtomicU64::new(0) }; CHUNKS];
static CHUNK_REFS: [OnceLock<&'static [Slot]>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// Publishes regions and windows with remote privileges from now on. A provider calls this before it creates the first
/// domain whose memory peers may access.
pub fn put_in_use() {
    IS_IN_USE.store(true, Ordering::Relaxed);
}

pub(super) fn is_in_use() -> bool {
    IS_IN_USE.load(Ordering::Relaxed)
}

/// The address of the directory, which is sent to peers.
#[must_use]
pub fn directory() -> u64 {
    DIRECTORY.as_ptr().expose_provenance() as u64
}

/// The location of a key's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLocation {
    /// The offset of the chunk's address in the directory, in bytes.
    pub in_directory: u64,
    /// The offset of the slot in the chunk, in bytes.
    pub in_chunk: u64,
}

impl SlotLocation {
    /// Returns the location of a key's slot, if the page has one for it.
    #[must_use]
    pub fn of(key: u32) -> Option<Self> {
        let (chunk, slot) = indices(key)?;
        let offset = |index: usize, size: usize| (index * size) as u64;
        Some(Self {
            in_directory: offset(chunk, size_of::<AtomicU64>()),
            in_chunk: offset(slot, size_of::<Slot>()),
        })
    }
}

fn indices(key: u32) -> Option<(usize, usize)> {
    let slot = (key >> GENERATION_BITS) as usize;
    (slot < CHUNK * CHUNKS).then_some((slot / CHUNK, slot % CHUNK))
}

/// Encodes the words of a slot.
fn encode(key: u32, region: &Region) -> [u64; WORDS] {
    let &Region { address, length, owner, value, access } = region;
    let mut words =
        [u64::from(access) << 32 | u64::from(key), address, length, owner.into(), value, 0];
    words[WORDS - 1] = checksum(&words);
    words
}

/// Decodes the region in a slot for a key; `None` if the slot holds another key or the copy is torn.
#[must_use]
pub fn decode(key: u32, words: &[u64; WORDS]) -> Option<Region> {
    let &[head, address, length, owner, value, sum] = words;
    if head as u32 != key || key == 0 || sum != checksum(words) {
        return None;
    }
    let owner = u32::try_from(owner).ok()?;
    Some(Region { address, length, owner, value, access: (head >> 32) as u32 })
}

/// Returns a checksum over all words except the last.
fn checksum(words: &[u64; WORDS]) -> u64 {
    words[..WORDS - 1].iter().fold(0x9e37_79b9_7f4a_7c15, |sum: u64, word| {
        (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
    })
}

/// Publishes a region of the region table, if peers may need it. The caller excludes a fork, which could leave a chunk
/// half initialized.
pub(crate) fn publish(key: u32, region: &Region) {
    if !is_in_use() {
        return;
    }
    let Some((chunk, slot)) = indices(key) else { return };
    let slots = CHUNK_REFS[chunk].get_or_init(|| {
        let vacant = || Slot([const { AtomicU64::new(0) }; WORDS]);
        let slots: &'static [Slot] = Vec::leak((0..CHUNK).map(|_| vacant()).collect());
        // Release: the slots are vacant before a peer finds them.
        DIRECTORY[chunk].store(slots.as_ptr().expose_provenance() as u64, Ordering::Release);
        slots
    });
    let words = encode(key, region);
    for (to, word) in slots[slot].0.iter().zip(words).skip(1) {
        to.store(word, Ordering::Relaxed);
    }
    // Release: the key comes last; the checksum finds what a peer's copy has in another order.
    slots[slot].0[0].store(words[0], Ordering::Release);
}

/// Withdraws a region. It is still in the region table, so its slot is not reused yet.
pub(crate) fn withdraw(key: u32) {
    let Some((chunk, slot)) = indices(key).filter(|_| is_in_use()) else { return };
    let Some(slots) = CHUNK_REFS[chunk].get() else { return };
    let head = &slots[slot].0[0];
    let found = head.load(Ordering::Relaxed);
    if found as u32 == key {
        // A repeated call must not withdraw the next region of the slot.
        let _ = head.compare_exchange(found, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the words that a peer would read from the slot of a key.
    fn read(key: u32) -> [u64; WORDS] {
        let (chunk, slot) = indices(key).expect("a small key");
        let slots = CHUNK_REFS[chunk].get().expect("published");
        std::array::from_fn(|word| slots[slot].0[word].load(Ordering::Relaxed))
    }

    fn region(address: u64) -> Region {
        Region { address, length: 77, owner: 5, value: 9 << 32 | 8, access: 0x22 }
    }

    #[test]
    fn a_region_is_found_by_its_key_until_it_is_withdrawn() {
        put_in_use();
        let key = 0x00ff_fe01;
        publish(key, &region(0x1000));
        assert_eq!(decode(key, &read(key)), Some(region(0x1000)));
        assert_eq!(decode(key + 1, &read(key)), None, "another generation");
        withdraw(key + 1);
        assert_eq!(decode(key, &read(key)), Some(region(0x1000)));
        withdraw(key);
        assert_eq!(decode(key, &read(key)), None);
        publish(key + 1, &region(0x2000));
        withdraw(key);
        assert_eq!(decode(key + 1, &read(key)), Some(region(0x2000)));
    }

    #[test]
    fn torn_copies_are_refused() {
        let (old, new) = (encode(0x101, &region(1)), encode(0x101, &region(2)));
        for torn in 1..WORDS {
            let mixed: [u64; WORDS] =
                std::array::from_fn(|at| if at < torn { old[at] } else { new[at] });
            // Word 0, the length, the owner and the value are the same in both.
            assert_eq!(decode(0x101, &mixed).is_some(), mixed == old || mixed == new, "{torn}");
        }
        assert_eq!(decode(0, &[0; WORDS]), None);
    }

    #[test]
    fn the_place_of_a_key_is_that_of_its_slot() {
        let key = 0x00ff_fd01;
        put_in_use();
        publish(key, &region(3));
        let location = SlotLocation::of(key).expect("a small key");
        let (chunk, slot) = indices(key).expect("a small key");
        let slots = CHUNK_REFS[chunk].get().expect("published");
        assert_eq!(location.in_directory, 8 * chunk as u64);
        let base = DIRECTORY[chunk].load(Ordering::Relaxed);
        assert_eq!(base + location.in_chunk, std::ptr::from_ref(&slots[slot]).addr() as u64);
        assert_eq!(SlotLocation::of(u32::MAX), None, "beyond the page");
    }
}
