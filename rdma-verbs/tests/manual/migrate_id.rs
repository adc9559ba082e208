//! rdma_migrate_id(3).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdma_verbs::cm::{CmId, EventKind, PortSpace};

use crate::common::*;

#[test]
fn events_arrive_on_the_new_channel() {
    with_device(|address| {
        let (before, after) = (new_channel(), new_channel());
        let id = CmId::new(&before, 1, PortSpace::Tcp).expect("an identifier");
        id.migrate(Some(&after)).expect("moved");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        assert_eq!(expect(&after, EventKind::AddressResolved).key, 1);
    });
}

#[test]
fn a_channel_is_optional() {
    with_device(|_| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.migrate(None).expect("synchronous");
        assert!(id.is_synchronous());
        id.migrate(Some(&channel)).expect("asynchronous");
        assert!(!id.is_synchronous());
    });
}

#[test]
fn a_migration_to_the_same_channel_changes_nothing() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        // Also if the library refuses it, the events arrive on that channel.
        if let Err(error) = id.migrate(Some(&channel)) {
            assert_ne!(error.errno, 0);
        }
        id.resolve_address(None, address, LIMIT).expect("it begins");
        expect(&channel, EventKind::AddressResolved);
    });
}

#[test]
fn events_that_were_not_taken_move_to_the_new_channel() {
    with_device(|address| {
        let (before, after) = (new_channel(), new_channel());
        let id = CmId::new(&before, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        std::thread::sleep(Duration::from_millis(300));
        id.migrate(Some(&after)).expect("moved");
        assert_eq!(expect(&after, EventKind::AddressResolved).key, 1);
        before.set_nonblocking().expect("its descriptor");
        assert!(before.take_event().expect_err("moved").would_block());
    });
}

#[test]
fn calls_of_other_threads_wait_for_a_migration() {
    with_device(|address| {
        let (one, other) = (new_channel(), new_channel());
        let id = CmId::new(&one, 1, PortSpace::Tcp).expect("an identifier");
        id.bind(address).expect("the device's own address");
        let stop = Arc::new(AtomicBool::new(false));
        let caller = {
            let (id, stop) = (id.clone(), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut calls = 0;
                loop {
                    id.set_type_of_service(0x10).expect("an option");
                    calls += 1;
                    if stop.load(Ordering::Relaxed) {
                        break calls;
                    }
                }
            })
        };
        for _ in 0..20 {
            id.migrate(Some(&other)).expect("moved");
            id.migrate(Some(&one)).expect("moved");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(caller.join().expect("the other thread") > 0);
    });
}

#[test]
fn events_that_were_taken_do_not_hold_up_a_migration() {
    with_device(|address| {
        let (before, after) = (new_channel(), new_channel());
        let id = CmId::new(&before, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        let event = expect(&before, EventKind::AddressResolved);
        // In C the migration would wait until the program acknowledges this event.
        id.migrate(Some(&after)).expect("moved");
        assert_eq!(event.key, 1);
    });
}

#[test]
fn an_identifier_without_a_channel_is_synchronous() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.migrate(None).expect("synchronous");
        assert!(id.is_synchronous());
        id.resolve_address(None, address, LIMIT).expect("resolved");
        assert_eq!(id.last_event().expect("kept").kind, EventKind::AddressResolved);
    });
}

#[test]
fn every_call_blocks_after_the_channel_is_removed() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.migrate(None).expect("synchronous");
        id.resolve_address(None, address, LIMIT).expect("resolved");
        assert!(id.context().is_some(), "it is bound when the call returns");
        id.resolve_route(LIMIT).expect("resolved");
        assert_eq!(id.last_event().expect("kept").kind, EventKind::RouteResolved);
    });
}
