//! The memory of the cells: chunks that are never freed, and the index that distinguishes the
//! address of a cell from any other value without accessing that address.

use std::alloc::{Layout, alloc};
use std::ptr;
use std::slice;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::cell::{self, Cell};

/// Size of a chunk in bytes. The address of any chunk except the first is a multiple of it.
pub(super) const CHUNK: usize = 1 << 16;

/// Number of cells in a chunk.
pub(super) const CELLS: usize = CHUNK / cell::SIZE;

/// Binary logarithm of the number of slots of the first index.
const FIRST_BITS: u32 = if cfg!(all(test, loom)) { 2 } else { 4 };

/// The addresses of all chunks except the first: open addressing, at most half full.
pub(super) struct Index {
    /// Binary logarithm of the number of slots.
    bits: u32,
    slots: Box<[AtomicUsize]>,
}

impl Index {
    fn new(bits: u32) -> Self {
        let slots = (0..1_usize << bits).map(|_| AtomicUsize::new(0)).collect();
        Self { bits, slots }
    }

    fn first_slot(&self, chunk: usize) -> usize {
        // Fibonacci hashing spreads neighbouring chunks.
        let hash = ((chunk / CHUNK) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (u64::BITS - self.bits)) as usize
    }

    #[inline(always)]
    fn contains(&self, chunk: usize) -> bool {
        let mut at = self.first_slot(chunk);
        loop {
            // Acquire: pairs with `insert`. The holder of a handle got it from the thread that created the chunk, but a
            // value that a program made up may lie in a chunk that is new to this thread.
            match self.slots[at & (self.slots.len() - 1)].load(Ordering::Acquire) {
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

/// The first chunk, which is the only one in most programs.
static FIRST: [Cell; CELLS] = [const { Cell::new() }; CELLS];

#[cfg(not(all(test, loom)))]
static INDEX: AtomicPtr<Index> = AtomicPtr::new(ptr::null_mut());

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref INDEX: AtomicPtr<Index> = AtomicPtr::new(ptr::null_mut());
}

/// The cell at an address, if it is that of a cell.
#[inline(always)]
pub(super) fn locate(address: usize) -> Option<&'static Cell> {
    // One comparison: the bits that must be 0 in an aligned address become the highest ones.
    let offset = address.wrapping_sub((&raw const FIRST).expose_provenance());
    let is_ours = offset.rotate_right(cell::SIZE.ilog2()) < CELLS || is_indexed(&INDEX, address);
    if !is_ours {
        return None;
    }
    let cell = ptr::with_exposed_provenance::<Cell>(address);
    // SAFETY: no chunk is at address 0. Otherwise the compiler would test for null, which encodes
    // `None`.
    unsafe { std::hint::assert_unchecked(!cell.is_null()) };
    // SAFETY: the address lies in a chunk, which consists of cells and is never freed.
    Some(unsafe { &*cell })
}

/// Returns true if a cell in a chunk other than the first has this address. It is not a call: that
/// would make every user of [`locate`] save the registers with its arguments.
#[inline(always)]
pub(super) fn is_indexed(index: &AtomicPtr<Index>, address: usize) -> bool {
    // SAFETY: an index that was published is never freed.
    let index = unsafe { index.load(Ordering::Acquire).as_ref() };
    address % cell::SIZE == 0 && index.is_some_and(|index| index.contains(address & !(CHUNK - 1)))
}

/// Calls a function for each cell of every chunk that is published. Takes no lock and allocates
/// nothing, so that a handler of fork can use it.
pub(super) fn for_each(mut visit: impl FnMut(&Cell)) {
    FIRST.iter().for_each(&mut visit);
    // SAFETY: an index that was published is never freed.
    let Some(index) = (unsafe { INDEX.load(Ordering::Acquire).as_ref() }) else { return };
    for chunk in index.slots.iter().map(|slot| slot.load(Ordering::Acquire)).filter(|it| *it != 0) {
        let cells = ptr::with_exposed_provenance::<Cell>(chunk);
        // SAFETY: the index has the addresses of chunks, which consist of cells and are never freed.
        unsafe { slice::from_raw_parts(cells, CELLS) }.iter().for_each(&mut visit);
    }
}

/// All chunks, owned by the store.
pub(super) struct Chunks {
    /// True if the first chunk is in use.
    begun: bool,
    /// The addresses of the others.
    made: Vec<usize>,
    /// Indices that were replaced by larger ones: a lookup may still use them.
    outgrown: Vec<&'static Index>,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self { begun: false, made: Vec::new(), outgrown: Vec::new() }
    }

    /// Allocates a chunk of free cells; `None` if memory ran out.
    pub(super) fn grow(&mut self) -> Option<impl Iterator<Item = &'static Cell> + use<>> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(FIRST.iter());
        }
        let layout = Layout::from_size_align(CHUNK, CHUNK).ok()?;
        // SAFETY: the size of the layout is not 0.
        let memory = unsafe { alloc(layout) }.cast::<Cell>();
        if memory.is_null() {
            return None;
        }
        for at in 0..CELLS {
            // SAFETY: `at` is below the number of cells in the allocation.
            let place = unsafe { memory.add(at) };
            // SAFETY: the allocation is aligned for cells, and no other thread knows it yet.
            unsafe { place.write(Cell::new()) };
        }
        let address = memory.expose_provenance();
        self.publish(&INDEX, address);
        // SAFETY: all cells were written above, and the allocation is never freed.
        let cells = unsafe { slice::from_raw_parts::<'static>(memory, CELLS) };
        Some(cells.iter())
    }

    pub(super) fn publish(&mut self, published: &AtomicPtr<Index>, chunk: usize) {
        self.made.push(chunk);
        // SAFETY: an index that was published is never freed.
        let index = unsafe { published.load(Ordering::Relaxed).as_ref() };
        if let Some(index) = index.filter(|index| self.made.len() * 2 <= index.slots.len()) {
            index.insert(chunk);
            return;
        }
        let larger = Box::new(Index::new(index.map_or(FIRST_BITS, |index| index.bits + 1)));
        for chunk in &self.made {
            larger.insert(*chunk);
        }
        self.outgrown.extend(index);
        // Pairs with `is_indexed` and `for_each`.
        published.store(Box::into_raw(larger), Ordering::Release);
    }
}
