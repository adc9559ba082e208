//! The numbers of queue pairs.
//!
//! A number leads a peer to the process and the queue pair: its upper 16 bits are the TCP port of a listener of this
//! process, and its lower 8 bits an index from 2 to 255. A process with more queue pairs opens more listeners. The number
//! of a queue pair for datagrams has its UDP port and the index 1.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use dat_provider::{Adapter, ListenerParts};
use dat_sync::Mutex;

use super::dial::Dials;
use crate::error::{Error, Result};
use crate::queue_pair::QueuePair;

/// The first index of a listener.
const FIRST: u32 = 2;
/// Number of indices of a listener.
const INDICES: u32 = 255 - FIRST + 1;

/// The numbers in use.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<Table>);

#[derive(Default)]
struct Table {
    listeners: Vec<NumberedListener>,
    queue_pairs: HashMap<u32, Weak<QueuePair>>,
}

struct NumberedListener {
    parts: ListenerParts,
    /// Where the search for a free index begins: a number is not used again soon.
    next: u32,
    used: u32,
}

impl Numbers {
    /// Assigns a number that is not in use.
    ///
    /// # Errors
    /// What prevents another listener.
    pub(crate) fn assign(&self, adapter: &dyn Adapter) -> Result<u32> {
        let mut table = self.0.lock();
        if table.listeners.iter().all(|one| one.used == INDICES) {
            let parts = adapter.listen(None, Arc::new(Dials))?;
            table.listeners.push(NumberedListener { parts, next: 0, used: 0 });
        }
        let Table { listeners, queue_pairs } = &mut *table;
        for listener in listeners {
            let port = listener.parts.qualifier as u32;
            let after = listener.next;
            let indices = (0..INDICES).map(|step| FIRST + (after + step) % INDICES);
            let mut free = indices.filter(|index| !queue_pairs.contains_key(&(port << 8 | index)));
            if let Some(index) = free.next() {
                listener.next = index - FIRST + 1;
                listener.used += 1;
                let number = port << 8 | index;
                queue_pairs.insert(number, Weak::new());
                return Ok(number);
            }
        }
        Err(Error::plain(libc::ENOMEM, "there is no number for another queue pair"))
    }

    /// The queue pair of a number that was assigned.
    pub(crate) fn set(&self, number: u32, queue_pair: &Arc<QueuePair>) {
        self.0.lock().queue_pairs.insert(number, Arc::downgrade(queue_pair));
    }

    /// The number is free again.
    pub(crate) fn release(&self, number: u32) {
        let mut table = self.0.lock();
        if table.queue_pairs.remove(&number).is_none() {
            return;
        }
        let port = u64::from(number >> 8);
        let mut listeners = table.listeners.iter_mut();
        if let Some(listener) = listeners.find(|one| one.parts.qualifier == port) {
            listener.used -= 1;
        }
    }

    /// The queue pair with that number.
    pub(crate) fn find(&self, number: u32) -> Option<Arc<QueuePair>> {
        self.0.lock().queue_pairs.get(&number)?.upgrade()
    }

    /// Number of queue pairs of connections.
    pub(crate) fn count(&self) -> usize {
        let table = self.0.lock();
        table.queue_pairs.values().filter(|one| one.strong_count() != 0).count()
    }

    /// All queue pairs of connections.
    pub(crate) fn all(&self) -> Vec<Arc<QueuePair>> {
        self.0.lock().queue_pairs.values().filter_map(Weak::upgrade).collect()
    }
}
