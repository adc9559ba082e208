//! Models of pins against frees: `.ci/loom` tries every interleaving.

use std::ptr::null_mut;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};
use loom::thread;

use super::chunks::{CHUNK, Chunks, Index, is_indexed};
use super::hazard::{Domain, Pin};

/// The cell of a handle, whose object is read while it is live and taken when it is not in use.
struct Model {
    live: AtomicBool,
    object: UnsafeCell<u32>,
}

// SAFETY: loom checks every access to the object, which is the purpose of the models.
unsafe impl Sync for Model {}

impl Model {
    fn leaked() -> &'static Self {
        Box::leak(Box::new(Self { live: AtomicBool::new(true), object: UnsafeCell::new(1) }))
    }

    /// The steps of a call.
    fn is_used(&'static self, pin: impl FnOnce(&'static Self) -> Pin<Self>) -> bool {
        let _pin = pin(self);
        if !self.live.load(Ordering::Acquire) {
            return false;
        }
        // SAFETY: loom reports this read if it races with the free.
        self.object.with(|object| assert_eq!(unsafe { *object }, 1));
        true
    }

    /// The steps of a free; returns true if the object could be taken.
    fn is_freed(&'static self, domain: &'static Domain<Self>) -> bool {
        self.live.store(false, Ordering::Release);
        if domain.announced().contains(&std::ptr::from_ref(self)) {
            return false;
        }
        // SAFETY: loom reports this write if it races with a read.
        self.object.with_mut(|object| unsafe { *object = 0 });
        true
    }
}

fn leaked_domain() -> &'static Domain<Model> {
    Box::leak(Box::new(Domain::new()))
}

/// Tokens of threads; in the models they share one slot.
const THREADS: [usize; 2] = [2, 4];

fn full_fence() {
    fence(Ordering::SeqCst);
}

/// Frees a cell while each of two threads runs `read` with its token, and waits for them.
fn free_during(
    domain: &'static Domain<Model>,
    cell: &'static Model,
    read: impl Fn(usize) + Copy + Send + 'static,
) {
    let readers = THREADS.map(|number| thread::spawn(move || read(number)));
    cell.is_freed(domain);
    for reader in readers {
        reader.join().unwrap();
    }
}

/// A model with so much state that only interleavings with few preemptions are tried.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn what_is_pinned_stays() {
    model(|| {
        let (domain, cell) = (leaked_domain(), Model::leaked());
        let reader = thread::spawn(move || {
            let record = domain.claim(THREADS[0], true);
            cell.is_used(|cell| record.announce(cell, full_fence));
            record.release();
        });
        cell.is_freed(domain);
        reader.join().unwrap();
        assert!(cell.is_freed(domain), "it is not in use");
    });
}

#[test]
fn another_pin_says_that_the_one_before_it_is_over() {
    model(|| {
        let (domain, cells) = (leaked_domain(), [Model::leaked(), Model::leaked()]);
        let reader = thread::spawn(move || {
            let record = domain.claim(THREADS[0], true);
            for cell in cells {
                cell.is_used(|cell| record.announce(cell, full_fence));
            }
        });
        cells[0].is_freed(domain);
        reader.join().unwrap();
    });
}

#[test]
fn a_call_inside_a_call_pins_too() {
    model(|| {
        let (domain, cells) = (leaked_domain(), [Model::leaked(), Model::leaked()]);
        let reader = thread::spawn(move || {
            cells[0].is_used(|cell| {
                let pin = domain.announce(cell, full_fence);
                cells[1].is_used(|cell| domain.announce(cell, full_fence));
                pin
            });
        });
        for cell in cells {
            cell.is_freed(domain);
        }
        reader.join().unwrap();
    });
}

#[test]
fn threads_share_spare_records() {
    model(|| {
        let (domain, cell) = (leaked_domain(), Model::leaked());
        free_during(domain, cell, move |_| {
            cell.is_used(|cell| domain.announce(cell, full_fence));
        });
    });
}

#[test]
fn a_record_that_was_left_serves_another_thread() {
    model(|| {
        let (domain, cell) = (leaked_domain(), Model::leaked());
        free_during(domain, cell, move |number| {
            let record = domain.claim(number, true);
            cell.is_used(|cell| record.announce(cell, full_fence));
            record.release();
        });
    });
}

#[test]
fn a_thread_whose_slot_is_taken_gets_another_record() {
    model(|| {
        let (domain, cell) = (leaked_domain(), Model::leaked());
        free_during(domain, cell, move |number| {
            let record = domain.claim(number, true);
            assert!(record.is_of(number));
            cell.is_used(|cell| record.announce(cell, full_fence));
            assert!(record.is_of(number), "no other thread takes it");
        });
        assert!(cell.is_freed(domain), "it is not in use");
    });
}

/// Publishes two chunks while another thread looks for one of them, which some interleaving finds.
fn find_during_growth(sought: usize) {
    let found = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_found = Arc::clone(&found);
    model(move || {
        let index: &'static AtomicPtr<Index> = Box::leak(Box::new(AtomicPtr::new(null_mut())));
        let cell = Model::leaked();
        let creator = thread::spawn(move || {
            let mut chunks = Chunks::new();
            for chunk in [CHUNK, 2 * CHUNK] {
                if chunk == sought {
                    // SAFETY: loom reports this write, which takes the place of the write of the cells, if it races with a read.
                    cell.object.with_mut(|object| unsafe { *object = 2 });
                }
                chunks.publish(index, chunk);
            }
        });
        // The reader is a thread too, so that the first interleaving runs it after the creator. loom keeps only the last
        // access of a word: if the reader ran first, the load of the creator would hide that the store after it may come
        // before the reader.
        let is_found = Arc::clone(&is_found);
        let reader = thread::spawn(move || {
            if is_indexed(index, sought) {
                // SAFETY: loom reports this read if it races with the write.
                cell.object.with(|object| assert_eq!(unsafe { *object }, 2));
                is_found.store(true, Ordering::Relaxed);
            }
        });
        creator.join().unwrap();
        reader.join().unwrap();
    });
    assert!(found.load(Ordering::Relaxed), "an interleaving finds the chunk");
}

#[test]
fn a_made_up_value_is_found_in_the_first_index_only_with_its_cells() {
    find_during_growth(CHUNK);
}

#[test]
fn a_made_up_value_is_found_in_a_new_chunk_only_with_its_cells() {
    find_during_growth(2 * CHUNK);
}
