//! The memory of the cells: chunks that are never given back, and the index that tells an
//! address of a cell from any other value without touching what it points at.

use std::alloc::{Layout, alloc};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::cell::{self, Cell};

/// Bytes of a chunk. The address of any but the first is a multiple of it.
const CHUNK: usize = 1 << 16;

/// Cells of a chunk.
pub(super) const CELLS: usize = CHUNK / cell::SIZE;

/// The addresses of all chunks but the first: open addressing, at most half full.
struct Index {
    /// The number of slots is 2 to the power of this.
    bits: u32,
    slots: Box<[AtomicUsize]>,
}

impl Index {
    fn new(bits: u32) -> Self {
        let slots = (0..1_usize << bits).map(|_| AtomicUsize::new(0)).collect();
        Self { bits, slots }
    }

    fn first_slot(&self, chunk: usize) -> usize {
        // Fibonacci hashing: neighbouring chunks spread.
        let hash = (chunk / CHUNK).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash >> (usize::BITS - self.bits)
    }

    #[inline]
    fn contains(&self, chunk: usize) -> bool {
        let mut at = self.first_slot(chunk);
        loop {
            // Relaxed: who holds a handle got it from the thread that made the chunk.
            match self.slots[at & (self.slots.len() - 1)].load(Ordering::Relaxed) {
                0 => return false,
                found if found == chunk => return true,
                _ => at += 1,
            }
        }
    }

    fn insert(&self, chunk: usize) {
        let mut at = self.first_slot(chunk);
        while self.slots[at & (self.slots.len() - 1)].load(Ordering::Relaxed) != 0 {
            at += 1;
        }
        self.slots[at & (self.slots.len() - 1)].store(chunk, Ordering::Release);
    }
}

/// The first chunk, the only one of most programs.
static FIRST: [Cell; CELLS] = [const { Cell::new() }; CELLS];

static INDEX: AtomicPtr<Index> = AtomicPtr::new(ptr::null_mut());

/// The cell at an address, if there is one.
#[inline(always)]
pub(super) fn locate(address: usize) -> Option<&'static Cell> {
    // In one comparison: bits that are none of an aligned address become the highest.
    let offset = address.wrapping_sub((&raw const FIRST).expose_provenance());
    let is_ours = offset.rotate_right(cell::SIZE.ilog2()) < CELLS || is_indexed(address);
    if !is_ours {
        return None;
    }
    let cell = ptr::with_exposed_provenance::<Cell>(address);
    // SAFETY: no chunk is at address 0. The compiler would look for it, to tell it from `None`.
    unsafe { std::hint::assert_unchecked(!cell.is_null()) };
    // SAFETY: the chunk is ours, made of cells, and never given back.
    Some(unsafe { &*cell })
}

/// Whether it is the address of a cell of another chunk.
#[cold]
#[inline(never)]
fn is_indexed(address: usize) -> bool {
    // SAFETY: an index that was published is never freed.
    let index = unsafe { INDEX.load(Ordering::Acquire).as_ref() };
    address % cell::SIZE == 0 && index.is_some_and(|index| index.contains(address & !(CHUNK - 1)))
}

/// All chunks, in the hands of the store.
#[derive(Default)]
pub(super) struct Chunks {
    /// The first one is in use.
    begun: bool,
    /// The others.
    made: Vec<usize>,
    /// Indices that were outgrown: a look-up may still be in one.
    outgrown: Vec<&'static Index>,
}

impl Chunks {
    /// Makes a chunk of free cells; none where memory ran out.
    pub(super) fn grow(&mut self) -> Option<impl Iterator<Item = &'static Cell> + use<>> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(FIRST.iter());
        }
        let layout = Layout::from_size_align(CHUNK, CHUNK).ok()?;
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout) }.cast::<Cell>();
        if memory.is_null() {
            return None;
        }
        for at in 0..CELLS {
            // SAFETY: within the allocation.
            let place = unsafe { memory.add(at) };
            // SAFETY: aligned as the chunk is, and nobody else knows it yet.
            unsafe { place.write(Cell::new()) };
        }
        let address = memory.expose_provenance();
        self.publish(address);
        // SAFETY: written above; never given back.
        let cells = unsafe { slice::from_raw_parts::<'static>(memory, CELLS) };
        Some(cells.iter())
    }

    fn publish(&mut self, chunk: usize) {
        self.made.push(chunk);
        // SAFETY: an index that was published is never freed.
        let index = unsafe { INDEX.load(Ordering::Relaxed).as_ref() };
        if let Some(index) = index.filter(|index| self.made.len() * 2 <= index.slots.len()) {
            index.insert(chunk);
            return;
        }
        let larger = Box::new(Index::new(index.map_or(4, |index| index.bits + 1)));
        for chunk in &self.made {
            larger.insert(*chunk);
        }
        self.outgrown.extend(index);
        INDEX.store(Box::into_raw(larger), Ordering::Release);
    }
}
