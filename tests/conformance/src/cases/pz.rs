//! Protection zones (dat_pz_create(3DAT), dat_pz_free(3DAT)).

use crate::prelude::*;

cases! {
    "dat_pz_create(3DAT)":
        the_number_of_zones_is_limited_and_a_free_makes_one_available;
    "dat_pz_free(3DAT)":
        a_freed_zone_is_refused,
        a_zone_in_use_is_not_freed;
    "reading: dropping the last handle frees an object":
        a_zone_can_be_freed_after_its_users_are_dropped,
        a_dropped_zone_lives_as_long_as_its_users;
    "dat_pz_query(3DAT)":
        a_query_returns_the_adapter;
}

fn the_number_of_zones_is_limited_and_a_free_makes_one_available() {
    let ia = open("max_pzs=2");
    let first = ia.pz_create().expect("within the limit");
    let _second = ia.pz_create().expect("within the limit");
    refused(ia.pz_create(), Subtype::ResourceProtectionDomain);
    first.free().expect("unused");
    let third = ia.pz_create().expect("within the limit again");
    refused(ia.pz_create(), Subtype::ResourceProtectionDomain);
    drop(third);
    ia.pz_create().expect("within the limit again");
}

fn a_freed_zone_is_refused() {
    let ia = open("");
    let pz = ia.pz_create().expect("made");
    let clone = pz.clone();
    assert_eq!(pz, clone);
    clone.free().expect("unused");
    assert!(!pz.is_live());
    refused(pz.free(), Subtype::InvalidHandlePz);
    ia.close(Close::Graceful).expect("the handles that are left count for nothing");
}

fn a_zone_in_use_is_not_freed() {
    let node = Node::new();
    let ep = node.ep_of(&EpSpec::new(&node.pz));
    refused(node.pz.free(), Subtype::InvalidStatePzInUse);
    ep.free().expect("unconnected");
    let buffer = node.buffer(8);
    refused(node.pz.free(), Subtype::InvalidStatePzInUse);
    buffer.lmr.free().expect("unused");
    if node.has_rmrs() {
        let rmr = node.rmr();
        refused(node.pz.free(), Subtype::InvalidStatePzInUse);
        rmr.free().expect("live");
    }
    let srq = node.srq(1);
    refused(node.pz.free(), Subtype::InvalidStatePzInUse);
    assert!(node.pz.is_live());
    free_all(&[&srq, &node.pz]);
    node.finish();
}

fn a_zone_can_be_freed_after_its_users_are_dropped() {
    let node = Node::new();
    let ep = node.ep_of(&EpSpec::new(&node.pz));
    let Buffer { lmr, .. } = node.buffer(8);
    let rmr = node.has_rmrs().then(|| node.rmr());
    drop((ep, lmr, rmr));
    node.pz.free().expect("unused now");
    node.finish();
}

fn a_dropped_zone_lives_as_long_as_its_users() {
    let node = Node::new();
    let (pz, buffer) = node.elsewhere(8);
    let id = pz.id();
    drop(pz);
    let found = buffer.lmr.query().expect("live").pz;
    assert_eq!(found.id(), id);
    refused(found.free(), Subtype::InvalidStatePzInUse);
    node.finish_with(&[&buffer, &found]);
}

fn a_query_returns_the_adapter() {
    let (one, two) = (Node::new(), Node::new());
    assert_eq!(one.pz.adapter(), one.ia);
    assert_ne!(one.pz.adapter(), two.ia);
    finish_all([one, two]);
}
