//! The states that can be reached from others.

use std::collections::BTreeSet;

use dat_core::EpState;
use dat_core::table::{EpEvent, Step, step};

/// The states reachable from given ones, in steps that the events allow.
fn reachable(from: &[EpState], events: &[EpEvent]) -> BTreeSet<EpState> {
    let mut found: BTreeSet<EpState> = from.iter().copied().collect();
    let mut open: Vec<EpState> = from.to_vec();
    while let Some(state) = open.pop() {
        for &event in events {
            if let Step::Go(next, _) = step(state, event) {
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
    }
    found
}

pub(super) const STARTS: [EpState; 2] = [EpState::Unconnected, EpState::UnconfiguredUnconnected];

#[test]
fn every_state_is_reached_from_a_new_endpoint() {
    let all: BTreeSet<EpState> = EpState::ALL.into_iter().collect();
    assert_eq!(reachable(&STARTS, EpEvent::ALL), all);
}

#[test]
fn without_a_zone_no_state_is_reached_that_needs_one() {
    let events: Vec<EpEvent> =
        EpEvent::ALL.iter().copied().filter(|event| *event != EpEvent::Configured).collect();
    for state in reachable(&[EpState::UnconfiguredUnconnected], &events) {
        assert!(state.is_unconfigured(), "{state}");
    }
}

#[test]
fn what_the_transport_reports_never_leads_out_of_a_state_without_an_attempt() {
    let transport = [
        EpEvent::Established,
        EpEvent::EstablishedMultiPath,
        EpEvent::PathLost,
        EpEvent::PathGained,
        EpEvent::PeerRejected,
        EpEvent::NonPeerRejected,
        EpEvent::Unreachable,
        EpEvent::TransportTimedOut,
        EpEvent::ConnectTimedOut,
        EpEvent::AcceptFailed,
        EpEvent::Disconnected,
        EpEvent::Broken,
    ];
    let quiet = EpState::ALL.into_iter().filter(|state| {
        state.is_unconfigured()
            || matches!(
                state,
                EpState::Unconnected
                    | EpState::Reserved
                    | EpState::PassiveConnectionPending
                    | EpState::TentativeConnectionPending
                    | EpState::Disconnected
            )
    });
    for state in quiet {
        for event in transport {
            assert_eq!(step(state, event), Step::Ignore, "{event:?} in {state}");
        }
    }
}

#[test]
fn from_every_state_a_consumer_can_come_to_a_new_connection_and_to_the_end() {
    for state in EpState::ALL {
        let found = reachable(&[state], EpEvent::ALL);
        assert!(found.contains(&EpState::Connected), "no way from {state}");
        assert!(found.iter().any(|it| step(*it, EpEvent::Free) == Step::End), "no end of {state}");
    }
}
