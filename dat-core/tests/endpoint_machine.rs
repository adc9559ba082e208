//! The endpoint state machine against a model of the manual pages.
//!
//! The model is independent of the table: an endpoint is in a phase, and has a protection zone or
//! not. The effect of each call and each report of the transport is written down once, by phase, as
//! stated by the pages of dat_ep_connect(3DAT), dat_ep_disconnect(3DAT), dat_ep_free(3DAT),
//! dat_ep_modify(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_send(3DAT), dat_ep_reset(3DAT),
//! dat_cr_accept(3DAT), dat_cr_reject(3DAT), dat_psp_create(3DAT), dat_rsp_create(3DAT) and
//! dat_rsp_free(3DAT).
//!
//! `docs/endpoint-states.md` is generated here, from the table; with `DAT_BLESS=1` in the
//! environment the test writes it, otherwise it compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use dat_core::table::{Action, EpEvent, Step, step};
use dat_core::{ConnectionEventKind as Kind, EpState};
use proptest::prelude::*;

/// The phase of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Created or reset.
    Idle,
    /// The endpoint of a reserved service point.
    Reserved,
    /// Its request, on a reserved service point, waits for the consumer's answer.
    Passive,
    /// Its request, for which the provider created the endpoint, waits for the consumer's answer.
    Tentative,
    /// The consumer requested a connection.
    Asking,
    /// The consumer accepted a request.
    Accepting,
    /// The connection is established.
    Up(Paths),
    /// The consumer ended the connection, and posted operations finish.
    Closing,
    /// The connection or the attempt has ended.
    Down,
}

/// The paths of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paths {
    Plain,
    OneLeft,
    Several,
}

/// An endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Model {
    phase: Phase,
    zone: bool,
}

/// The outcome of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It enters that phase, and the consumer may receive an event.
    Moves(Phase, Option<Kind>),
    /// It receives its zone.
    GetsZone,
    /// It returns to the phase before the accept.
    GoesBack,
    /// It ends.
    Ends,
    /// The call is allowed and does not change the state.
    Allowed,
    /// `DAT_INVALID_STATE`.
    Refused,
    /// The report is too late, too early, or impossible.
    Void,
}

impl Model {
    /// No connection has been requested or accepted yet.
    fn is_early(self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Reserved | Phase::Passive | Phase::Tentative)
    }

    fn has_request(self) -> bool {
        matches!(self.phase, Phase::Passive | Phase::Tentative)
    }

    fn state(self) -> EpState {
        match (self.phase, self.zone) {
            (Phase::Idle, true) => EpState::Unconnected,
            (Phase::Idle, false) => EpState::UnconfiguredUnconnected,
            (Phase::Reserved, true) => EpState::Reserved,
            (Phase::Reserved, false) => EpState::UnconfiguredReserved,
            (Phase::Passive, true) => EpState::PassiveConnectionPending,
            (Phase::Passive, false) => EpState::UnconfiguredPassive,
            (Phase::Tentative, true) => EpState::TentativeConnectionPending,
            (Phase::Tentative, false) => EpState::UnconfiguredTentative,
            (Phase::Asking, _) => EpState::ActiveConnectionPending,
            (Phase::Accepting, _) => EpState::CompletionPending,
            (Phase::Up(Paths::Plain), _) => EpState::Connected,
            (Phase::Up(Paths::OneLeft), _) => EpState::ConnectedSinglePath,
            (Phase::Up(Paths::Several), _) => EpState::ConnectedMultiPath,
            (Phase::Closing, _) => EpState::DisconnectPending,
            (Phase::Down, _) => EpState::Disconnected,
        }
    }

    /// Every possible endpoint.
    fn all() -> impl Iterator<Item = Self> {
        let early = [Phase::Idle, Phase::Reserved, Phase::Passive, Phase::Tentative];
        let late = [
            Phase::Asking,
            Phase::Accepting,
            Phase::Up(Paths::Plain),
            Phase::Up(Paths::OneLeft),
            Phase::Up(Paths::Several),
            Phase::Closing,
            Phase::Down,
        ];
        let without = early.into_iter().map(|phase| Self { phase, zone: false });
        without.chain(early.into_iter().chain(late).map(|phase| Self { phase, zone: true }))
    }

    fn call(allowed: bool) -> Outcome {
        if allowed { Outcome::Allowed } else { Outcome::Refused }
    }

    fn moves_if(allowed: bool, phase: Phase) -> Outcome {
        if allowed { Outcome::Moves(phase, None) } else { Outcome::Refused }
    }

    fn reported_if(possible: bool, phase: Phase, told: Option<Kind>) -> Outcome {
        if possible { Outcome::Moves(phase, told) } else { Outcome::Void }
    }

    fn outcome(self, event: EpEvent) -> Outcome {
        use EpEvent as E;
        use Phase as P;
        let phase = self.phase;
        match event {
            // Calls of the consumer.
            E::Connect => Self::moves_if(phase == P::Idle && self.zone, P::Asking),
            E::Reserve => Self::moves_if(phase == P::Idle, P::Reserved),
            E::Accept => {
                let may = phase == P::Idle || self.has_request();
                Self::moves_if(may && self.zone, P::Accepting)
            }
            E::DisconnectGraceful | E::DisconnectAbrupt => match phase {
                P::Asking | P::Accepting => Outcome::Moves(P::Down, Some(Kind::Disconnected)),
                P::Up(_) => Outcome::Moves(P::Closing, None),
                P::Closing if event == E::DisconnectAbrupt => Outcome::Moves(P::Closing, None),
                P::Closing | P::Down => Outcome::Allowed,
                _ => Outcome::Refused,
            },
            E::Reset => match phase {
                P::Down => Outcome::Moves(P::Idle, None),
                _ => Self::call(phase == P::Idle),
            },
            E::Free => match phase {
                P::Reserved | P::Passive | P::Tentative => Outcome::Refused,
                _ => Outcome::Ends,
            },
            E::PostReceive => Self::call(self.zone),
            E::PostRequest => Self::call(matches!(phase, P::Up(_) | P::Down)),
            E::ModifyZone => {
                let quiescent = matches!(phase, P::Idle | P::Tentative);
                Self::call(quiescent || !self.zone)
            }
            E::ModifyAttributes => Self::call(self.is_early()),
            E::ModifySpecific => Self::call(phase == P::Idle),

            // Consequences of calls.
            E::ConnectUndone => Self::reported_if(phase == P::Asking, P::Idle, None),
            E::AcceptUndone if phase == P::Accepting => Outcome::GoesBack,
            E::AcceptUndone => Outcome::Void,
            E::Release => Self::reported_if(phase == P::Reserved, P::Idle, None),
            E::Reject => Self::reported_if(self.has_request(), P::Idle, None),
            E::Configured if !self.zone => Outcome::GetsZone,
            E::Configured if self.is_early() => Outcome::Allowed,
            E::Configured => Outcome::Void,

            // Reports of the service point, the transport and the timer.
            E::RequestArrived => match phase {
                P::Reserved => Outcome::Moves(P::Passive, None),
                P::Idle => Outcome::Moves(P::Tentative, None),
                _ => Outcome::Void,
            },
            E::Established => self.established(Paths::Plain),
            E::EstablishedMultiPath => self.established(Paths::Several),
            E::PathLost => {
                let several = phase == P::Up(Paths::Several);
                Self::reported_if(several, P::Up(Paths::OneLeft), None)
            }
            E::PathGained => {
                let one = phase == P::Up(Paths::OneLeft);
                Self::reported_if(one, P::Up(Paths::Several), None)
            }
            E::PeerRejected => self.fails(Kind::PeerRejected),
            E::NonPeerRejected => self.fails(Kind::NonPeerRejected),
            E::Unreachable => self.fails(Kind::Unreachable),
            E::TransportTimedOut => self.fails(Kind::TimedOut),
            E::AcceptFailed => self.fails(Kind::NonPeerRejected),
            E::ConnectTimedOut => {
                Self::reported_if(phase == P::Asking, P::Down, Some(Kind::TimedOut))
            }
            E::HardWatermark => {
                let stands = matches!(phase, P::Up(_));
                Self::reported_if(stands, P::Down, Some(Kind::Broken))
            }
            E::Disconnected => self.over(Kind::Disconnected),
            E::Broken => self.over(Kind::Broken),
        }
    }

    fn established(self, paths: Paths) -> Outcome {
        let awaited = matches!(self.phase, Phase::Asking | Phase::Accepting);
        Self::reported_if(awaited, Phase::Up(paths), Some(Kind::Established))
    }

    /// The attempt failed: the active side learns the reason, the passive side that its accept
    /// could not be completed.
    fn fails(self, why: Kind) -> Outcome {
        match self.phase {
            Phase::Asking => Outcome::Moves(Phase::Down, Some(why)),
            Phase::Accepting => Outcome::Moves(Phase::Down, Some(Kind::AcceptCompletionError)),
            _ => Outcome::Void,
        }
    }

    /// The connection is over; if it was never established, the attempt failed.
    fn over(self, how: Kind) -> Outcome {
        match self.phase {
            Phase::Up(_) | Phase::Closing => Outcome::Moves(Phase::Down, Some(how)),
            _ => self.fails(Kind::NonPeerRejected),
        }
    }
}

/// The connection event among the actions, of which there is at most one.
fn raised(actions: &[Action]) -> Option<Kind> {
    let kinds: Vec<Kind> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Raise(kind) => Some(*kind),
            _ => None,
        })
        .collect();
    assert!(kinds.len() <= 1, "several events for one transition: {kinds:?}");
    kinds.first().copied()
}

/// Checks one cell of the table against the model.
fn agree(model: Model, event: EpEvent) {
    let (state, outcome) = (model.state(), model.outcome(event));
    let taken = step(state, event);
    let as_said = match (outcome, taken) {
        (Outcome::Moves(phase, told), Step::Go(next, actions)) => {
            Model { phase, ..model }.state() == next && raised(actions) == told
        }
        (Outcome::GetsZone, Step::Go(next, actions)) => {
            Model { zone: true, ..model }.state() == next && actions.is_empty()
        }
        (Outcome::GoesBack, Step::Back)
        | (Outcome::Ends, Step::End)
        | (Outcome::Allowed, Step::Stay)
        | (Outcome::Refused, Step::Refuse)
        | (Outcome::Void, Step::Ignore) => true,
        _ => false,
    };
    assert!(as_said, "{state}, {event:?}: the pages say {outcome:?}, the table {taken:?}");
}

#[test]
fn the_model_has_every_state_once() {
    let states: BTreeSet<EpState> = Model::all().map(Model::state).collect();
    assert_eq!(states, EpState::ALL.into_iter().collect());
    assert_eq!(Model::all().count(), EpState::ALL.len());
}

#[test]
fn every_cell_of_the_table_is_what_the_pages_say() {
    for model in Model::all() {
        for &event in EpEvent::ALL {
            agree(model, event);
        }
    }
}

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

const STARTS: [EpState; 2] = [EpState::Unconnected, EpState::UnconfiguredUnconnected];

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

/// The short name of a state, for the columns of the table.
fn code(state: EpState) -> &'static str {
    match state {
        EpState::Unconnected => "U",
        EpState::UnconfiguredUnconnected => "U-",
        EpState::Reserved => "R",
        EpState::UnconfiguredReserved => "R-",
        EpState::PassiveConnectionPending => "P",
        EpState::UnconfiguredPassive => "P-",
        EpState::ActiveConnectionPending => "A",
        EpState::TentativeConnectionPending => "T",
        EpState::UnconfiguredTentative => "T-",
        EpState::Connected => "C",
        EpState::DisconnectPending => "DP",
        EpState::Disconnected => "D",
        EpState::CompletionPending => "CP",
        EpState::ConnectedSinglePath => "C1",
        EpState::ConnectedMultiPath => "C+",
    }
}

/// The name of a state in the diagram.
fn node(state: EpState) -> String {
    state.name().replace(' ', "")
}

fn action_text(action: &Action) -> String {
    match action {
        Action::StartAttempt => "start the attempt and its clock".to_owned(),
        Action::StopClock => "stop the clock".to_owned(),
        Action::AbortAttempt => "abort the attempt".to_owned(),
        Action::CloseGracefully => "close gracefully".to_owned(),
        Action::CloseAbruptly => "close abruptly".to_owned(),
        Action::ResetQueuePair => "reset the queue pair".to_owned(),
        Action::Raise(kind) => format!("`{}`", kind.name()),
    }
}

/// The text of `docs/endpoint-states.md`.
fn document() -> String {
    let mut text = String::from(
        "<!-- Generated from the table in dat-core/src/ep/table.rs by the test\n     \
         dat-core/tests/endpoint_machine.rs; `DAT_BLESS=1 cargo test -p dat-core --test \
         endpoint_machine` writes it. -->\n\n\
         # The states of an endpoint\n\n\
         An endpoint is a machine of 15 states. Its events are the calls of the consumer, the\n\
         requests on its service point, and what the transport and the clock report. One\n\
         constant table says what each event does in each state; this page shows that table.\n\n\
         ## Transitions\n\n\
         ```mermaid\nstateDiagram-v2\n",
    );
    diagram(&mut text);
    text += "```\n\n";
    transitions(&mut text);
    matrix(&mut text);
    text
}

fn diagram(text: &mut String) {
    for state in EpState::ALL {
        writeln!(text, "    {}: {}", node(state), state.name()).expect("a string");
    }
    for start in STARTS {
        writeln!(text, "    [*] --> {}", node(start)).expect("a string");
    }
    for state in EpState::ALL {
        let mut arrows: BTreeMap<EpState, Vec<&str>> = BTreeMap::new();
        for event in EpEvent::ALL {
            if let Step::Go(next, _) = step(state, *event) {
                arrows.entry(next).or_default().push(event.name());
            }
        }
        for (next, events) in arrows {
            let (from, to) = (node(state), node(next));
            writeln!(text, "    {from} --> {to}: {}", events.join(", ")).expect("a string");
        }
    }
}

fn transitions(text: &mut String) {
    *text += "| from | event | to | along with it |\n| --- | --- | --- | --- |\n";
    for state in EpState::ALL {
        for event in EpEvent::ALL {
            if let Step::Go(next, actions) = step(state, *event) {
                let actions: Vec<String> = actions.iter().map(action_text).collect();
                writeln!(text, "| {state} | {} | {next} | {} |", event.name(), actions.join(", "))
                    .expect("a string");
            }
        }
    }
    *text += "\nNot in the diagram: *AcceptUndone* leads from Completion Pending back to the state\n\
              before the accept, and *Free* ends the endpoint from the states that the table below\n\
              marks with *end*.\n\n";
}

fn matrix(text: &mut String) {
    *text += "## Every event in every state\n\n\
              A state's name leads there, *stay* is allowed and changes nothing, *refuse* is\n\
              `DAT_INVALID_STATE`, *ignore* is for reports that come late or can't be: they change\n\
              nothing and are counted.\n\n\
              | short | state | value |\n| --- | --- | --- |\n";
    for state in EpState::ALL {
        writeln!(text, "| {} | {state} | {} |", code(state), state.value()).expect("a string");
    }
    let columns: Vec<&str> = EpState::ALL.into_iter().map(code).collect();
    write!(
        text,
        "\n| event | {} |\n|{}\n",
        columns.join(" | "),
        " --- |".repeat(columns.len() + 1)
    )
    .expect("a string");
    for event in EpEvent::ALL {
        let cells: Vec<String> = EpState::ALL
            .into_iter()
            .map(|state| match step(state, *event) {
                Step::Go(next, _) => format!("**{}**", code(next)),
                Step::Stay => "stay".to_owned(),
                Step::Back => "*back*".to_owned(),
                Step::End => "*end*".to_owned(),
                Step::Refuse => "refuse".to_owned(),
                Step::Ignore => "ignore".to_owned(),
            })
            .collect();
        writeln!(text, "| {} | {} |", event.name(), cells.join(" | ")).expect("a string");
    }
}

#[test]
fn the_document_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/endpoint-states.md");
    let wanted = document();
    if std::env::var_os("DAT_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("docs/endpoint-states.md can be written");
    }
    let found = std::fs::read_to_string(&path).expect("docs/endpoint-states.md can be read");
    assert!(
        found == wanted,
        "docs/endpoint-states.md is not what the table says; DAT_BLESS=1 rewrites it"
    );
}
