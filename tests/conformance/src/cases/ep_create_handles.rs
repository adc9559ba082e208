//! Handles that dat_ep_create(3DAT) refuses. A failed call leaves nothing in use.

use std::sync::atomic::Ordering;

use crate::fault_provider;
use crate::prelude::*;

cases! {
    "dat_ep_create(3DAT)":
        a_dispatcher_of_the_wrong_streams_is_refused,
        a_dispatcher_with_additional_streams_is_accepted,
        a_dispatcher_of_another_instance_is_refused,
        a_freed_dispatcher_is_refused,
        a_zone_of_another_instance_is_refused,
        a_freed_zone_is_refused,
        a_closed_adapter_is_refused,
        a_failure_of_the_provider_leaves_nothing_in_use,
        a_late_failure_leaves_nothing_in_use;
    "dat_ep_create_with_srq(3DAT)":
        a_shared_receive_queue_that_is_freed_or_of_another_instance_is_refused;
}

type Give = fn(EpSpec, &Evd) -> EpSpec;

const USES: [(Give, EvdFlags, Subtype); 3] = [
    (|spec, evd| spec.recv_evd(evd), EvdFlags::DTO, Subtype::InvalidHandleEvdRecv),
    (|spec, evd| spec.request_evd(evd), EvdFlags::DTO, Subtype::InvalidHandleEvdRequest),
    (|spec, evd| spec.connect_evd(evd), EvdFlags::CONNECTION, Subtype::InvalidHandleEvdConn),
];

#[track_caller]
fn not_made(ia: &Ia, spec: &EpSpec, subtype: Subtype) {
    let error = refused(ia.ep_create(spec), subtype);
    let suffix = if subtype == Subtype::InvalidHandleSrq { "_with_srq" } else { "" };
    assert_eq!(error.operation(), format!("dat_ep_create{suffix}"));
}

fn a_dispatcher_of_the_wrong_streams_is_refused() {
    let node = Node::new();
    for (give, needed, subtype) in USES {
        let wrong = node.evd(EvdFlags::all() - needed);
        not_made(&node.ia, &give(EpSpec::new(&node.pz), &wrong), subtype);
        not_made(&node.ia, &give(node.spec(), &wrong), subtype);
        wrong.free().expect("the failure left it unused");
    }
    node.finish();
}

fn a_dispatcher_with_additional_streams_is_accepted() {
    let node = Node::new();
    for (give, _, _) in USES {
        let merged = node.evd(EvdFlags::all());
        let ep = node.ep_of(&give(EpSpec::new(&node.pz), &merged));
        free_all(&[&ep, &merged]);
    }
    node.finish();
}

fn a_dispatcher_of_another_instance_is_refused() {
    let node = Node::new();
    let other = open("");
    for (give, needed, subtype) in USES {
        let foreign = other.evd_create(&EvdOptions::new(8, needed)).expect("a dispatcher");
        not_made(&node.ia, &give(node.spec(), &foreign), subtype);
        foreign.free().expect("the failure left it unused");
    }
    other.close(Close::Graceful).expect("nothing is left");
    node.finish();
}

fn a_freed_dispatcher_is_refused() {
    let node = Node::new();
    for (give, needed, subtype) in USES {
        let freed = node.freed_evd(needed);
        not_made(&node.ia, &give(node.spec(), &freed), subtype);
    }
    node.finish();
}

fn a_zone_of_another_instance_is_refused() {
    let (node, other) = (Node::new(), Node::new());
    let spec = EpSpec::new(&other.pz).recv_evd(&node.recv).connect_evd(&node.connect);
    not_made(&node.ia, &spec, Subtype::InvalidHandlePz);
    finish_all([node, other]);
}

fn a_freed_zone_is_refused() {
    let node = Node::new();
    let freed = node.freed_pz();
    not_made(&node.ia, &EpSpec::new(&freed).recv_evd(&node.recv), Subtype::InvalidHandlePz);
    node.finish();
}

fn a_shared_receive_queue_that_is_freed_or_of_another_instance_is_refused() {
    let (node, other) = (Node::new(), Node::new());
    let foreign = other.srq(4);
    not_made(&node.ia, &node.spec().srq(&foreign), Subtype::InvalidHandleSrq);
    foreign.free().expect("the failure left it unused");
    let freed = node.srq(4);
    freed.free().expect("unused");
    not_made(&node.ia, &node.spec().srq(&freed), Subtype::InvalidHandleSrq);
    finish_all([node, other]);
}

fn a_closed_adapter_is_refused() {
    for how in [Close::Graceful, Close::Abrupt] {
        let node = Node::new();
        let (ia, spec) = (node.ia.clone(), node.spec());
        if how == Close::Graceful {
            node.finish();
        } else {
            ia.close(how).expect("abrupt closes always work");
        }
        not_made(&ia, &spec, Subtype::InvalidHandleIa);
    }
}

fn a_failure_of_the_provider_leaves_nothing_in_use() {
    let (ia, faults) = fault_provider::open_with_faults("max_eps=1", |_| ());
    let node = Node::on(ia);
    let srq = node.srq(4);
    faults.no_queue_pairs.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        let result = node.ia.ep_create(&node.spec().srq(&srq));
        refused_naming(result, Subtype::ResourceDevice, "queue pair");
    }
    // The failure left no reference, no bound stream, and did not count as an endpoint.
    faults.no_queue_pairs.store(false, Ordering::Relaxed);
    let ep = node.ep_with(|it| {
        it.recv_completion_flags = CompletionFlags::UNSIGNALLED;
        it.request_completion_flags = CompletionFlags::UNSIGNALLED;
    });
    node.finish_with(&[&ep, &srq]);
}

fn a_late_failure_leaves_nothing_in_use() {
    let node = Node::new();
    let freed = node.freed_evd(EvdFlags::CONNECTION);
    // Only the last handle is wrong.
    not_made(&node.ia, &node.spec().connect_evd(&freed), Subtype::InvalidHandleEvdConn);
    // All handles are valid, but the attributes are not.
    assert!(node.ia.ep_create(&node.spec_with(|it| it.max_recv_dtos = u32::MAX)).is_err());
    node.finish();
}
