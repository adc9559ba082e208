//! A bank of the reserve: blocks of a few sizes, and a bit for each that is taken.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks of one size; each size has at least one word of bits.
struct Class {
    size: usize,
    count: usize,
}

/// Each size divides the next one, and larger blocks lie first, so that a block is aligned to its size, or to
/// [`ALIGN`] if that is smaller. The counts are multiples of [`BITS`] or below it.
const CLASSES: [Class; 7] = [
    Class { size: 64, count: 512 },
    Class { size: 256, count: 512 },
    Class { size: 1 << 10, count: 128 },
    Class { size: 4 << 10, count: 48 },
    Class { size: 16 << 10, count: 16 },
    Class { size: 64 << 10, count: 4 },
    Class { size: 256 << 10, count: 2 },
];

const BITS: usize = u64::BITS as usize;
const ALIGN: usize = 4096;
const WORDS: usize = sum(CLASSES.len(), true);
const BYTES: usize = sum(CLASSES.len(), false);

/// The words, or the bytes, of the first classes.
const fn sum(classes: usize, words: bool) -> usize {
    let (mut total, mut at) = (0, 0);
    while at < classes {
        let Class { size, count } = CLASSES[at];
        total += if words { count.div_ceil(BITS) } else { size * count };
        at += 1;
    }
    total
}

/// Where the blocks of a class begin.
const fn first_block(class: usize) -> usize {
    BYTES - sum(class + 1, false)
}

/// A zeroed bank is one whose blocks are all free.
#[repr(C, align(4096))]
pub(super) struct Bank {
    blocks: UnsafeCell<[u8; BYTES]>,
    taken: [AtomicU64; WORDS],
}

// SAFETY: the bytes of a block are used only by the code that has set its bit.
unsafe impl Sync for Bank {}

impl Bank {
    pub(super) const fn new() -> Self {
        Self { blocks: UnsafeCell::new([0; BYTES]), taken: [const { AtomicU64::new(0) }; WORDS] }
    }

    /// Returns true if a block of a full bank is large enough.
    pub(super) fn fits(layout: Layout) -> bool {
        layout.size() <= CLASSES[CLASSES.len() - 1].size && layout.align() <= ALIGN
    }

    /// Takes a block. No lock is needed, so that neither a signal nor a fork leaves one behind.
    pub(super) fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        if !Self::fits(layout) {
            return None;
        }
        let size = layout.size().max(layout.align());
        let fitting = (0..CLASSES.len()).filter(|class| CLASSES[*class].size >= size);
        let offset = fitting.map(|class| self.take_of(class)).find_map(|offset| offset)?;
        NonNull::new(self.blocks.get().cast::<u8>().wrapping_add(offset))
    }

    /// The offset of a block of that class.
    fn take_of(&self, class: usize) -> Option<usize> {
        let Class { size, count } = CLASSES[class];
        for (at, word) in
            self.taken[sum(class, true)..].iter().take(count.div_ceil(BITS)).enumerate()
        {
            let blocks = (count - at * BITS).min(BITS) as u32;
            loop {
                let bit = word.load(Ordering::Relaxed).trailing_ones();
                if bit >= blocks {
                    break;
                }
                // Acquire: what the former owner did with the block is over. SeqCst: either `is_full` sees the bit, or
                // the shortage that begins after this is later than the end before `is_full`.
                if word.fetch_or(1 << bit, Ordering::SeqCst) & 1 << bit == 0 {
                    return Some(first_block(class) + (at * BITS + bit as usize) * size);
                }
            }
        }
        None
    }

    /// Returns true if an address lies in the bank.
    #[inline(always)]
    pub(super) fn contains(&self, address: *mut c_void) -> bool {
        address.addr().wrapping_sub(self.blocks.get().addr()) < BYTES
    }

    /// Frees a block of the bank.
    pub(super) fn give_back(&self, block: *mut c_void) {
        let (class, index) = self.place_of(block);
        let word = &self.taken[sum(class, true) + index / BITS];
        // Release: as in `take_of`.
        word.fetch_and(!(1 << (index % BITS)), Ordering::Release);
    }

    /// The size of a block of the bank.
    pub(super) fn size_of(&self, block: *mut c_void) -> usize {
        CLASSES[self.place_of(block).0].size
    }

    fn place_of(&self, block: *mut c_void) -> (usize, usize) {
        let offset = block.addr() - self.blocks.get().addr();
        let class = (0..CLASSES.len()).find(|class| first_block(*class) <= offset).unwrap_or(0);
        (class, (offset - first_block(class)) / CLASSES[class].size)
    }

    /// Returns true if all blocks are free.
    pub(super) fn is_full(&self) -> bool {
        self.taken.iter().all(|word| word.load(Ordering::SeqCst) == 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a layout")
    }

    #[test]
    fn blocks_are_aligned_apart_and_usable_again() {
        static BANK: Bank = Bank::new();
        let bank = &BANK;
        for _ in 0..2 {
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (size, align) in
                [(1, 1), (48, 16), (65, 8), (256, 256), (700, 8), (5000, 4096)].iter().cycle()
            {
                let Some(block) = bank.take(layout(*size, *align)) else { break };
                assert_eq!(block.addr().get() % align, 0);
                assert!(
                    bank.contains(block.as_ptr().cast())
                        && bank.size_of(block.as_ptr().cast()) >= *size
                );
                taken.push((block.addr().get(), *size));
            }
            assert!(taken.len() > 100 && !bank.is_full());
            taken.sort_unstable();
            assert!(taken.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            taken
                .iter()
                .for_each(|(block, _)| bank.give_back(std::ptr::without_provenance_mut(*block)));
            assert!(bank.is_full());
        }
    }

    #[test]
    fn what_fits_no_block_is_refused() {
        static BANK: Bank = Bank::new();
        let bank = &BANK;
        let largest = CLASSES[CLASSES.len() - 1].size;
        assert!(bank.take(layout(largest + 1, 8)).is_none());
        assert!(bank.take(layout(8, 8192)).is_none());
        while bank.take(layout(8, 8)).is_some() {}
        assert!(
            bank.take(layout(largest, 8)).is_none(),
            "smaller requests use larger blocks at last"
        );
    }

    #[test]
    fn threads_never_share_a_block() {
        static BANK: Bank = Bank::new();
        let bank = &BANK;
        std::thread::scope(|scope| {
            for mark in 1..=4_u8 {
                scope.spawn(move || {
                    for round in 0..2_000 {
                        let Some(block) = bank.take(layout(200, 8)) else { continue };
                        // SAFETY: the block was taken here, and has 200 bytes.
                        unsafe { block.write_bytes(mark, 200) };
                        if round % 16 == 0 {
                            std::thread::yield_now();
                        }
                        // SAFETY: as above, and written above.
                        let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr(), 200) };
                        assert!(bytes.iter().all(|byte| *byte == mark));
                        bank.give_back(block.as_ptr().cast());
                    }
                });
            }
        });
        assert!(bank.is_full());
    }
}
