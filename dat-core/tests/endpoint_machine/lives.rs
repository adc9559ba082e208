//! The life of an endpoint: sequences of events.

use dat_core::table::{EpEvent, Step, step};
use dat_core::{ConnectionEventKind as Kind, EpState};
use proptest::prelude::*;

use super::model::{Model, Outcome, Phase};
use super::{agree, raised};

/// Runs the table as an endpoint does: keeps the state, and the state before an accept.
#[derive(Clone, Copy, Debug)]
struct Machine {
    state: EpState,
    before_accept: EpState,
}

impl Machine {
    /// The state after an event; `None` once the endpoint has ended.
    fn next(self, event: EpEvent) -> Option<Self> {
        let mut after = self;
        match step(self.state, event) {
            Step::Go(next, _) => {
                after.state = next;
                if event == EpEvent::Accept {
                    after.before_accept = self.state;
                }
            }
            Step::Back => after.state = self.before_accept,
            Step::End => return None,
            Step::Stay | Step::Refuse | Step::Ignore => {}
        }
        Some(after)
    }
}

fn any_event() -> impl Strategy<Value = EpEvent> {
    proptest::sample::select(EpEvent::ALL)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_life_of_an_endpoint_goes_as_the_pages_say(
        zone in any::<bool>(),
        events in proptest::collection::vec(any_event(), 0..80),
    ) {
        let mut model = Model { phase: Phase::Idle, zone };
        let mut before_accept = model;
        let mut machine = Machine { state: model.state(), before_accept: model.state() };
        for event in events {
            agree(model, event);
            let after = machine.next(event);
            match model.outcome(event) {
                Outcome::Moves(phase, _) => {
                    if phase == Phase::Accepting {
                        before_accept = model;
                    }
                    model.phase = phase;
                }
                Outcome::GetsZone => model.zone = true,
                Outcome::GoesBack => model = before_accept,
                Outcome::Ends => {
                    prop_assert!(after.is_none());
                    return Ok(());
                }
                Outcome::Allowed | Outcome::Refused | Outcome::Void => {
                    prop_assert_eq!(after.map(|it| it.state), Some(machine.state));
                }
            }
            let Some(after) = after else {
                return Err(TestCaseError::fail("it ended, and should not have"));
            };
            machine = after;
            prop_assert_eq!(machine.state, model.state());
        }
    }

    #[test]
    fn a_consumer_gets_one_outcome_per_attempt_and_per_connection(
        events in proptest::collection::vec(any_event(), 0..120),
    ) {
        let start = EpState::Unconnected;
        let mut machine = Machine { state: start, before_accept: start };
        // What the consumer must receive: the outcome of an attempt, then the end of a connection.
        let (mut attempts, mut connections) = (0_u32, 0_u32);
        for event in events {
            if let Step::Go(next, actions) = step(machine.state, event) {
                if matches!(next, EpState::ActiveConnectionPending | EpState::CompletionPending) {
                    attempts += 1;
                }
                match raised(actions) {
                    Some(Kind::Established) => {
                        prop_assert_eq!(attempts, 1);
                        (attempts, connections) = (0, 1);
                    }
                    Some(Kind::Disconnected) if attempts == 1 => attempts = 0,
                    Some(Kind::Disconnected | Kind::Broken) => {
                        prop_assert_eq!(connections, 1);
                        connections = 0;
                    }
                    Some(_) => {
                        prop_assert_eq!(attempts, 1);
                        attempts = 0;
                    }
                    None => {}
                }
                if event == EpEvent::ConnectUndone {
                    attempts = 0;
                }
            } else if matches!(step(machine.state, event), Step::Back) {
                attempts = 0;
            }
            match machine.next(event) {
                Some(after) => machine = after,
                None => return Ok(()),
            }
            let early = matches!(machine.state, EpState::Disconnected | EpState::Unconnected);
            prop_assert!(!early || (attempts, connections) == (0, 0), "something was never told");
        }
    }
}

#[test]
fn a_refused_call_changes_nothing_however_often_it_is_made() {
    for state in EpState::ALL {
        for &event in EpEvent::ALL {
            if step(state, event) == Step::Refuse {
                let machine = Machine { state, before_accept: state };
                let after = machine.next(event).and_then(|it| it.next(event));
                assert_eq!(after.map(|it| it.state), Some(state));
            }
        }
    }
}
