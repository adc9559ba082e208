//! `docs/endpoint-states.md`, which shows the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use dat_core::EpState;
use dat_core::table::{Action, EpEvent, Step, step};

use super::reach::STARTS;

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
         dat-core/tests/endpoint_machine; `DAT_BLESS=1 cargo test -p dat-core --test \
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
