//! Posts that have not completed: the program's ids for them, and the objects that they keep alive.
//!
//! The identifier that the device gets and returns (`wr_id`) consists of the number of a record,
//! one for each queue, and a sequence number. Completions of a dropped queue pair find no record
//! and are ignored.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use dat_sync::{Mutex, MutexGuard};

use super::memory::NO_MEMORY;
use super::region::RegionUse;
use super::{AddressHandle, MemoryWindow, Result};

/// The order in which a queue completes its posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In the order of the posts; the completion of one completes all before it.
    Posted,
    /// In any order: the receives of a shared queue.
    Any,
}

/// The posts in flight of one queue.
#[derive(Debug)]
pub(crate) struct InFlight {
    number: u32,
    order: Order,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// The sequence number of the oldest post.
    oldest: u32,
    posts: VecDeque<Option<Posted>>,
}

/// A post in flight.
#[derive(Debug)]
pub(crate) struct Posted {
    /// The program's id of the post.
    pub(crate) id: u64,
    /// The objects that stay alive until its completion is taken.
    pub(crate) _uses: Uses,
}

/// The objects that a post uses.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(crate) _regions: Vec<RegionUse>,
    pub(crate) _handle: Option<Arc<AddressHandle>>,
    pub(crate) _window: Option<Arc<MemoryWindow>>,
}

impl InFlight {
    pub(crate) fn new(order: Order) -> Arc<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { number, order, ring: Mutex::default() })
    }

    /// Begins posts. Until the result is dropped, no other thread posts to the queue or takes its
    /// completions, so the record has the order of the device.
    pub(crate) fn begin(&self) -> Posting<'_> {
        Posting { number: self.number, ring: self.ring.lock() }
    }

    /// Makes one post by `call`, which gets the identifier for the device, and records it if that
    /// succeeds.
    pub(crate) fn post(&self, post: Posted, call: impl FnOnce(u64) -> Result<()>) -> Result<()> {
        let mut posting = self.begin();
        posting.reserve()?;
        call(posting.next())?;
        posting.push(post);
        Ok(())
    }

    /// Forgets the posts: the queue was reset, so none completes any more.
    pub(crate) fn clear(&self) {
        let mut ring = self.ring.lock();
        let count = ring.posts.len() as u32;
        ring.oldest = ring.oldest.wrapping_add(count);
        let posts = std::mem::take(&mut ring.posts);
        drop(ring);
        drop(posts);
    }

    /// The number of posts in flight.
    pub(crate) fn len(&self) -> usize {
        self.ring.lock().posts.iter().flatten().count()
    }

    /// Forgets the post with that sequence number, which has completed, and those before it if the
    /// queue keeps the order. Returns the program's id of the post.
    fn complete(&self, sequence: u32) -> Option<u64> {
        let mut ring = self.ring.lock();
        let index = sequence.wrapping_sub(ring.oldest) as usize;
        let done = ring.posts.get_mut(index)?.take();
        loop {
            let is_over = match self.order {
                // Compared as a difference, because sequence numbers wrap around.
                Order::Posted => (sequence.wrapping_sub(ring.oldest) as i32) >= 0,
                Order::Any => matches!(ring.posts.front(), Some(None)),
            };
            let before = if is_over { ring.posts.pop_front() } else { None };
            let Some(before) = before else { break };
            ring.oldest = ring.oldest.wrapping_add(1);
            if before.is_some() {
                // Dropping what the post kept alive takes other locks.
                drop(ring);
                drop(before);
                ring = self.ring.lock();
            }
        }
        drop(ring);
        done.map(|post| post.id)
    }
}

/// Posts that are being made to one queue.
#[derive(Debug)]
pub(crate) struct Posting<'a> {
    number: u32,
    ring: MutexGuard<'a, Ring>,
}

impl Posting<'_> {
    /// The device's identifier for the next post.
    pub(crate) fn next(&self) -> u64 {
        let sequence = self.ring.oldest.wrapping_add(self.ring.posts.len() as u32);
        u64::from(self.number) << 32 | u64::from(sequence)
    }

    /// Reserves space for the record of the next post.
    pub(crate) fn reserve(&mut self) -> Result<()> {
        self.ring.posts.try_reserve(1).map_err(|_| NO_MEMORY)
    }

    /// Records the next post, for which space is reserved.
    pub(crate) fn push(&mut self, post: Posted) {
        self.ring.posts.push_back(Some(post));
    }

    /// Forgets the last posts, which were not made.
    pub(crate) fn pop(&mut self, count: usize) {
        let keep = self.ring.posts.len().saturating_sub(count);
        self.ring.posts.truncate(keep);
    }
}

/// The records of all queues whose posts complete in one completion queue.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<HashMap<u32, Weak<InFlight>>>);

impl Records {
    pub(crate) fn insert(&self, record: &Arc<InFlight>) {
        let mut records = self.0.lock();
        if records.len() == records.capacity() {
            records.retain(|_, record| record.strong_count() != 0);
        }
        records.insert(record.number, Arc::downgrade(record));
    }

    /// Forgets the post with the device's identifier `id` and returns the program's id; `None` if
    /// the queue pair was dropped.
    pub(crate) fn complete(&self, id: u64) -> Option<u64> {
        let record = self.0.lock().get(&((id >> 32) as u32))?.upgrade()?;
        record.complete(id as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(record: &InFlight, id: u64) -> u64 {
        let mut device = 0;
        let posted = Posted { id, _uses: Uses::default() };
        record
            .post(posted, |given| {
                device = given;
                Ok(())
            })
            .expect("posted");
        device
    }

    #[test]
    fn a_completion_completes_all_posts_before_it() {
        let (records, record) = (Records::default(), InFlight::new(Order::Posted));
        records.insert(&record);
        let ids: Vec<u64> = (10..14).map(|id| post(&record, id)).collect();
        assert_eq!(records.complete(ids[2]), Some(12));
        assert_eq!(record.len(), 1);
        assert_eq!(records.complete(ids[1]), None, "it is complete already");
        assert_eq!(records.complete(ids[3]), Some(13));
        assert_eq!(record.len(), 0);
    }

    #[test]
    fn posts_complete_in_order_where_sequence_numbers_wrap_around() {
        let (records, record) = (Records::default(), InFlight::new(Order::Posted));
        records.insert(&record);
        record.ring.lock().oldest = u32::MAX - 1;
        let ids: Vec<u64> = (10..14).map(|id| post(&record, id)).collect();
        assert_eq!(records.complete(ids[2]), Some(12));
        assert_eq!(record.len(), 1);
        assert_eq!(records.complete(ids[0]), None, "it is complete already");
        assert_eq!(records.complete(ids[3]), Some(13));
    }

    #[test]
    fn receives_of_a_shared_queue_complete_in_any_order() {
        let (records, record) = (Records::default(), InFlight::new(Order::Any));
        records.insert(&record);
        let ids: Vec<u64> = (20..24).map(|id| post(&record, id)).collect();
        for index in [2, 0, 3, 1] {
            assert_eq!(records.complete(ids[index]), Some(20 + index as u64));
            assert_eq!(records.complete(ids[index]), None, "once");
        }
        assert_eq!(records.complete(post(&record, 30)), Some(30));
    }

    #[test]
    fn a_refused_post_is_not_recorded_and_a_reset_forgets_all_posts() {
        let (records, record) = (Records::default(), InFlight::new(Order::Posted));
        records.insert(&record);
        let refused = super::super::Error::new("ibv_post_send", libc::ENOMEM);
        let posted = Posted { id: 1, _uses: Uses::default() };
        assert!(record.post(posted, |_| Err(refused)).is_err());
        assert_eq!(record.len(), 0);
        let before = post(&record, 2);
        record.clear();
        assert_eq!(records.complete(before), None);
        assert_eq!(records.complete(post(&record, 3)), Some(3));
    }

    #[test]
    fn a_completion_of_a_dropped_queue_pair_is_ignored() {
        let (records, record) = (Records::default(), InFlight::new(Order::Posted));
        records.insert(&record);
        let id = post(&record, 1);
        drop(record);
        assert_eq!(records.complete(id), None);
    }
}
