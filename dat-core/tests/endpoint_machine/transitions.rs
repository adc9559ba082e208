//! Rules for every transition of the table: what is refused or ignored, and the actions.

use dat_core::EpState;
use dat_core::table::{Action, EpEvent, Step, step};

/// All calls of the consumer; other events are reported to the endpoint.
const CALLS: [EpEvent; 12] = [
    EpEvent::Connect,
    EpEvent::Reserve,
    EpEvent::Accept,
    EpEvent::DisconnectGraceful,
    EpEvent::DisconnectAbrupt,
    EpEvent::Reset,
    EpEvent::Free,
    EpEvent::PostReceive,
    EpEvent::PostRequest,
    EpEvent::ModifyZone,
    EpEvent::ModifyAttributes,
    EpEvent::ModifySpecific,
];

#[test]
fn calls_are_refused_and_reports_ignored_never_the_other_way_round() {
    for state in EpState::ALL {
        for &event in EpEvent::ALL {
            match step(state, event) {
                Step::Refuse => assert!(CALLS.contains(&event), "{event:?} can't be refused"),
                Step::Ignore => assert!(!CALLS.contains(&event), "{event:?} needs an answer"),
                _ => {}
            }
        }
    }
}

#[test]
fn the_clock_runs_only_while_an_attempt_does() {
    for state in EpState::ALL {
        for &event in EpEvent::ALL {
            let Step::Go(next, actions) = step(state, event) else { continue };
            let asked = state == EpState::ActiveConnectionPending;
            let starts = actions.contains(&Action::StartAttempt);
            assert_eq!(starts, event == EpEvent::Connect, "{event:?} in {state}");
            // A time-out that has expired need not be stopped.
            if asked && next != state && event != EpEvent::ConnectTimedOut {
                assert!(actions.contains(&Action::StopClock), "{event:?} in {state}");
            }
        }
    }
}

#[test]
fn late_events_of_an_abandoned_attempt_are_void() {
    let given_up =
        [EpEvent::DisconnectGraceful, EpEvent::DisconnectAbrupt, EpEvent::ConnectTimedOut];
    for state in [EpState::ActiveConnectionPending, EpState::CompletionPending] {
        for event in given_up {
            if let Step::Go(next, actions) = step(state, event) {
                assert_eq!(next, EpState::Disconnected);
                assert!(actions.contains(&Action::AbortAttempt), "{event:?} in {state}");
                // Outstanding receives are flushed before the event that reports the end.
                let abort = actions.iter().position(|it| *it == Action::AbortAttempt);
                let raise = actions.iter().position(|it| matches!(it, Action::Raise(_)));
                assert!(abort < raise, "{event:?} in {state}");
            }
        }
    }
}

#[test]
fn only_the_calls_that_say_so_close_or_reset_a_connection() {
    for state in EpState::ALL {
        for &event in EpEvent::ALL {
            let Step::Go(_, actions) = step(state, event) else { continue };
            for action in actions {
                let caller = match action {
                    Action::CloseGracefully => EpEvent::DisconnectGraceful,
                    Action::CloseAbruptly => EpEvent::DisconnectAbrupt,
                    Action::ResetQueuePair => EpEvent::Reset,
                    _ => continue,
                };
                assert_eq!(event, caller, "{action:?} in {state}");
            }
        }
    }
}
