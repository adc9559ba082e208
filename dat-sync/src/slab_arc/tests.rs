use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Counts its drops.
struct Counted<const SIZE: usize>([u8; SIZE], Arc<AtomicUsize>);

impl<const SIZE: usize> Drop for Counted<SIZE> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn shared<const SIZE: usize>(with: u8) -> (SlabArc<Counted<SIZE>>, Arc<AtomicUsize>) {
    let dropped = Arc::<AtomicUsize>::default();
    (SlabArc::new(Counted([with; SIZE], Arc::clone(&dropped))), dropped)
}

fn goes_with_the_last_reference<const SIZE: usize>() {
    let (first, dropped) = shared::<SIZE>(7);
    assert_eq!(first.object.as_ptr().addr() % 64, 0);
    let (second, weak) = (first.clone(), SlabArc::downgrade(&first));
    assert!(SlabArc::ptr_eq(&first, &second));
    assert_eq!(SlabArc::strong_count(&first), 2);
    drop(first);
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    let third = weak.upgrade().expect("the second keeps it");
    drop(second);
    assert!(third.0.iter().all(|byte| *byte == 7));
    drop(third);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert!(weak.upgrade().is_none() && weak.clone().upgrade().is_none());
}

#[test]
fn an_object_of_any_size_goes_with_the_last_reference() {
    goes_with_the_last_reference::<0>();
    goes_with_the_last_reference::<56>();
    goes_with_the_last_reference::<1000>();
    goes_with_the_last_reference::<100_000>();
}

#[test]
fn an_object_of_a_larger_alignment_has_it() {
    #[repr(align(512))]
    struct Wide(u8);
    let wide = [SlabArc::new(Wide(1)), SlabArc::new(Wide(2))];
    assert!(wide.iter().all(|one| one.object.as_ptr().addr() % 512 == 0));
    assert_eq!(wide.map(|one| one.0), [1, 2]);
}

#[test]
fn an_empty_weak_reference_cannot_be_upgraded() {
    assert!(SlabWeak::<u32>::new().upgrade().is_none());
    assert!(SlabWeak::<u32>::default().clone().upgrade().is_none());
}

#[test]
fn a_cyclic_object_can_be_upgraded_once_it_exists() {
    struct Own(SlabWeak<Own>);
    let own = SlabArc::new_cyclic(|me| {
        assert!(me.upgrade().is_none());
        Own(me.clone())
    });
    let found = own.0.upgrade().expect("it is there");
    assert!(SlabArc::ptr_eq(&found, &own));
}

#[test]
fn a_maker_that_panics_leaves_nothing_behind() {
    let mut kept = None;
    let made = catch_unwind(AssertUnwindSafe(|| {
        SlabArc::<u64>::new_cyclic(|me| {
            kept = Some(me.clone());
            panic!("not made")
        })
    }));
    assert!(made.is_err());
    assert!(kept.expect("cloned").upgrade().is_none());
}

#[test]
fn references_come_and_go_in_many_threads() {
    for _ in 0..50 {
        let (object, dropped) = shared::<100>(3);
        let weak = SlabArc::downgrade(&object);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (strong, weak) = (object.clone(), weak.clone());
                scope.spawn(move || {
                    drop(strong);
                    while let Some(found) = weak.upgrade() {
                        assert_eq!(found.0[99], 3);
                        let _other = SlabArc::downgrade(&found.clone());
                    }
                });
            }
            drop(object);
        });
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }
}
