//! The slots of the page of another process, as `dat top` reads them: what is shown has no control characters, each
//! object is shown once for each slot at most, and counters belong to objects that are shown.

#![cfg_attr(fuzzing, no_main)]

use std::collections::HashSet;

use dat_core::counters::Sizes;
use dat_core::monitor::{SLOT_LENGTH, view_of};

fn run(bytes: &[u8]) {
    let view = view_of(bytes);
    let slots = bytes.len() / SLOT_LENGTH;
    let adapters = &view.adapters;
    let rows = adapters.len() + view.connections.len() + view.dispatchers.len();
    assert!(rows <= slots, "{rows} rows of {slots} slots");
    let texts = adapters.iter().flat_map(|adapter| [&adapter.name, &adapter.trouble]);
    let texts = texts.chain(
        view.connections
            .iter()
            .flat_map(|connection| [&connection.peer, &connection.transport, &connection.reader]),
    );
    for text in texts {
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    for connection in &view.connections {
        let mut operations = HashSet::new();
        for sizes in &connection.sizes {
            assert!(operations.insert(sizes.operation), "{connection:?}");
            assert!(
                sizes.counts.iter().all(|(bucket, count)| *bucket < Sizes::BUCKETS && *count > 0)
            );
        }
    }
    let mut dispatchers = HashSet::new();
    for dispatcher in &view.dispatchers {
        assert!(dispatchers.insert((dispatcher.ia, dispatcher.evd)), "{dispatcher:?}");
        assert!(dispatcher.counters.iter().all(|(_, value)| *value > 0));
    }
    let _ = format!("{view:?}");
}

dat_fuzz_targets::target!(run);
