//! References to objects in slabs.
#![allow(unsafe_code, reason = "loom's cells are accessed by pointer")]

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::model;
use crate::{SlabArc, SlabWeak};

/// Number of drops; not tracked by loom.
type Ends = Arc<std::sync::atomic::AtomicUsize>;

/// An object whose drop accesses a cell, which loom checks against all other accesses.
struct Object {
    value: UnsafeCell<u32>,
    ends: Ends,
}

// SAFETY: loom checks every access to the value, which is the purpose of the models.
unsafe impl Send for Object {}
// SAFETY: loom checks every access to the value, which is the purpose of the models.
unsafe impl Sync for Object {}

impl Object {
    fn new() -> (SlabArc<Self>, Ends) {
        let ends = Ends::default();
        let value = UnsafeCell::new(7);
        (SlabArc::new(Self { value, ends: Arc::clone(&ends) }), ends)
    }

    fn look(&self) {
        // SAFETY: loom reports this read if it races with the drop.
        let value = self.value.with(|value| unsafe { *value });
        assert_eq!(value, 7, "it is there, and has not ended");
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: loom reports this write if it races with a read.
        self.value.with_mut(|value| unsafe { *value = 0 });
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}

fn ended(ends: &Ends) -> usize {
    ends.load(Ordering::Relaxed)
}

#[test]
fn an_object_ends_once_after_all_that_was_done_with_it() {
    model(|| {
        let (object, ends) = Object::new();
        let others = [(); 2].map(|()| {
            let object = SlabArc::clone(&object);
            thread::spawn(move || object.look())
        });
        object.look();
        drop(object);
        for other in others {
            other.join().expect("no panic");
        }
        assert_eq!(ended(&ends), 1);
    });
}

#[test]
fn a_weak_reference_finds_all_of_the_object_or_nothing() {
    model(|| {
        let (object, ends) = Object::new();
        let weak = SlabArc::downgrade(&object);
        let other = thread::spawn(move || match weak.upgrade() {
            Some(found) => found.look(),
            None => drop(SlabWeak::clone(&weak)),
        });
        object.look();
        drop(object);
        other.join().expect("no panic");
        assert_eq!(ended(&ends), 1);
    });
}

#[test]
fn a_cyclic_object_is_found_once_it_is_complete() {
    model(|| {
        let mut other = None;
        let looks = Arc::new(AtomicUsize::new(0));
        let object = SlabArc::new_cyclic(|me: &SlabWeak<Object>| {
            let (me, looks) = (SlabWeak::clone(me), Arc::clone(&looks));
            other = Some(thread::spawn(move || {
                if let Some(found) = me.upgrade() {
                    found.look();
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            }));
            Object { value: UnsafeCell::new(7), ends: Ends::default() }
        });
        object.look();
        other.expect("started").join().expect("no panic");
        assert!(looks.load(Ordering::Relaxed) <= 1);
    });
}
