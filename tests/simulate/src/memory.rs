//! The memory of the processes, which is used again for the next seed: the system need not clear new pages for it.

use std::cell::RefCell;
use std::collections::HashMap;

use dat_conformance::{Buffer, Node};
use dat_core::{Memory, MemorySource, Privileges};

thread_local! {
    static FREE: RefCell<HashMap<usize, Vec<Box<[u8]>>>> = RefCell::default();
}

/// Zeroed memory, which becomes free when it is dropped.
struct Block(Box<[u8]>);

impl Block {
    fn new(length: usize) -> Self {
        let free = FREE.with_borrow_mut(|free| free.get_mut(&length).and_then(Vec::pop));
        let mut bytes = free.unwrap_or_else(|| vec![0; length].into());
        bytes.fill(0);
        Self(bytes)
    }
}

impl AsMut<[u8]> for Block {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        FREE.with_borrow_mut(|free| free.entry(bytes.len()).or_default().push(bytes));
    }
}

/// Memory that is not registered.
pub(crate) fn block(length: usize) -> Memory {
    Memory::from_owner(Block::new(length)).expect("memory")
}

/// Registered memory of a process.
pub(crate) fn buffer(node: &Node, length: usize, privileges: Privileges) -> Buffer {
    let memory = block(length);
    let source = MemorySource::Memory(&memory);
    let lmr = node.ia.lmr_create(source, &node.pz, privileges).expect("a registration");
    Buffer { memory, lmr }
}
