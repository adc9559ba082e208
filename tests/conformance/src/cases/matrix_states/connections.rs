//! Calls that establish, await or end a connection, and those that free or reset an endpoint.

use super::scene::Scene;
use super::table;
use super::trial::{Outcome, nothing_more, subtype, try_everywhere};
use crate::prelude::*;

/// A qualifier that `ep_states` does not use.
const QUALIFIER: u64 = 7_801;

pub(super) fn connect() {
    let call = |scene: &Scene| {
        scene.ep().connect(&Connect::to(scene.node.address(), scene.psp.qualifier()))
    };
    try_everywhere(table::CONNECT, call, a_request_arrived);
}

fn a_request_arrived(scene: &Scene, _: EpState, _: Outcome) {
    expect_request(&scene.node.requests);
}

pub(super) fn dup_connect() {
    for (from, outcome) in STATES.into_iter().zip(table::CONNECT) {
        let scene = Scene::new(from);
        let (client, server) = scene.node.pair();
        let before = scene.snapshot();
        let ep = scene.ep();
        let result = ep.dup_connect(&client, Timeout::Infinite, b"", Default::default());
        if outcome == Outcome::Refused {
            refused(result, subtype(from));
            scene.untouched(&before, from.name());
        } else {
            result.unwrap_or_else(|error| panic!("{from}: {error}"));
            // The service point to which the pair connected is freed.
            expect_connection(&scene.node.connect, ep, ConnectionEventKind::NonPeerRejected);
            assert_eq!(state(ep), EpState::Disconnected);
        }
        assert_eq!((state(&client), state(&server)), (EpState::Connected, EpState::Connected));
        scene.close();
    }
}

pub(super) fn dup_connect_of() {
    let call = |scene: &Scene| {
        let other = scene.ep();
        scene.spare.dup_connect(other, Timeout::Infinite, b"", Default::default())
    };
    try_everywhere(table::DUP_CONNECT_OF, call, |scene, _, _| {
        // The duplicate goes to the same qualifier, whose service point is freed.
        let kind = ConnectionEventKind::NonPeerRejected;
        expect_connection(&scene.node.connect, &scene.spare, kind);
        assert_eq!(state(&scene.spare), EpState::Disconnected);
    });
}

pub(super) fn dup_connect_of_the_passive_side() {
    let scene = Scene::new(EpState::Connected);
    let before = scene.snapshot();
    let passive = scene.staged.peer.as_ref().expect("a connection has two sides");
    let result = scene.spare.dup_connect(passive, Timeout::Infinite, b"", Default::default());
    // The passive side has no connection qualifier to duplicate.
    refused(result, Subtype::InvalidStateEpConnected);
    scene.untouched(&before, "the passive side");
    scene.close();
}

pub(super) fn common_connect() {
    let call = |scene: &Scene| {
        let place = scene.csp().query().expect("live").address;
        // Skips the case if the adapter has no IP address to connect to.
        let _ = scene.node.ip();
        scene.ep().common_connect(place, Timeout::Infinite, b"")
    };
    try_everywhere(table::CONNECT, call, a_request_arrived);
}

pub(super) fn disconnect_gracefully() {
    let call = |scene: &Scene| scene.ep().disconnect(Close::Graceful);
    try_everywhere(table::GRACEFUL, call, one_disconnected_event);
}

pub(super) fn disconnect_abruptly() {
    let call = |scene: &Scene| scene.ep().disconnect(Close::Abrupt);
    try_everywhere(table::ABRUPT, call, one_disconnected_event);
}

fn one_disconnected_event(scene: &Scene, _: EpState, outcome: Outcome) {
    if outcome == Outcome::Nothing {
        return;
    }
    let events = || drain(&scene.node.connect).into_iter();
    let mut of_ep = 0;
    until("the event of the disconnect", || {
        of_ep += events()
            .filter(|event| match event {
                Event::Connection(event) if event.ep == scene.ep().id() => {
                    assert_eq!(event.kind, ConnectionEventKind::Disconnected);
                    true
                }
                _ => false,
            })
            .count();
        of_ep > 0
    });
    assert_eq!(of_ep, 1);
    let status = scene.ep().status().expect("live");
    assert!(status.recv_idle && status.request_idle, "{status:?}");
}

pub(super) fn reset() {
    let call = |scene: &Scene| scene.ep().reset();
    try_everywhere(table::RESET, call, |scene, _, _| {
        let param = scene.ep().query().expect("live");
        assert_eq!(param.remote_address, None);
    });
}

pub(super) fn free() {
    let call = |scene: &Scene| scene.ep().free();
    try_everywhere(table::FREE, call, nothing_more);
}

pub(super) fn rsp_create() {
    let call = |scene: &Scene| {
        let Node { ia, requests, .. } = &scene.node;
        let rsp = ia.rsp_create(QUALIFIER, Some(scene.ep()), requests)?;
        assert_eq!(rsp.query()?.ep, *scene.ep());
        *scene.rsp.borrow_mut() = Some(rsp);
        Ok(())
    };
    try_everywhere(table::RSP_CREATE, call, |scene, from, _| {
        let rsp = scene.rsp.take().expect("made");
        rsp.free().expect("live");
        assert_eq!(state(scene.ep()), from, "it is given back");
    });
}

pub(super) fn accept() {
    let call = |scene: &Scene| scene.request.accept(Some(scene.ep()), b"");
    try_everywhere(table::ACCEPT, call, |scene, _, _| {
        until("the other side is connected", || state(&scene.asking) == EpState::Connected);
        refused(scene.request.query(), Subtype::InvalidHandleCr);
    });
}

/// A refused accept leaves the request valid: another endpoint can accept it.
pub(super) fn accept_on_the_endpoint_of_the_request() {
    for (from, works) in [
        (EpState::PassiveConnectionPending, true),
        (EpState::TentativeConnectionPending, true),
        (EpState::UnconfiguredPassive, false),
    ] {
        let scene = Scene::new(from);
        let own = scene.staged.request.as_ref().expect("it waits");
        if !works {
            let before = scene.snapshot();
            refused(own.accept(None, b""), subtype(from));
            scene.untouched(&before, from.name());
            scene.ep().modify(&EpUpdate::new().pz(&scene.node.pz)).expect("it needs a zone");
        }
        own.accept(None, b"").unwrap_or_else(|error| panic!("{from}: {error}"));
        until("the connection is established", || state(scene.ep()) == EpState::Connected);
        refused(own.query(), Subtype::InvalidHandleCr);
        scene.close();
    }
}
