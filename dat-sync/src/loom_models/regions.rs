//! The region table: a lookup while slots are freed and reused returns a region as it was inserted,
//! with its own context and owner, or nothing.

use std::sync::Arc;

use loom::thread;

use super::large_model;
use crate::region_table::{Region, RegionTable};

/// A region whose fields all identify it.
fn region(number: u32) -> Region {
    let start = u64::from(number) * 100;
    let access = [1, 2][number as usize % 2];
    Region { address: start, length: start, owner: number, value: start, access }
}

/// Looks a region up in both ways, while other threads change the table.
fn look(table: &RegionTable, context: u32, number: u32) {
    let it = region(number);
    assert!(table.get(context).is_none_or(|found| found == it), "another region was found");
    let found = table.find(context, it.owner, it.access, it.address, it.length);
    assert!(found.is_none_or(|value| value == it.value), "the value of another region");
    let other = region(number + 1);
    let found = table.find(context, other.owner, other.access, other.address, other.length);
    assert_eq!(found, None, "the other region was found under this one's context");
}

#[test]
fn a_region_is_found_as_inserted_or_not_at_all() {
    large_model(|| {
        let table = Arc::new(RegionTable::new());
        let context = table.insert(region(1)).expect("room");
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || {
                assert!(table.remove(context));
                assert_eq!(table.get(context), None, "it was removed");
                let next = table.insert(region(2)).expect("room");
                assert_ne!(next, context);
                assert_eq!(table.get(next), Some(region(2)));
            })
        };
        look(&table, context, 1);
        // The next context of the slot, before it has been handed out.
        look(&table, context + 1, 2);
        writer.join().expect("no panic");
    });
}

#[test]
fn slots_that_one_thread_frees_and_another_takes_show_no_mixed_region() {
    large_model(|| {
        let table = Arc::new(RegionTable::new());
        let context = table.insert(region(1)).expect("room");
        let writers = [
            {
                let table = Arc::clone(&table);
                thread::spawn(move || assert!(table.remove(context)))
            },
            {
                let table = Arc::clone(&table);
                thread::spawn(move || {
                    // The slot of the first region or a fresh one, depending on the interleaving.
                    let _ = table.insert(region(2)).expect("room");
                })
            },
        ];
        look(&table, context, 1);
        for writer in writers {
            writer.join().expect("no panic");
        }
    });
}
