//! Handles against invalid values, and against frees by other threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dat_core::registry::Configuration;
use dat_core::{Close, Ia, ObjectKind, Pz, Registry};

use super::chunks::locate;
use super::{attach, get, id_allocator, kind_of, of_number, reclaim_all, with};
use crate::abi::DAT_HANDLE;
use crate::adapters;

fn open() -> Ia {
    let registry = Registry::with_id_allocator(Configuration::default(), id_allocator());
    registry.add_provider(dat_provider_loopback::provider()).unwrap();
    registry.open("loopback").unwrap()
}

fn zone(ia: &Ia) -> DAT_HANDLE {
    attach(ia.pz_create().unwrap(), adapters::table(ia))
}

#[test]
fn a_handle_leads_to_its_object_until_it_is_freed() {
    let ia = open();
    let handle = zone(&ia);
    assert_eq!(kind_of(handle), Some(ObjectKind::Pz));
    let pz: Pz = get(handle).unwrap();
    assert_eq!(of_number(pz.id()), handle);
    assert!(get::<dat_core::Ep>(handle).is_none(), "a zone is not an endpoint");
    pz.free().unwrap();
    assert!(get::<Pz>(handle).is_none());
    assert_eq!(kind_of(handle), None);
    assert!(locate(handle.addr()).is_some(), "the cell stays ours");
    ia.close(Close::Graceful).unwrap();
}

#[test]
fn no_other_value_is_a_handle() {
    let ia = open();
    let handle = zone(&ia);
    for offset in 1..32 {
        assert!(locate(handle.wrapping_byte_add(offset).addr()).is_none(), "{offset} bytes behind");
    }
    let near = [0, 1, 8, 32, 4096, 1 << 16, usize::MAX, usize::MAX & !31, 1 << 47];
    for value in near.into_iter().chain([&raw const ia as usize, open as *const () as usize & !31])
    {
        assert!(get::<Pz>(of_number(value as u64)).is_none(), "{value:#x}");
    }
    ia.close(Close::Abrupt).unwrap();
    assert!(get::<Pz>(handle).is_none(), "the close frees it");
}

#[test]
fn cells_are_used_again_oldest_first() {
    let ia = open();
    let first = zone(&ia);
    get::<Pz>(first).unwrap().free().unwrap();
    reclaim_all();
    let next = zone(&ia);
    assert_ne!(first, next, "a stale handle is caught as long as possible");
    ia.close(Close::Abrupt).unwrap();
}

#[test]
fn many_objects_have_distinct_handles() {
    let ia = open();
    let handles: Vec<_> = (0..3 * super::chunks::CELLS).map(|_| zone(&ia)).collect();
    for handle in &handles {
        assert_eq!(kind_of(*handle), Some(ObjectKind::Pz));
    }
    ia.close(Close::Abrupt).unwrap();
    reclaim_all();
    assert!(handles.iter().all(|handle| kind_of(*handle).is_none()));
}

#[test]
fn an_object_outlives_the_call_that_uses_it() {
    let ia = open();
    let handle = zone(&ia);
    let found = with(handle, |pz: &Pz| {
        pz.free().unwrap();
        // Meanwhile, frees on other threads complete.
        thread::scope(|scope| scope.spawn(reclaim_all).join().unwrap());
        pz.id()
    });
    assert_eq!(found.map(of_number), Some(handle));
    assert!(with(handle, |_: &Pz| ()).is_none());
    ia.close(Close::Graceful).unwrap();
}

#[test]
fn calls_inside_calls_find_their_objects() {
    let ia = open();
    let handle = zone(&ia);
    fn nest(handle: DAT_HANDLE, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        with(handle, |_: &Pz| 1 + nest(handle, depth - 1)).unwrap_or(0)
    }
    assert_eq!(nest(handle, 8), 8);
    ia.close(Close::Abrupt).unwrap();
}

#[test]
fn threads_race_with_frees() {
    let ia = open();
    let handles: Vec<usize> = (0..400).map(|_| zone(&ia).expose_provenance()).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut met = 0_u64;
                    while !done.load(Ordering::Relaxed) {
                        for handle in &handles {
                            let id = with(of_number(*handle as u64), Pz::id);
                            // The object found is that of the handle, or a later one in the same
                            // cell.
                            assert!(id.is_none_or(|id| id == *handle as u64));
                            met += u64::from(id.is_some());
                        }
                    }
                    met
                })
            })
            .collect();
        for handle in &handles {
            get::<Pz>(of_number(*handle as u64)).unwrap().free().unwrap();
            super::reclaim();
        }
        reclaim_all();
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    ia.close(Close::Graceful).unwrap();
}
